"""Folders that appear whole or not at all; what killed runs left goes."""

import os

import pytest

from expunge.core.whole_folder import check_new_folder, whole_folder
from expunge.errors import InvalidInput


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_folder_appears_with_all_that_was_put_into_it(tmp_path):
    for target in (tmp_path / "new", tmp_path / "on/the/way", tmp_path / "empty"):
        (tmp_path / "empty").mkdir(exist_ok=True)
        with whole_folder(target, "test") as building:
            (building / "file").write_text("x")
            assert not (target / "file").exists()
        assert names(target) == ["file"]
    assert names(tmp_path) == ["empty", "new", "on"]


def test_an_exception_leaves_nothing(tmp_path):
    with pytest.raises(IsADirectoryError), whole_folder(tmp_path / "new", "test") as building:
        building.write_text("x")
    assert names(tmp_path) == []


def test_litter_of_dead_processes_goes_and_that_of_others_stays(tmp_path):
    dead = tmp_path / ".new.test-999999999"
    ours = [tmp_path / f".new.test-{os.getppid()}", tmp_path / ".other.test-999999999"]
    for folder in (dead, *ours):
        folder.mkdir()
    with whole_folder(tmp_path / "new", "test"):
        pass
    assert not dead.exists()
    assert all(folder.exists() for folder in ours)


def test_what_is_there_already_is_left_alone(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("x")
    for taken in (tmp_path, tmp_path / "file"):
        with pytest.raises(InvalidInput, match="exists already"):
            check_new_folder(taken)
    (tmp_path / "empty").mkdir()
    check_new_folder(tmp_path / "empty")
    check_new_folder(tmp_path / "none")
    monkeypatch.chdir(tmp_path / "empty")
    with pytest.raises(InvalidInput, match="the folder that you are in"):
        check_new_folder(tmp_path / "empty")
