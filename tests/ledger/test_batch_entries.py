"""Batches: recorded together or not at all, committed together or not at all."""

import pytest

from expunge.errors import InvalidInput
from expunge.ledger import Overtaken, RequestBatch
from tests.ledger.ledgers import rows, small_ledger


@pytest.fixture
def ledger(tmp_path):
    made = small_ledger(tmp_path)
    yield made
    made.close()


def test_requests_of_a_batch_are_committed_together(ledger):
    with ledger.writing() as entries:
        alone = entries.add_request(["r1"])
        batch = entries.add_batch([("a", ["r2", "r3"]), ("b", ["r4"])], each=True)
    assert batch.numbers == (2, 3)
    with ledger.reading() as entries:
        assert entries.batch_of(batch.requests[1]) == batch
        assert entries.batch_of(alone) == RequestBatch((alone,))
        assert entries.batches() == {2: ([2, 3], True)}
    with ledger.writing() as entries:
        entries.add_model(
            sha256="b", seal="s2", honours=batch.requests, certificates=["{1}", "{2}"]
        )
        model = entries.add_model(sha256="c", seal="s3", honours=[alone], certificates=["{3}"])
        assert [one.state for one in entries.requests()] == ["committed"] * 3
        assert entries.counts() == {"public": 2, "private": 5, "forgotten": 4}
        assert entries.certificates_by_request() == {1: 3, 2: 1, 3: 2}
        assert entries.certificate_of(entries.models()[1]) == "{2}"
        assert entries.certificate_of(model) == "{3}"


def test_one_certificate_may_be_for_all_requests_of_a_batch(ledger):
    with ledger.writing() as entries:
        batch = entries.add_batch([("a", ["r2"]), ("b", ["r4"])], each=False)
        entries.add_model(sha256="b", seal="s2", honours=batch.requests, certificates=["{}"])
        assert entries.certificates_by_request() == {1: 1, 2: 1}


def test_a_request_that_is_no_longer_pending_undoes_the_whole_batch(ledger):
    with ledger.writing() as entries:
        batch = entries.add_batch([("a", ["r2"]), ("b", ["r4"])], each=True)
        entries.add_model(sha256="b", seal="s2", honours=batch.requests[1:])
    before = rows(ledger)
    with pytest.raises(Overtaken, match="no longer pending"), ledger.writing() as entries:
        entries.add_model(sha256="c", seal="s3", honours=batch.requests)
    assert rows(ledger) == before


@pytest.mark.parametrize(
    ("asked", "complaint"),
    [
        ([("a", ["r2"]), ("a", ["r4"])], "the name 'a' is there twice"),
        ([("a", ["r2"]), ("b", ["r2"])], "'r2' is given twice"),
        ([("a", ["r2"]), ("b", [])], "none given in 'b'"),
        ([("a", ["r2"]), ("", ["r4"])], "the name is empty"),
        ([("a", ["r2"]), ("\x07", ["r4"])], "cannot be printed"),
        ([("a", ["r2"]), ("b", ["p1"])], "'p1' is public"),
    ],
)
def test_a_batch_with_a_fault_is_not_recorded(ledger, asked, complaint):
    before = rows(ledger)
    with pytest.raises(InvalidInput, match=complaint), ledger.writing() as entries:
        entries.add_batch(asked, each=True)
    assert rows(ledger) == before
