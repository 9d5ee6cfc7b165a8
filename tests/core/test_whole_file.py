"""Files appear whole or not at all."""

import os
import stat

import pytest

from expunge.core.whole_file import remove_unfinished, share, sync, write_whole


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


def test_what_killed_runs_left_is_removed_and_nothing_else(tmp_path):
    file = tmp_path / "out (1).json"
    others = [file, tmp_path / ".out (1).json.bak", tmp_path / ".other.json.a1b2c3d4"]
    for other in others:
        other.write_bytes(b"kept")
    (tmp_path / ".out (1).json.a1b2c3d4").write_bytes(b"left")
    remove_unfinished(file)
    assert sorted(tmp_path.iterdir()) == sorted(others)


def test_what_another_process_is_writing_is_not_removed(tmp_path, monkeypatch):
    file, synced = tmp_path / "out.json", os.fsync

    def meanwhile(handle):
        remove_unfinished(file)
        synced(handle)

    monkeypatch.setattr(os, "fsync", meanwhile)
    write_whole(file, b"content")
    assert file.read_bytes() == b"content"
    assert list(tmp_path.iterdir()) == [file]


def test_files_and_folders_can_be_synced_and_missing_ones_are_named(tmp_path):
    (tmp_path / "file").write_bytes(b"content")
    sync(tmp_path / "file")
    sync(tmp_path)
    with pytest.raises(FileNotFoundError):
        sync(tmp_path / "missing")
