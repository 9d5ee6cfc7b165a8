"""The lease: whoever takes it leaves the holder before without it."""

import pytest

from expunge.ledger import Overtaken
from tests.ledger.ledgers import small_ledger


@pytest.fixture
def ledger(tmp_path):
    made = small_ledger(tmp_path)
    yield made
    made.close()


def test_whoever_takes_the_lease_leaves_the_holder_before_without_it(ledger):
    with ledger.writing() as entries:
        assert entries.lease() is None
        first = entries.take_lease("process 1")
        entries.check_lease(first)
    with ledger.writing() as entries:
        second = entries.take_lease("process 2")
        entries.check_lease(second)
    assert (first.number, second.number) == (1, 2)
    with ledger.writing() as entries, pytest.raises(Overtaken, match="1 was taken over by lease 2"):
        entries.check_lease(first)
    with ledger.writing() as entries:
        entries.return_lease(first)  # it has none to return
        assert entries.lease() == second
        entries.return_lease(second)
        lease = entries.lease()
    assert lease is not None
    assert (lease.number, lease.holder) == (2, None)
