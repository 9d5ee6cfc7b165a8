"""The ledger: a block happens whole or not at all, and one process writes at a time."""

import pytest
from sqlalchemy.exc import IntegrityError

from expunge.errors import InvalidInput
from expunge.ledger import Busy, Ledger, sqlite_file
from tests.ledger.ledgers import rows, small_ledger


@pytest.fixture
def ledger(tmp_path):
    made = small_ledger(tmp_path)
    yield made
    made.close()


def test_an_exception_undoes_the_whole_block(ledger):
    def interrupted():
        with ledger.writing() as entries:
            request = entries.add_request(["r1"])
            entries.add_model(sha256="b", seal="s2", honours=[request])
            raise KeyboardInterrupt

    before = rows(ledger)
    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert rows(ledger) == before


def test_a_second_writer_is_told_and_readers_see_what_was_there(ledger, monkeypatch):
    monkeypatch.setattr(sqlite_file, "PATIENCE", 1)
    other = Ledger(ledger.where)
    with ledger.writing() as entries:
        entries.add_request(["r1"])
        with pytest.raises(Busy, match="another process is working"), other.writing():
            pass
        with other.reading() as seen:
            assert seen.requests() == []
    with other.reading() as seen:
        assert len(seen.requests()) == 1
    other.close()


def test_a_view_does_not_change_while_it_is_looked_at(ledger):
    other = Ledger(ledger.where)
    with other.reading() as seen:
        assert seen.requests() == []
        with ledger.writing() as entries:
            entries.add_request(["r1"])
        assert seen.requests() == []
    other.close()


def test_a_commit_waits_for_the_disk(ledger):
    with ledger.writing() as entries:
        lines = ("journal_mode", "synchronous", "foreign_keys")
        found = [entries._connection.exec_driver_sql(f"PRAGMA {line}").scalar() for line in lines]
    assert found == ["wal", 2, 1]


def test_a_certificate_needs_its_model(ledger):
    with pytest.raises(IntegrityError), ledger.writing() as entries:
        entries._connection.exec_driver_sql("INSERT INTO certificates VALUES (1, 99, '{}')")


@pytest.mark.parametrize("content", [b"", b"this is no database at all " * 99])
def test_what_is_no_ledger_is_refused(tmp_path, content):
    (tmp_path / "ledger.sqlite").write_bytes(content)
    other = Ledger(tmp_path / "ledger.sqlite")
    with pytest.raises(InvalidInput, match="not a ledger"), other.reading() as entries:
        entries.models()
    other.close()


def test_a_url_does_as_well_as_a_path(tmp_path):
    made = Ledger(f"sqlite:///{tmp_path}/by_url.sqlite")
    made.create()
    with made.writing() as entries:
        entries.add_records(["r1"], "private")
    made.close()
    with Ledger(tmp_path / "by_url.sqlite").reading() as entries:
        assert entries.counts()["private"] == 1
