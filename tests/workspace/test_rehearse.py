"""A dry run: it says what `forget` then does, and not a byte changes."""

import pytest

from expunge.errors import InvalidInput
from expunge.ledger import Ledger
from expunge.workspace.forget import forget
from expunge.workspace.rehearse import rehearse
from tests.workspace.tables_made import everything_in, fitted, usual


@pytest.fixture
def workspace(tmp_path):
    return usual(tmp_path)


def bytes_of(workspace):
    return {path: path.read_bytes() for path in workspace.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("ids", "skipped"),
    [
        (["00003", "00004"], set()),
        (["00003", "nobody", "90001", "00003x"], {"unknown", "public"}),
        (["nobody"], {"unknown", "public"}),
        (["00003", "00007"], {"already forgotten"}),
    ],
)
def test_outcomes_and_counts_are_those_of_the_request_that_follows(workspace, ids, skipped):
    forget(workspace, ["00007"])
    before = bytes_of(workspace)
    said = rehearse(workspace, ids, skipped=skipped)
    assert bytes_of(workspace) == before
    flags = {"skip_unknown": "unknown" in skipped, "skip_forgotten": "already forgotten" in skipped}
    if said["claim"] is None:
        assert {one["outcome"] for one in said["outcomes"]} <= skipped
        return
    done = forget(workspace, ids, **flags)
    assert said["accepted"]
    assert said["outcomes"] == done["outcomes"]
    assert said["records"] == done["records"]
    assert said["request"] == done["requests"][-1]["name"]
    assert said["strategy"] == done["certificate"]["strategy"]
    assert said["claim"]["epsilon"] >= done["certificate"]["epsilon"]
    assert said["claim"]["delta"] == done["certificate"]["delta"]
    assert said["claim"]["observer"] == done["certificate"]["observer"]
    assert said["claim"]["earlier_releases"] == done["certificate"]["earlier_releases"]


@pytest.mark.parametrize("released", [True, False])
def test_it_says_whether_earlier_releases_would_be_covered(tmp_path, released):
    workspace = fitted(tmp_path, released=released)
    said = rehearse(workspace, ["00003"])
    done = forget(workspace, ["00003"])
    assert said["claim"]["earlier_releases"] == done["certificate"]["earlier_releases"]
    assert said["claim"]["earlier_releases"] == ("not covered" if released else "none known")


def test_the_price_is_the_strategys_and_all_others_are_beside_it(workspace):
    said = rehearse(workspace, ["00003"])
    assert said["price"]["name"] == said["strategy"] == "residual"
    assert said["price"] in said["strategies"]
    assert "retrain" in {price["name"] for price in said["strategies"]}
    other = rehearse(workspace, ["00004"])
    assert other["price"] == said["price"]


def test_what_would_be_refused_is_said_with_every_culprit(workspace):
    before = everything_in(workspace)
    said = rehearse(workspace, ["nobody", "90001", "00003"])
    assert not said["accepted"]
    assert "'nobody' is unknown" in said["problem"]
    assert "'90001' is public" in said["problem"]
    assert said["price"] is None
    assert [one["outcome"] for one in said["outcomes"]] == ["unknown", "public", "forgotten"]
    with pytest.raises(InvalidInput, match="ids: none given"):
        rehearse(workspace, [])
    assert everything_in(workspace) == before


def test_a_request_that_was_made_before_is_named(workspace):
    forget(workspace, ["00003"], name="June")
    said = rehearse(workspace, ["00003"])
    assert (said["repeated"], said["accepted"], said["price"]) == ("June", True, None)


def test_records_of_pending_requests_are_counted_as_gone(workspace):
    with Ledger(workspace / "ledger.sqlite").writing() as entries:
        entries.add_request(["00003", "00004"])
    said = rehearse(workspace, ["00005"])
    assert said["pending_before"] == 2
    assert said["records"] == forget(workspace, ["00005"])["records"]
