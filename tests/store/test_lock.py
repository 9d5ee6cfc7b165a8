"""One writer at a time; the lock ends with its process and leaves nothing behind."""

import os
import stat

import pytest

from expunge.store import Locked, lock, read, settle, sole_writer, write
from expunge.store.lock import hold_lock
from tests.store.generations import files_in, following, fresh, saved_in


def test_while_one_writes_nobody_else_does_and_everybody_reads(tmp_path):
    folder = saved_in(tmp_path / "m")
    with sole_writer(folder) as writer:
        for verb in (lambda: write(folder, fresh()), lambda: settle(folder)):
            with pytest.raises(Locked, match="another process is writing there; try again"):
                verb()
        seal = writer.prepare(following(read(folder)))
        assert read(folder).document["requests"] == 0
        writer.commit(seal)
        assert read(folder).document["requests"] == 1
    assert read(folder).document["requests"] == 1


def test_a_lock_leaves_nothing_behind(tmp_path):
    with hold_lock(tmp_path / "m"):
        assert (tmp_path / "m/secret/.lock").exists()
    assert list(tmp_path.iterdir()) == []
    folder = saved_in(tmp_path / "m")
    assert not (folder / "secret/.lock").exists()


def test_a_lock_file_whose_process_is_gone_is_no_obstacle(tmp_path):
    folder = saved_in(tmp_path / "m")
    (folder / "secret/.lock").touch()
    write(folder, following(read(folder)))
    assert "secret/.lock" not in files_in(folder)


def test_a_lock_that_was_taken_away_meanwhile_is_none(tmp_path, monkeypatch):
    """Somebody opens it, its holder deletes it, a third makes another: only one may go on."""
    folder = saved_in(tmp_path / "m")
    flock = lock.fcntl.flock

    def late(handle, kind):
        (folder / "secret/.lock").unlink()
        (folder / "secret/.lock").touch()
        flock(handle, kind)

    monkeypatch.setattr(lock.fcntl, "flock", late)
    with pytest.raises(Locked):
        write(folder, following(read(folder)))
    monkeypatch.undo()
    write(folder, following(read(folder)))


def test_a_folder_that_vanishes_before_the_lock_is_made_is_busy(tmp_path, monkeypatch):
    """Another process found it empty and took it away."""
    opened = os.open

    def late(path, *arguments):
        (tmp_path / "m/secret").rmdir()
        return opened(path, *arguments)

    monkeypatch.setattr(lock.os, "open", late)
    with pytest.raises(Locked), hold_lock(tmp_path / "m"):
        pass


def test_where_there_is_no_flock_one_writes_all_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr(lock, "fcntl", None)
    assert read(saved_in(tmp_path / "m")).index.generation == 1


def test_the_lock_and_its_folder_are_the_owner_s(tmp_path):
    (tmp_path / "m/secret").mkdir(mode=0o755, parents=True)
    with hold_lock(tmp_path / "m"):
        assert stat.S_IMODE((tmp_path / "m/secret").stat().st_mode) == 0o700
        assert stat.S_IMODE((tmp_path / "m/secret/.lock").stat().st_mode) == 0o600


def test_a_lock_file_that_cannot_be_deleted_is_no_failure_of_what_it_was_held_for(
    tmp_path, monkeypatch
):
    def refuse(*_, **__):
        raise PermissionError("not allowed")

    with hold_lock(tmp_path):
        monkeypatch.setattr("pathlib.Path.unlink", refuse)
    monkeypatch.undo()
    with hold_lock(tmp_path):  # the file is there, and nobody holds it
        pass
