"""Records are counted by role and request, and looked up however many they are."""

import pytest

from expunge.errors import InvalidInput
from expunge.ledger import record_entries as module
from tests.ledger.ledgers import small_ledger


@pytest.fixture
def ledger(tmp_path):
    made = small_ledger(tmp_path)
    yield made
    made.close()


def test_counts_follow_roles_and_requests(ledger):
    with ledger.writing() as entries:
        assert entries.counts() == {"public": 2, "private": 9, "forgotten": 0}
        request = entries.add_request(["r1", "r2"])
        assert entries.counts() == {"public": 2, "private": 9, "forgotten": 0}
        entries.add_model(sha256="b", seal="s2", honours=[request])
        assert entries.counts() == {"public": 2, "private": 7, "forgotten": 2}


def test_more_ids_than_one_query_takes(ledger, monkeypatch):
    monkeypatch.setattr(module, "CHUNK", 2)
    with ledger.writing() as entries:
        request = entries.add_request([f"r{i}" for i in range(9)])
        assert len(request.records) == 9
    with pytest.raises(InvalidInput, match="'r6' is already in"), ledger.writing() as entries:
        entries.add_request(["r6"])
