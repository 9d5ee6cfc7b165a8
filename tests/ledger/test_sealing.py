"""The ledger's seal: what was changed behind its back is refused, and the file is named."""

import sqlite3
from contextlib import closing

import pytest

from expunge.errors import Altered, InvalidInput
from expunge.ledger import Ledger
from expunge.ledger.sealing import WHOLE

CHANGES = (
    "UPDATE settings SET value = '{\"epsilon\": 2}' WHERE name = 'options'",
    "UPDATE settings SET name = 'option'",
    "DELETE FROM settings",
    "INSERT INTO settings VALUES ('more', '')",
    "UPDATE requests SET name = 'other' WHERE number = 1",
    "UPDATE requests SET received = '2020'",
    "UPDATE requests SET state = 'pending' WHERE number = 1",
    "UPDATE requests SET state = 'honoured' WHERE number = 2",
    "UPDATE requested SET record = 'r8' WHERE record = 'r2'",
    "UPDATE models SET sha256 = 'c' WHERE number = 2",
    "UPDATE models SET seal = 's3' WHERE number = 2",
    "DELETE FROM models WHERE number = 2",
    "UPDATE certificates SET document = '{\"epsilon\": 0.1}'",
    "UPDATE seals SET value = 'x' WHERE name = 'settings'",
    "DELETE FROM seals WHERE name = 'models'",
    "DELETE FROM seals WHERE name = 'records'",
    "UPDATE seals SET value = replace(value, '9 private', '8 private') WHERE name = 'records'",
    "CREATE TABLE more (name)",
)
# What only a look at every record finds, or at the record in question.
QUIET = (
    "UPDATE records SET role = 'public' WHERE id = 'r7'",
    "UPDATE records SET role = 'prifate' WHERE id = 'r7'",
    "UPDATE records SET place = 3 WHERE id = 'r7'",
    "UPDATE records SET seal = 3 WHERE id = 'r7'",
    "DELETE FROM records WHERE id = 'r7'",
    "UPDATE records SET id = 'r7b' WHERE id = 'r7'",
    "INSERT INTO records VALUES ('r9', 'private', 11, 0)",
    "UPDATE records SET role = CASE id WHEN 'p1' THEN 'private' ELSE 'public' END "
    "WHERE id IN ('p1', 'r7')",
)


@pytest.fixture
def ledger(tmp_path):
    made = Ledger(tmp_path / "ledger.sqlite")
    made.create()
    with made.writing() as entries:
        entries.set("options", '{"epsilon": 1}')
        entries.add_records(["p1", "p2"], "public")
        entries.add_records([f"r{i}" for i in range(9)], "private")
        entries.add_model(sha256="a", seal="s1")
        first = entries.add_request(["r1"])
        entries.add_request(["r2"])
        entries.add_model(sha256="b", seal="s2", honours=[first], certificates=["{}"])
    yield made
    made.close()


def change(ledger, statement):
    with closing(sqlite3.connect(ledger.where)) as connection, connection:
        connection.execute(statement)


def test_a_ledger_that_nobody_touched_passes_and_says_how_many_rows_it_holds(ledger):
    assert ledger.check() == 11 + 1 + 2 + 2 + 2 + 1


@pytest.mark.parametrize("statement", CHANGES)
@pytest.mark.parametrize("way", ["reading", "writing"])
def test_what_was_changed_behind_its_back_is_refused_by_readers_and_writers(ledger, statement, way):
    change(ledger, statement)
    with pytest.raises(Altered, match=r"ledger\.sqlite: \w+"), getattr(ledger, way)():
        pass
    with pytest.raises(Altered):
        ledger.check()


@pytest.mark.parametrize("statement", QUIET)
def test_what_only_a_look_at_every_record_shows_is_found_by_the_whole_check(ledger, statement):
    change(ledger, statement)
    with ledger.reading() as entries:
        assert entries.counts() == {"public": 2, "private": 8, "forgotten": 1}
    with pytest.raises(Altered, match=r"ledger\.sqlite: records"):
        ledger.check()


@pytest.mark.parametrize("statement", QUIET)
def test_whoever_asks_for_a_record_that_was_changed_is_refused(ledger, statement):
    """A damaged record must not pass for one that is unknown, public or in another row."""
    change(ledger, statement)
    asked = "r9" if "INSERT" in statement else "r7"
    with ledger.reading() as entries, pytest.raises(Altered, match="records"):
        entries.outcomes([asked])
    with pytest.raises(Altered, match="records"), ledger.writing() as entries:
        entries.add_request([asked])


def test_a_writer_does_not_seal_what_others_changed(ledger):
    change(ledger, "UPDATE records SET id = 'r7b' WHERE id = 'r7'")
    with ledger.writing() as entries:
        entries.add_records(["r9"], "private")
        entries.add_request(["r3"])
    with pytest.raises(Altered, match="records"):
        ledger.check()


def test_an_index_that_says_something_else_than_its_table_is_refused(ledger):
    with ledger.writing() as entries:
        entries.set("encoding", "of columns")
    ledger.close()
    content = ledger.where.read_bytes()
    places = [place for place in range(len(content)) if content.startswith(b"encoding", place)]
    refusals = 0
    for place in places:  # in the table, and in the index by name
        damaged = bytearray(content)
        damaged[place] ^= 1
        ledger.where.write_bytes(damaged)
        again = Ledger(ledger.where)
        with pytest.raises(Altered, match="settings"), again.reading():
            pass
        again.close()
        refusals += 1
    assert refusals == 2


def test_a_ledger_of_an_earlier_version_is_refused_with_the_remedy(ledger):
    change(ledger, "DROP TABLE seals")
    earlier = "an earlier version of expunge wrote it"
    with pytest.raises(InvalidInput, match=earlier), ledger.reading():
        pass


def test_every_table_is_sealed_but_the_seals_themselves_and_records_which_have_their_own(ledger):
    with closing(sqlite3.connect(ledger.where)) as connection:
        tables = {
            name
            for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        }
        sealed = {name for (name,) in connection.execute("SELECT name FROM seals")}
    assert {table.name for table in WHOLE} | {"records", "seals"} == tables
    assert sealed == tables - {"seals"} | {"schema"}


def test_whoever_changes_nothing_leaves_the_seals_as_they_are(ledger):
    def stored():
        with closing(sqlite3.connect(ledger.where)) as connection:
            return connection.execute("SELECT rowid, * FROM seals").fetchall()

    before = stored()
    with ledger.writing():
        pass
    assert stored() == before
