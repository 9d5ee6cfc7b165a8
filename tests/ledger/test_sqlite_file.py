"""Readers make and change no file, wait for nobody, and see one state of the ledger."""

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing, contextmanager

import pytest

from expunge.errors import InvalidInput
from expunge.ledger import Ledger, Overtaken, sqlite_file
from expunge.ledger.sqlite_file import file_of

WRITER = """
import os, signal, sys
from pathlib import Path
from expunge.ledger import Ledger
made = Ledger(Path(sys.argv[1]))
with made.writing() as entries:
    entries.add_request(["r1"])
print("done", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def file(tmp_path):
    folder = tmp_path / "ledgers"
    folder.mkdir()
    made = Ledger(folder / "ledger.sqlite")
    made.create()
    with made.writing() as entries:
        entries.add_records([f"r{i}" for i in range(9)], "private")
    made.close()
    assert [path.name for path in folder.iterdir()] == ["ledger.sqlite"]
    return folder / "ledger.sqlite"


def ask(file, record):
    made = Ledger(file)
    with made.writing() as entries:
        entries.add_request([record])
    return made


def asked(file):
    with Ledger(file).reading() as entries:
        return [record for request in entries.requests() for record in request.records]


def everything(file):
    """Each file's content and time of change, and the folder's own."""
    return {
        path: (path.stat().st_mtime_ns, path.is_file() and path.read_bytes())
        for path in (file.parent, *sorted(file.parent.iterdir()))
    }


@contextmanager
def unchanged(file):
    before = everything(file)
    yield
    assert everything(file) == before


def test_a_file_that_nobody_writes_is_read_without_a_trace(file):
    with unchanged(file):
        assert asked(file) == []


def test_what_a_writer_has_committed_is_read_from_its_log_without_a_trace(file):
    with writer_of(file):
        assert file.with_name("ledger.sqlite-wal").stat().st_size
        with unchanged(file):
            assert asked(file) == ["r1"]


def test_a_writer_in_the_middle_keeps_no_reader_waiting(file):
    made = Ledger(file)
    with made.writing() as entries:
        entries.add_request(["r1"])
        with unchanged(file):
            assert asked(file) == []
    assert asked(file) == ["r1"]
    made.close()


@contextmanager
def writer_of(file):
    """A process that has committed a request, and keeps the ledger open."""
    command = [sys.executable, "-c", WRITER, str(file)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=os.getcwd()
    ) as child:
        assert child.stdout.readline() == b"done\n"
        yield child


def killed(file):
    with writer_of(file) as child:
        child.kill()
    assert child.returncode == -signal.SIGKILL
    assert file.with_name("ledger.sqlite-wal").stat().st_size


def test_what_a_killed_writer_left_in_its_log_is_read_without_a_trace(file):
    killed(file)
    with unchanged(file):
        assert asked(file) == ["r1"]
    ask(file, "r2").close()
    assert asked(file) == ["r1", "r2"]


def test_a_log_whose_index_is_lost_is_refused_in_one_line_and_a_writer_takes_it_up(
    file, monkeypatch
):
    """To read it a new index would have to be written."""
    monkeypatch.setattr(sqlite_file, "TRIES", 2)
    killed(file)
    file.with_name("ledger.sqlite-shm").unlink()
    with unchanged(file), pytest.raises(InvalidInput, match="would write; run expunge forget"):
        asked(file)
    ask(file, "r2").close()
    assert asked(file) == ["r1", "r2"]


def test_what_was_read_while_the_file_changed_does_not_count(file):
    def look():
        with Ledger(file).reading() as entries:
            entries.requests()
            ask(file, "r1").close()

    with pytest.raises(Overtaken, match="was changed while it was read"):
        look()
    assert asked(file) == ["r1"]


def test_nonsense_that_a_changing_file_shows_is_not_raised(file):
    def look():
        with Ledger(file).reading():
            ask(file, "r1").close()
            raise KeyError("half of two pages")

    with pytest.raises(Overtaken):
        look()


def version(file):
    with closing(sqlite3.connect(file)) as connection:
        return connection.execute("PRAGMA user_version").fetchone()[0]


@pytest.mark.parametrize("changes", [True, False])
def test_every_transaction_of_ours_raises_the_version_even_one_that_changes_nothing(file, changes):
    before = version(file)
    made = Ledger(file)
    with made.writing() as entries:
        if changes:
            entries.set("a", "b")
    made.close()
    assert version(file) == before + 1


def test_a_reader_beside_many_writers_sees_whole_transactions(file):
    """Each commit adds a request with two records; some of them move the log into the file."""
    writer = f"""
from pathlib import Path
from expunge.ledger import Ledger
for turn in range(4):
    made = Ledger(Path({str(file)!r}))
    with made.writing() as entries:
        entries.add_request([f"r{{2 * turn}}", f"r{{2 * turn + 1}}"])
    made.close()
"""
    child = subprocess.Popen([sys.executable, "-c", writer], cwd=os.getcwd())
    counts, overtaken = [], 0
    while child.poll() is None or counts[-1] < 8:
        try:
            counts.append(len(asked(file)))
        except Overtaken:
            overtaken += 1
        assert child.poll() in (None, 0)
    assert set(counts) <= {0, 2, 4, 6, 8}
    assert counts == sorted(counts)


def test_nothing_of_earlier_entries_stays_in_the_log(file):
    made = ask(file, "r1")
    assert made.empty_log()
    assert file.with_name("ledger.sqlite-wal").stat().st_size == 0
    assert asked(file) == ["r1"]
    made.close()


def test_a_reader_of_the_log_keeps_it_from_being_emptied(file, monkeypatch):
    monkeypatch.setattr(sqlite_file, "PATIENCE", 1)
    made = ask(file, "r1")
    with Ledger(file).reading() as entries:
        assert len(entries.requests()) == 1
        assert not made.empty_log()
    assert made.empty_log()
    made.close()


def test_a_log_of_another_database_is_nobody_s_concern():
    made = Ledger("sqlite://")
    assert file_of("sqlite://") is None
    assert file_of("postgresql+psycopg://desk@localhost/ledger") is None
    assert made.empty_log()


def test_a_url_names_the_same_file_as_its_path(file):
    assert file_of(f"sqlite:///{file}") == file
    with unchanged(file), Ledger(f"sqlite:///{file}").reading() as entries:
        assert entries.counts()["private"] == 9


def test_a_folder_with_odd_characters_is_opened(file, tmp_path):
    odd = tmp_path / "50 % off? #1"
    shutil.copytree(file.parent, odd)
    with unchanged(odd / file.name):
        assert asked(odd / file.name) == []
    ask(odd / file.name, "r1").close()
    assert asked(odd / file.name) == ["r1"]


def test_readers_write_nothing_that_sqlite_would_let_them(file):
    """Whoever tries is told by SQLite itself."""
    with Ledger(file).reading() as entries, pytest.raises(Exception, match="readonly"):
        entries.add_records(["r10"], "private")
    made = ask(file, "r1")
    with Ledger(file).reading() as entries, pytest.raises(Exception, match="readonly"):
        entries.add_records(["r10"], "private")
    made.close()
    assert sqlite3.connect(file).execute("SELECT count(*) FROM records").fetchone() == (9,)
