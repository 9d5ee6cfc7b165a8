"""Models: the last is current, and commits the request that it honours."""

import pytest

from expunge.ledger import Overtaken
from tests.ledger.ledgers import rows, small_ledger


@pytest.fixture
def ledger(tmp_path):
    made = small_ledger(tmp_path)
    yield made
    made.close()


def test_a_model_that_honours_a_request_commits_it_and_its_records_leave(ledger):
    with ledger.writing() as entries:
        request = entries.add_request(["r1"])
        other = entries.add_request(["r2"])
        model = entries.add_model(sha256="b", seal="s2", honours=[request], certificates=["{}"])
    with ledger.reading() as entries:
        assert [one.state for one in entries.requests()] == ["committed", "pending"]
        assert entries.requests("pending") == [other]
        assert entries.certificates("committed") == {1: "{}"}
        assert entries.certificates("honoured") == {}
        assert entries.models()[-1] == model
        assert (model.number, model.request) == (2, 1)
        assert entries.certificates() == {1: "{}"}
        assert entries.certificate_of(model) == "{}"
        assert entries.certificate_of(entries.models()[0]) is None


def test_a_committed_request_is_honoured_once_it_is_closed_and_no_pending_one_is(ledger):
    with ledger.writing() as entries:
        done = entries.add_request(["r1"])
        entries.add_request(["r2"])
        entries.add_model(sha256="b", seal="s2", honours=[done])
        entries.close_committed()
    with ledger.reading() as entries:
        assert [entries.state_of(number) for number in (1, 2)] == ["honoured", "pending"]
        assert entries.request(1).records == ("r1",)


def test_a_request_is_committed_once(ledger):
    with ledger.writing() as entries:
        request = entries.add_request(["r1"])
        entries.add_model(sha256="b", seal="s2", honours=[request])
    before = rows(ledger)
    with pytest.raises(Overtaken, match="no longer pending"), ledger.writing() as entries:
        entries.add_model(sha256="c", seal="s3", honours=[request])
    assert rows(ledger) == before


def test_hash_and_scores_of_earlier_models_can_be_erased(ledger):
    with ledger.writing() as entries:
        model = entries.add_model(sha256="b", seal="s2", evaluation="[]")
        entries.erase_earlier(model)
        assert [one.evaluation for one in entries.models()] == [None, "[]"]
        assert [one.sha256 for one in entries.models()] == ["erased", "b"]
