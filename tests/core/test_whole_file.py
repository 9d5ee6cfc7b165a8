"""Files appear whole or not at all."""

import os
import stat
import subprocess
import sys

import pytest

from expunge.core import whole_file
from expunge.core.whole_file import share, sync, write_whole


def test_a_written_file_is_whole_and_alone(tmp_path):
    file = tmp_path / "out.json"
    write_whole(file, b"first")
    write_whole(file, b"second")
    assert file.read_bytes() == b"second"
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize(("private", "mode"), [(False, 0o640), (True, 0o600)])
def test_a_file_is_for_all_whom_the_mask_allows_or_for_its_owner_alone(tmp_path, private, mode):
    before = os.umask(0o027)
    try:
        write_whole(tmp_path / "out.json", b"content", private=private)
        assert stat.S_IMODE((tmp_path / "out.json").stat().st_mode) == mode
        share(tmp_path / "out.json")
        assert stat.S_IMODE((tmp_path / "out.json").stat().st_mode) == 0o640
    finally:
        os.umask(before)


def test_a_failed_write_leaves_no_trace_and_keeps_what_was_there(tmp_path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="is a folder"):
        write_whole(tmp_path / "folder", b"content")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]
    with pytest.raises(FileNotFoundError):
        write_whole(tmp_path / "missing" / "out.json", b"content")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_a_write_that_is_interrupted_before_the_rename_keeps_the_old_file(tmp_path, monkeypatch):
    file = tmp_path / "out.json"
    write_whole(file, b"first")
    monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        write_whole(file, b"second")
    assert file.read_bytes() == b"first"
    assert list(tmp_path.iterdir()) == [file]


def test_files_and_folders_can_be_synced_and_missing_ones_are_named(tmp_path):
    (tmp_path / "file").write_bytes(b"content")
    sync(tmp_path / "file")
    sync(tmp_path)
    with pytest.raises(FileNotFoundError):
        sync(tmp_path / "missing")


def test_what_a_killed_run_left_is_removed_by_the_next_one_and_nothing_else_is(tmp_path):
    file = tmp_path / "out.json"
    code = (
        "import os, sys; from pathlib import Path; from expunge.core import whole_file\n"
        "whole_file.os.fsync = lambda _: os._exit(9)\n"
        "whole_file.write_whole(Path(sys.argv[1]), b'half')"
    )
    assert subprocess.run([sys.executable, "-c", code, str(file)]).returncode == 9
    (left,) = tmp_path.iterdir()
    assert left.name.startswith(".out.json.")
    for name in (".out.json.mybackup", "out.json.unfinished", ".other.json.x.unfinished"):
        (tmp_path / name).write_bytes(b"somebody else's")
    write_whole(file, b"whole")
    names = {path.name for path in tmp_path.iterdir()}
    assert left.name not in names
    assert names == {
        "out.json", ".out.json.mybackup", "out.json.unfinished", ".other.json.x.unfinished",
    }  # fmt: skip


def test_two_who_write_at_once_do_not_take_each_others_file_away(tmp_path, monkeypatch):
    file = tmp_path / "out.json"

    def write_another(_):
        monkeypatch.undo()
        write_whole(file, b"second")

    monkeypatch.setattr(os, "fsync", write_another)
    write_whole(file, b"first")
    assert file.read_bytes() == b"first"
    assert list(tmp_path.iterdir()) == [file]


def test_a_new_file_that_was_removed_before_it_was_locked_is_made_again(tmp_path, monkeypatch):
    file, flock, removed = tmp_path / "out.json", whole_file.fcntl.flock, []

    def remove_first(handle, kind):
        if not removed:
            removed.extend(tmp_path.iterdir())
            removed[0].unlink()
        flock(handle, kind)

    monkeypatch.setattr(whole_file.fcntl, "flock", remove_first)
    write_whole(file, b"whole")
    assert removed
    assert list(tmp_path.iterdir()) == [file]
