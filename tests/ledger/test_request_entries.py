"""Requests: numbered, named, found again; what cannot leave is named."""

import pytest

from expunge.errors import InvalidInput
from expunge.ledger import Ledger
from tests.ledger.ledgers import rows, small_ledger


@pytest.fixture
def ledger(tmp_path):
    made = small_ledger(tmp_path)
    yield made
    made.close()


def test_requests_are_numbered_named_and_listed_in_order(ledger):
    with ledger.writing() as entries:
        first = entries.add_request(["r5", "r1"])
        second = entries.add_request(["r2"], "ticket 7")
    assert (first.number, first.name, first.state) == (1, "request 1", "pending")
    assert (second.number, second.name) == (2, "ticket 7")
    with ledger.reading() as entries:
        found = entries.requests()
        assert [one.name for one in found] == ["request 1", "ticket 7"]
        assert found[0].records == ("r1", "r5")
        assert entries.requests("honoured") == []
        assert entries.requests("pending") == found


def test_the_same_request_is_known_by_its_records_and_its_name(ledger):
    with ledger.writing() as entries:
        first = entries.add_request(["r1", "r2"])
        second = entries.add_request(["r5"], "ticket 7")
    with ledger.reading() as entries:
        assert entries.find_request(["r1", "r2"]) == first
        assert entries.find_request(["r2", "r1"], "request 1") == first
        assert entries.find_request(["r5"]) == entries.find_request(["r5"], "ticket 7") == second
        for ids, name in (
            ([], None),
            (["r1"], None),
            (["r1", "r2", "r3"], None),
            (["r1", "r2", "r2"], None),
            (["r1", "r2"], "ticket 7"),
            (["r1", "r2"], "ticket 8"),
            (["nobody"], None),
        ):
            assert entries.find_request(ids, name) is None


@pytest.mark.parametrize(
    ("ids", "complaint"),
    [
        ([], "none given"),
        (["r1", "r1"], "'r1' is given twice"),
        (["r1", "nobody"], "'nobody' is unknown"),
        (["p1"], "'p1' is public, and only private records"),
        (["r8"], "'r8' is already forgotten"),
        (["r7"], "'r7' is already in request 2, which is pending"),
        (["R1"], "'R1' is unknown"),
        (["\udcff"], "holds characters that cannot be printed"),
        (["r1' OR '1'='1"], "is unknown"),
    ],
)
def test_an_id_that_cannot_leave_is_named_and_nothing_is_written(ledger, ids, complaint):
    with ledger.writing() as entries:
        done = entries.add_request(["r8"])
        entries.add_model(sha256="b", seal="s2", honours=[done])
        entries.add_request(["r7"])
    before = rows(ledger)
    with pytest.raises(InvalidInput, match=complaint), ledger.writing() as entries:
        entries.add_request(ids)
    assert rows(ledger) == before


@pytest.mark.parametrize("name", ["", " "])
def test_a_name_must_be_one(ledger, name):
    with pytest.raises(InvalidInput, match="the name is empty"), ledger.writing() as entries:
        entries.add_request(["r1"], name)


@pytest.mark.parametrize("pending", [[], ["r1", "r2"]])
def test_a_request_that_leaves_nobody_is_refused(tmp_path, pending):
    made = Ledger(tmp_path / "ledger.sqlite")
    made.create()
    with made.writing() as entries:
        entries.add_records(["r1", "r2", "r3"], "private")
        if pending:
            entries.add_request(pending)
    before = rows(made)
    asked = [one for one in ("r1", "r2", "r3") if one not in pending]
    with pytest.raises(InvalidInput, match="no record would remain"), made.writing() as entries:
        entries.add_request(asked)
    assert rows(made) == before
    made.close()


@pytest.mark.parametrize("name", ["two\nlines", "\udcff"])
def test_a_name_that_cannot_be_printed_is_refused(ledger, name):
    for verb in ("add_request", "find_request"):
        with ledger.writing() as entries, pytest.raises(InvalidInput, match="cannot be printed"):
            getattr(entries, verb)(["r1"], name)


def test_a_name_is_taken_once(ledger):
    with ledger.writing() as entries:
        entries.add_request(["r1"], "mine")
    with pytest.raises(InvalidInput, match="'mine' is taken"), ledger.writing() as entries:
        entries.add_request(["r2"], "mine")
