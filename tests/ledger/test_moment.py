"""The moment of an entry, in UTC."""

from datetime import UTC, datetime, timedelta

from expunge.ledger.moment import now


def test_it_is_now_to_the_second_and_in_utc():
    before = datetime.now(UTC)
    written = now()
    assert written.endswith("+00:00")
    assert before - timedelta(seconds=1) < datetime.fromisoformat(written) <= datetime.now(UTC)
    assert datetime.fromisoformat(written).microsecond == 0
