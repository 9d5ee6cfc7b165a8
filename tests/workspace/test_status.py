"""Status: what is there, what was asked, what is certified."""

import hashlib
import json
import sqlite3

import pytest

from expunge.errors import Altered
from expunge.unlearning import load
from expunge.workspace.forget import forget
from expunge.workspace.status import status
from tests.workspace.tables_made import DECLARED, everything_in, fitted, usual


def test_before_a_deletion_nothing_is_certified(tmp_path):
    workspace = usual(tmp_path)
    document = status(workspace)
    assert set(document) == {
        *("workspace", "records", "requests", "model", "certificate", "options"),
        *("unerased", "lease", "journal", "additions", "fits", "missing"),
        *("understood", "on_public_records"),
    }
    assert (document["unerased"], document["lease"]) == ([], None)
    assert document["records"] == {"public": 120, "private": 150, "forgotten": 0}
    assert document["requests"] == []
    assert document["certificate"] is None
    assert document["options"]["epsilon"] == 1


def test_after_a_deletion_request_model_and_certificate_agree(tmp_path):
    workspace = fitted(tmp_path, epsilon=0.5, delta=1e-6, strategy="retrain")
    forget(workspace, ["00003", "00004"], name="ticket 7")
    document = status(workspace)
    assert document["records"] == {"public": 120, "private": 148, "forgotten": 2}
    (request,) = document["requests"]
    assert set(request) == {"request", "name", "state", "received", "records", "certificate"}
    assert request["certificate"] == 1
    assert (request["name"], request["state"], request["records"]) == ("ticket 7", "honoured", 2)
    certificate = document["certificate"]
    assert {"epsilon", "delta", "strategy", "bound"} <= set(certificate)
    assert certificate["epsilon"] <= 0.5
    assert certificate["delta"] == 1e-6
    assert certificate["strategy"] == "retrain"
    (file,) = (workspace / "models").iterdir()
    assert document["model"]["sha256"] == hashlib.sha256(file.read_bytes()).hexdigest()
    stored = json.loads((workspace / "certificates/1.json").read_text())
    assert certificate["epsilon"] == stored["claim"]["epsilon"]
    assert certificate["bound"] == stored["claim"]["bound"]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"strategy": "retrain"}, "not covered"),
        ({"strategy": "retrain", "released": False}, "none known"),
        ({"observer": "all"}, "covered"),
    ],
    ids=["handed out", "kept in the house", "accounted for"],
)
def test_it_says_of_earlier_releases_what_the_certificate_says(tmp_path, options, expected):
    workspace = fitted(tmp_path, **options)
    forget(workspace, ["00003"])
    summary = status(workspace)["certificate"]
    stored = json.loads((workspace / "certificates/1.json").read_text())
    assert summary["earlier_releases"] == stored["earlier_releases"] == expected
    assert (summary["observer"], summary["delta"]) == (stored["observer"], stored["claim"]["delta"])
    assert summary["statement"] == stored["claim"]["statement"]
    shouted = "EARLIER RELEASES NOT COVERED." in summary["statement"]
    assert shouted == (expected == "not covered")


def test_a_look_changes_nothing(tmp_path):
    workspace = fitted(tmp_path, without_public=True, declare=DECLARED)
    before = everything_in(workspace)
    assert status(workspace) == status(workspace)
    assert everything_in(workspace) == before


def test_it_is_json(tmp_path):
    workspace = usual(tmp_path)
    forget(workspace, ["00003"])
    document = status(workspace)
    assert json.loads(json.dumps(document, allow_nan=False)) == document


@pytest.mark.parametrize("kind", ["models/*", "records/*", "secret/*/secret/*"])
def test_a_file_that_is_missing_is_named(tmp_path, kind):
    workspace = usual(tmp_path)
    assert status(workspace)["missing"] == []
    for path in sorted(workspace.glob(kind)):
        content = path.read_bytes()
        path.unlink()
        assert status(workspace)["missing"] == [str(path)]
        path.write_bytes(content)
    assert status(workspace)["missing"] == []


def test_what_was_chosen_is_shown_with_where_it_came_from(tmp_path):
    workspace = fitted(tmp_path, l2="public", row_norm=1.5, observer="all", capacity=0.02)
    understood, model = status(workspace)["understood"], loaded_model(workspace)
    known = {one["name"]: (one["value"], one["from"]) for one in understood["settings"]}
    assert known == {
        "epsilon": (1.0, "--epsilon, or its default"),
        "delta": (1e-5, "1e-5 or 1/(10 n), whichever is less"),
        "strategy": ("langevin", "the cheapest that is sound for the observer"),
        "l2": (model.l2_, "public records"),
        "row_norm": (1.5, "--row-norm, or its default"),
        "capacity": (0.02, "--capacity, or its default"),
    }
    assert model.fitted_.ridge.l2 == known["l2"][0] < 0.1
    forget(workspace, ["00003"])
    assert status(workspace)["understood"] == understood
    assert "chosen by cross-validation" in (workspace / "certificates/1.json").read_text()


def test_a_setting_that_was_altered_is_noticed(tmp_path):
    workspace = fitted(tmp_path, l2="public")
    with sqlite3.connect(workspace / "ledger.sqlite") as connection:
        connection.execute(
            "UPDATE settings SET value = replace(value, 'public records', 'given') "
            "WHERE name = 'understood'"
        )
    with pytest.raises(Altered, match="settings was changed"):
        status(workspace)


def loaded_model(workspace):
    (secret,) = (path for path in (workspace / "secret").iterdir())
    return load(secret)
