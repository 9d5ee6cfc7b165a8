"""Honoured means erased: no byte of a forgotten row stays, or the file that has it is named."""

import pytest

from expunge.store import (
    NotErased,
    erasing,
    read,
    read_handed_out,
    settle,
    sole_writer,
    unerased_files,
    write,
)
from tests.store.generations import files_in, following, holds, left_prepared, saved_in, trace


@pytest.fixture
def folder(tmp_path):
    return saved_in(tmp_path / "m")


def test_nothing_of_a_forgotten_row_is_left(folder):
    for request in (1, 2, 3):
        assert holds(folder, trace(request))
        write(folder, following(read(folder)))
        assert not holds(folder, trace(request))
        assert unerased_files(folder) == ()


def test_other_rows_stay_in_the_files_that_they_were_in(folder):
    before = files_in(folder)
    write(folder, following(read(folder)))
    after = files_in(folder)
    kept = {name: content for name, content in before.items() if "chunk" in name and name in after}
    assert len(kept) == 4
    assert kept.items() <= after.items()
    assert len(after) == len(before) + 1  # the certificate


def test_between_commit_and_erasure_what_is_left_is_named(folder):
    with sole_writer(folder) as writer:
        writer.commit(writer.prepare(following(read(folder))))
        left = unerased_files(folder)
        assert any(trace(1) in path.read_bytes() for path in left)
        assert folder / "model.safetensors" in left  # it is the one before
        assert read(folder).document["requests"] == 1
    assert unerased_files(folder) == ()


def refuse(monkeypatch, name):
    erase = erasing._erase

    def refused(path):
        if name in path.name:
            raise PermissionError(f"{path} is immutable")
        erase(path)

    monkeypatch.setattr(erasing, "_erase", refused)


def test_a_file_that_cannot_be_deleted_is_named_and_blocks_no_reader(folder, monkeypatch):
    refuse(monkeypatch, "-0.safetensors")
    with pytest.raises(
        NotErased, match=r"chunk-.*-0.safetensors: the new state is saved"
    ) as caught:
        write(folder, following(read(folder)))
    (path,) = caught.value.paths
    assert trace(1) in path.read_bytes()
    assert unerased_files(folder) == (path,)
    read(folder).check()
    assert read(folder).document["requests"] == 1
    with pytest.raises(NotErased):
        settle(folder)
    monkeypatch.undo()
    settle(folder)
    assert not holds(folder, trace(1))
    assert unerased_files(folder) == ()


def test_a_model_that_cannot_be_replaced_is_named(folder, monkeypatch):
    saved = read(folder)
    replace = erasing.os.replace

    def refused(source, target):
        if target == folder / "model.safetensors":
            raise PermissionError("immutable")
        replace(source, target)

    monkeypatch.setattr(erasing.os, "replace", refused)
    with pytest.raises(NotErased, match=r"model.safetensors: the new state is saved"):
        write(folder, following(saved))
    monkeypatch.undo()
    assert not holds(folder, trace(1))
    again = read(folder)
    assert again.model() != saved.model()
    assert again.document["requests"] == 1
    settle(folder)
    assert read(folder).model() == again.model()
    assert sorted(p.name for p in folder.iterdir()) == [
        "certificate.json",
        "model.safetensors",
        "secret",
    ]


def test_a_link_is_not_taken_for_the_file_that_it_points_to(folder, tmp_path):
    (path,) = (folder / "secret").glob("chunk-*-0.safetensors")
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(NotErased) as caught:
        write(folder, following(read(folder)))
    assert caught.value.paths == (path,)
    assert path.is_symlink()


def test_settling_changes_nothing_that_is_whole(folder):
    write(folder, following(read(folder)))
    before = files_in(folder)
    settle(folder)
    assert files_in(folder) == before


@pytest.mark.parametrize("name", ["model.safetensors", "certificate.json"])
def test_a_link_on_top_is_not_replaced_but_named_until_it_is_gone(folder, tmp_path, name):
    """What it leads to is of the generation before, and would outlive the link unseen."""
    write(folder, following(read(folder)))
    (folder / name).rename(tmp_path / "elsewhere")
    (folder / name).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(NotErased) as caught:
        write(folder, following(read(folder)))
    assert folder / name in caught.value.paths
    assert folder / name in unerased_files(folder)
    assert not holds(folder, trace(2))
    saved = read(folder)
    saved.check()
    assert saved.document["requests"] == 2
    with pytest.raises(NotErased):
        settle(folder)
    (folder / name).unlink()
    settle(folder)
    assert unerased_files(folder) == ()
    assert read_handed_out(folder)[0] == saved.model()


@pytest.mark.parametrize("call", ["_strays", "sync"])
def test_after_the_commit_every_trouble_of_the_disk_is_told_as_what_it_is(
    folder, monkeypatch, call
):
    """A plain OSError would say that nothing was saved."""
    saved = read(folder)

    def refuse(*_):
        raise PermissionError("not allowed")

    with sole_writer(folder) as writer:
        writer.commit(writer.prepare(following(saved)))
        monkeypatch.setattr(erasing, call, refuse)
        with pytest.raises(NotErased):
            erasing.finish(folder)
        monkeypatch.undo()
    assert read(folder).document["requests"] == 1
    assert unerased_files(folder) == ()


def test_an_erasure_that_waits_keeps_no_later_request_waiting(folder, monkeypatch):
    refuse(monkeypatch, "-0.safetensors")
    with pytest.raises(NotErased):
        write(folder, following(read(folder)))
    with pytest.raises(NotErased) as caught:
        write(folder, following(read(folder)))
    assert read(folder).document["requests"] == 2
    assert [path.name[-14:] for path in caught.value.paths] == ["-0.safetensors"]
    monkeypatch.undo()
    settle(folder)
    assert not holds(folder, trace(1))
    assert not holds(folder, trace(2))


def test_by_a_ledgers_seal_everything_that_the_waiting_state_does_not_name_is_unerased(folder):
    saved = read(folder)
    seal = left_prepared(folder)
    waiting = read(folder, seal=seal)
    left = {path.name for path in unerased_files(folder, seal=seal)}
    assert {"index.json", "model.safetensors"} <= left
    assert left & {file.name for file in saved.index.secret}
    assert not left & {file.name for file in waiting.index.secret}
    settle(folder, seal=seal)
    assert unerased_files(folder, seal=seal) == unerased_files(folder) == ()
