"""Forgetting: nothing of the records stays, a refusal changes nothing, a kill loses nothing."""

import hashlib
import json
import sqlite3
from collections import Counter

import numpy as np
import pytest
from safetensors.torch import load_file

from expunge.accounting.certificate import parse_certificate
from expunge.accounting.verification import differences
from expunge.errors import InvalidInput
from expunge.ledger import Busy, ledger
from expunge.workspace.forget import Pending, forget
from expunge.workspace.predict import predict
from expunge.workspace.status import status
from expunge.workspace.verify import verify
from tests.workspace.killed import killed
from tests.workspace.tables_made import (
    change_ledger,
    everything_in,
    files_of,
    fitted,
    ledger_rows,
    private_people,
    public_people,
    read,
    usual,
)


@pytest.fixture
def workspace(tmp_path):
    return usual(tmp_path)


def leave_pending(workspace, *ids):
    """As a run does that was interrupted before it began to work."""
    change_ledger(
        workspace, "INSERT INTO requests VALUES (1, 'request 1', '2026-01-01', 'pending')"
    )
    for one in ids:
        change_ledger(workspace, "INSERT INTO requested VALUES (1, ?)", one)


def predictions(workspace):
    output = workspace.parent / "predictions.csv"
    predict(workspace, workspace.parent / "public.csv", output)
    return output.read_bytes()


# ---- what is left -------------------------------------------------------------------------------


def test_the_records_leave_the_counts_and_a_certificate_comes(workspace):
    before = status(workspace)
    document = forget(workspace, ["00003", "00140"], name="ticket 7")
    assert document["records"] == {"public": 120, "private": 148, "forgotten": 2}
    assert document["honoured"] == ["ticket 7"]
    assert [one["state"] for one in document["requests"]] == ["honoured"]
    assert document["model"]["sha256"] != before["model"]["sha256"]
    assert document["certificate"]["epsilon"] <= 1
    certificate = parse_certificate((workspace / "certificates/1.json").read_text())
    assert differences(certificate) == []
    assert certificate.requests == ["ticket 7"]
    assert certificate.model_sha256 == document["model"]["sha256"]


def test_forgotten_rows_are_in_no_file_and_all_others_are(tmp_path):
    private = private_people()
    private["age"][3], private["colour"][3], private["age"][4] = 77.125, "ultraviolet", 66.625
    workspace = fitted(tmp_path, private)
    before = files_of(workspace)
    forget(workspace, ["00003"])
    after = files_of(workspace)
    assert any(b"ultraviolet" in content for content in before.values())
    assert not any(b"ultraviolet" in content for content in after.values())
    assert b"ultraviolet" not in b"".join(
        path.read_bytes() for path in workspace.glob("ledger.sqlite*")
    )
    (kept,) = (workspace / "records").glob("private-*.parquet")
    left = [row for row in range(150) if row != 3]
    table = read(kept)
    for name, column in private.items():
        missing = "" if name == "colour" else None  # as CSV has it
        assert table[name] == [missing if column[row] is None else column[row] for row in left]
    public = read(workspace / "records/public.parquet")
    assert public["id"] == public_people()["id"]


def test_forgotten_rows_of_the_stored_tensors_are_zero_and_no_others(workspace):
    forget(workspace, ["00003", "00004"])
    (chunk,) = (workspace / "secret").glob("*/secret/chunk-*.safetensors")
    tensors = load_file(chunk)
    features = tensors["features"].numpy()  # public rows come first
    gone = [120 + 3, 120 + 4]
    assert not features[gone].any()
    assert not tensors["targets"][gone].any()
    assert np.delete(features, gone, axis=0).any(axis=1).all()


def test_what_knew_the_records_is_deleted(workspace):
    before = files_of(workspace)
    forget(workspace, ["00003"])
    after = files_of(workspace)
    assert set(before) & set(after) == {"records/public.parquet"}
    assert _kinds(after) == ONE_OF_EACH


def test_the_ledger_keeps_ids_and_no_values(workspace):
    forget(workspace, ["00003"])
    rows = ledger_rows(workspace)
    assert ("00003", "private", 1) in rows["records"]
    assert {len(row) for row in rows["records"]} == {3}
    assert len(rows["records"]) == 270


def test_requests_add_up(workspace):
    forget(workspace, ["00003"], name="first")
    forget(workspace, ["00004", "00005"], name="second")
    document = status(workspace)
    assert document["records"] == {"public": 120, "private": 147, "forgotten": 3}
    current = parse_certificate((workspace / "certificates/2.json").read_text())
    assert current.forgotten == 3
    assert current.requests == ["first", "second"]
    assert verify(workspace)["valid"]


@pytest.mark.parametrize("released", [True, False])
def test_hash_and_scores_of_an_unreleased_model_are_erased(tmp_path, released):
    """Without noise, whoever has the tables can make the model again and compare hashes."""
    workspace = fitted(tmp_path, released=released)
    ((*_, scores),) = ledger_rows(workspace)["models"]
    sha256 = status(workspace)["model"]["sha256"]
    forget(workspace, ["00003"])
    first, second = ledger_rows(workspace)["models"]
    assert first[-1] == (scores if released else None)
    assert json.loads(second[-1])["records"] == 120
    content = b"".join(path.read_bytes() for path in workspace.rglob("*") if path.is_file())
    assert (sha256.encode() in content) == released


def test_digests_of_files_with_forgotten_records_are_erased(workspace):
    """Whoever has the other rows could try which values give the digest."""
    (file,) = (workspace / "records").glob("private-*")
    trace = hashlib.sha256(file.read_bytes()).hexdigest().encode()
    assert trace in (workspace / "ledger.sqlite").read_bytes()
    forget(workspace, ["00003"])
    contents = [path.read_bytes() for path in workspace.rglob("*") if path.is_file()]
    assert not any(trace in content for content in contents)


@pytest.mark.parametrize("strategy", ["residual", "langevin", "noise_first", "retrain"])
def test_every_strategy_forgets(tmp_path, strategy):
    workspace = fitted(tmp_path, strategy=strategy)
    document = forget(workspace, ["00003"])
    assert document["certificate"]["strategy"] == strategy
    assert verify(workspace)["valid"]


def test_all_private_records_may_leave_where_public_ones_remain(workspace):
    document = forget(workspace, private_people()["id"])
    assert document["records"] == {"public": 120, "private": 0, "forgotten": 150}
    assert verify(workspace)["valid"]
    assert predictions(workspace)


# ---- ids ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ids", "complaint"),
    [
        (["nobody"], "'nobody' is unknown"),
        (["3"], "'3' is unknown"),  # its zeros belong to it
        ([" 00003"], "' 00003' is unknown"),
        ([""], "'' is unknown"),
        (["90003"], "'90003' is public"),
        (["00001"], "'00001' is already forgotten"),
        (["00005", "00003", "00005"], "'00005' is given twice"),
        (["00003", "nobody"], "'nobody' is unknown"),
    ],
)
def test_an_id_that_cannot_leave_is_named_and_nothing_is_recorded(workspace, ids, complaint):
    forget(workspace, ["00001"])
    before = everything_in(workspace)
    with pytest.raises(InvalidInput, match=complaint):
        forget(workspace, ids)
    assert everything_in(workspace) == before


def test_an_id_that_is_already_asked_for_is_refused_by_name(workspace):
    leave_pending(workspace, "00003")
    before = everything_in(workspace)
    with pytest.raises(InvalidInput, match=r"'00003' is already in request 1, which is pending"):
        forget(workspace, ["00003"])
    assert everything_in(workspace) == before


def test_nothing_to_do_is_refused(workspace):
    before = everything_in(workspace)
    with pytest.raises(InvalidInput, match="no request is pending"):
        forget(workspace)
    assert everything_in(workspace) == before


def test_a_name_is_taken_once(workspace):
    forget(workspace, ["00003"], name="mine")
    before = everything_in(workspace)
    with pytest.raises(InvalidInput, match="'mine' is taken"):
        forget(workspace, ["00004"], name="mine")
    assert everything_in(workspace) == before


def test_integer_ids_are_forgotten_by_their_digits(tmp_path):
    private = private_people() | {"id": list(range(150))}
    workspace = fitted(tmp_path, private)
    forget(workspace, ["7"])
    (kept,) = (workspace / "records").glob("private-*.parquet")
    assert "7" not in map(str, read(kept)["id"])
    assert len(read(kept)["id"]) == 149


# ---- pending ------------------------------------------------------------------------------------


def test_pending_requests_are_honoured_first_and_in_order(workspace):
    leave_pending(workspace, "00003", "00004")
    document = forget(workspace, ["00005"])
    assert document["honoured"] == ["request 1", "request 2"]
    assert document["records"]["forgotten"] == 3
    assert sorted(path.name for path in (workspace / "certificates").iterdir()) == [
        "1.json",
        "2.json",
    ]


def test_a_request_without_a_certificate_stays_pending_and_the_model_as_it_was(tmp_path):
    workspace = fitted(tmp_path, strategy="langevin")  # its noise has a capacity
    before = files_of(workspace)
    with pytest.raises(Pending, match="request 1 stays pending: "):
        forget(workspace, private_people()["id"][:60])
    document = status(workspace)
    assert [one["state"] for one in document["requests"]] == ["pending"]
    assert document["certificate"] is None
    assert files_of(workspace) == before


def test_an_exception_halfway_leaves_the_request_pending_and_the_next_run_finishes(
    workspace, monkeypatch
):
    before, model = predictions(workspace), status(workspace)["model"]
    with monkeypatch.context() as patch:
        patch.setattr("expunge.workspace.honour._evaluation", interrupted)
        with pytest.raises(KeyboardInterrupt):
            forget(workspace, ["00003"])
    document = status(workspace)
    assert [one["state"] for one in document["requests"]] == ["pending"]
    assert document["model"] == model
    assert predictions(workspace) == before
    assert forget(workspace)["records"]["forgotten"] == 1
    assert len(list((workspace / "models").iterdir())) == 1


def interrupted(*_):
    raise KeyboardInterrupt


# ---- others at work -----------------------------------------------------------------------------


def test_a_second_writer_is_told_and_readers_go_on(workspace, monkeypatch):
    monkeypatch.setattr(ledger, "_prepare", impatient)
    before = everything_in(workspace)
    other = sqlite3.connect(workspace / "ledger.sqlite", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    other.execute("INSERT INTO settings VALUES ('half', 'done')")
    with pytest.raises(Busy, match="another process is working"):
        forget(workspace, ["00003"])
    assert status(workspace)["requests"] == []
    assert predictions(workspace)
    assert verify(workspace)["valid"]
    other.execute("ROLLBACK")
    other.close()
    assert everything_in(workspace) == before
    assert forget(workspace, ["00003"])["records"]["forgotten"] == 1


def impatient(connection, _):
    connection.isolation_level = None
    for line in ("journal_mode=WAL", "foreign_keys=ON", "busy_timeout=1"):
        connection.execute(f"PRAGMA {line}")


# ---- killed -------------------------------------------------------------------------------------


@pytest.mark.parametrize("moments", ["crucial", pytest.param("all", marks=pytest.mark.slow)])
def test_whoever_is_killed_leaves_the_old_model_and_its_request_or_the_new_one(tmp_path, moments):
    workspace = usual(tmp_path)
    old, scratch = status(workspace), tmp_path / "scratch"
    scratch.mkdir()
    look = [["status", "@", "--json"], ["verify", "@", "--json"]]
    guess = ["predict", "@", str(tmp_path / "public.csv"), "--output", "@.csv", "--json"]
    outcomes = killed(
        {
            "command": ["forget", "@", "00003", "00004", "--json"],
            "then": [*look, guess, ["forget", "@", "--json"], *look],
            "start": str(workspace),
            "scratch": str(scratch),
            "moments": moments,
        }
    )
    assert [one["killed"] for one in outcomes] == [True] * (len(outcomes) - 1) + [False]
    states = [_state(one["then"], old) for one in outcomes]
    assert states == sorted(states, key=["unasked", "pending", "honoured"].index)
    assert set(states) == {"unasked", "pending", "honoured"}
    for state, outcome in zip(states, outcomes, strict=True):
        if state != "unasked":
            assert _kinds(outcome["after"]) == ONE_OF_EACH
            assert outcome["after"] == [name for name in outcome["after"] if "/." not in name]


# Model, certificate, index, document, state and one chunk of rows make the secret state.
ONE_OF_EACH = {"certificates": 1, "models": 1, "records": 2, "secret": 6}


def _kinds(names):
    return Counter(name.split("/")[0] for name in names if "." in name and "/" in name)


def _state(outcomes, old):
    """What the kill left, after a look at everything that must hold in any state."""
    shown, checked, guessed, finished, shown_again, checked_again = outcomes
    for one in (shown, checked, guessed, shown_again, checked_again):
        assert one["status"] == 0, one
    found, later = json.loads(shown["out"]), json.loads(shown_again["out"])
    assert json.loads(guessed["out"])["model"]["sha256"] == found["model"]["sha256"]
    assert json.loads(checked_again["out"])["valid"]
    states = [one["state"] for one in found["requests"]]
    if states == ["honoured"]:
        assert found["model"]["number"] == 2
        assert found["certificate"]["epsilon"] <= 1
        assert found["records"]["forgotten"] == 2
        assert later == found | {"workspace": later["workspace"]}
        return "honoured"
    assert found["model"] == old["model"]
    assert found["certificate"] is None
    assert found["records"] == old["records"]
    if states == []:
        assert finished["status"] == 2
        return "unasked"
    assert states == ["pending"]
    assert json.loads(checked["out"])["pending"] == 1
    assert finished["status"] == 0, finished
    assert later["records"]["forgotten"] == 2
    assert later["model"]["number"] == 2
    assert later["certificate"]["epsilon"] <= 1
    return "pending"
