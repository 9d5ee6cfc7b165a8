"""Writing: all or nothing, nobody's requests undone, nobody else's files touched."""

import errno
import os
import shutil
import stat
from dataclasses import replace

import pytest

from expunge.core import whole_file
from expunge.errors import InvalidInput
from expunge.store import (
    Lineage,
    NewChunk,
    erase_rows,
    read,
    settle,
    sole_writer,
    unerased_files,
    write,
)
from expunge.store.index import digest
from tests.store.generations import (
    FIT,
    OTHER_FIT,
    certificate_after,
    files_in,
    following,
    fresh,
    holds,
    left_prepared,
    lineage_after,
    model_after,
    saved_in,
    trace,
)


@pytest.fixture
def folder(tmp_path):
    return saved_in(tmp_path / "m", requests=1)


def test_what_may_be_handed_out_is_on_top_and_what_is_secret_below(folder):
    assert (folder / "model.safetensors").read_bytes() == model_after(1)
    assert (folder / "certificate.json").read_text() == f"{certificate_after(1).readable()}\n"
    on_top = {name: content for name, content in files_in(folder).items() if "/" not in name}
    assert sorted(on_top) == ["certificate.json", "model.safetensors"]
    assert holds(folder, trace(2))
    assert not any(trace(2) in content for content in on_top.values())


def test_only_the_owner_reads_what_is_secret(tmp_path):
    inside = tmp_path / "m/secret"
    inside.mkdir(mode=0o755, parents=True)
    mask = os.umask(0o022)
    try:
        saved_in(tmp_path / "m", requests=1)
    finally:
        os.umask(mask)
    assert stat.S_IMODE(inside.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in inside.iterdir()} == {0o600}
    for name in ("model.safetensors", "certificate.json"):
        assert stat.S_IMODE((tmp_path / "m" / name).stat().st_mode) == 0o644


def test_generations_are_counted(folder):
    assert read(folder).index.generation == 1
    write(folder, following(read(folder)))
    assert read(folder).index.generation == 2


def test_the_seal_is_that_of_the_index(folder):
    assert write(folder, following(read(folder))) == read(folder).index.seal


def test_the_same_state_may_be_saved_again(folder):
    write(folder, fresh(1))
    assert read(folder).document["requests"] == 1


def test_a_folder_can_be_moved(folder, tmp_path):
    shutil.move(folder, tmp_path / "elsewhere")
    write(tmp_path / "elsewhere", following(read(tmp_path / "elsewhere")))
    assert read(tmp_path / "elsewhere").document["requests"] == 2


def refused(folder, generation, said):
    before = files_in(folder)
    with pytest.raises(InvalidInput, match=said):
        write(folder, generation)
    assert files_in(folder) == before


def test_an_earlier_state_does_not_replace_a_later_one(folder):
    refused(folder, fresh(0), "has not honoured; load it from there")


def test_requests_of_another_fit_are_not_overwritten(folder):
    for requests in (0, 1):
        refused(folder, fresh(requests, OTHER_FIT), "requests of another fit; choose another")


def test_a_new_fit_takes_the_place_of_another_where_that_is_said(folder):
    with sole_writer(folder, seal=read(folder).index.seal) as writer:
        seal = writer.prepare(fresh(0, OTHER_FIT), anew=True)
        assert read(folder).index.lineage.fit != OTHER_FIT
        writer.commit(seal)
    assert read(folder).index.lineage.fit == OTHER_FIT
    assert read(folder).index.generation > 1
    assert not (folder / "certificate.json").exists()
    read(folder).check()


def test_of_two_who_start_from_one_state_the_second_is_refused(folder):
    saved = read(folder)
    first = following(saved)
    write(folder, first)
    lineage = saved.index.lineage.after(certificate_after(3))
    second = replace(fresh(3), lineage=lineage)
    refused(folder, second, "has not honoured; load it from there")


def test_a_fit_without_requests_may_be_replaced(tmp_path):
    folder = saved_in(tmp_path / "m")
    write(folder, fresh(0, OTHER_FIT))
    assert read(folder).index.lineage.fit == OTHER_FIT


def test_what_was_published_is_no_less_a_promise_without_its_secret_half(folder):
    shutil.rmtree(folder / "secret")
    refused(folder, fresh(1, OTHER_FIT), "requests of another fit")
    assert not (folder / "secret").exists()
    write(folder, fresh(2))
    assert read(folder).document["requests"] == 2


@pytest.mark.parametrize("saved", [False, True])
def test_a_model_that_is_not_ours_is_not_overwritten(tmp_path, saved):
    """Many a library names its file model.safetensors."""
    folder = saved_in(tmp_path / "m") if saved else tmp_path
    (folder / "model.safetensors").write_bytes(b"weeks on a GPU")
    refused(folder, fresh(), r"not touched|is of another state")


def test_a_certificate_that_is_not_ours_is_not_overwritten(tmp_path):
    (tmp_path / "certificate.json").write_bytes(b"\xff of a diploma")
    refused(tmp_path, fresh(), r"certificate.json: is no certificate of ours; not touched")


def test_an_edited_index_is_not_overwritten(folder):
    path = folder / "secret/index.json"
    path.write_bytes(path.read_bytes().replace(FIT.encode(), OTHER_FIT.encode()))
    refused(folder, fresh(1), "index.json: seal")


def test_a_certificate_about_another_model_is_not_saved(folder):
    refused(folder, replace(fresh(2), model=model_after(1)), "not the one that its certificate")


def test_a_certificate_that_the_lineage_did_not_issue_last_is_not_saved(folder):
    for wrong in (None, certificate_after(1)):
        refused(folder, replace(fresh(2), certificate=wrong), "not the last one")
    unknown = replace(fresh(2), lineage=lineage_after(0))
    refused(folder, unknown, "not the last one")


def test_a_document_that_json_does_not_bring_back_is_refused_by_name(tmp_path):
    for value in ({1: 2}, {1: None}, [({1: 2},)], float("nan"), object(), {1, 2}):
        with pytest.raises(InvalidInput, match=r"document.*JSON"):
            write(tmp_path / "m", replace(fresh(), document={"fine": 1, "wrong": value}))
        assert list(tmp_path.iterdir()) == []


def test_tuples_of_a_document_come_back_as_lists(tmp_path):
    write(tmp_path / "m", replace(fresh(), document={"sizes": (1, (2, 3)), "deep": {"a": (4,)}}))
    assert read(tmp_path / "m").document == {"sizes": [1, [2, 3]], "deep": {"a": [4]}}


@pytest.mark.parametrize("where", ["another folder", "an earlier generation"])
def test_a_chunk_that_is_not_there_cannot_be_kept(folder, tmp_path, where):
    saved = read(folder)
    if where == "another folder":
        target = saved_in(tmp_path / "other", requests=1)
    else:
        target = folder
        write(folder, fresh(1))
    with pytest.raises(InvalidInput, match=r"has no chunk chunk-.* to keep"):
        write(target, following(saved))
    read(target).check()
    assert read(target).document["requests"] == 1


def test_a_chunk_cannot_be_kept_as_something_else(folder):
    first, *others = read(folder).chunks("private")
    other = first.model_copy(update={"table": "public"})
    refused(folder, replace(fresh(1), chunks=[other, *others]), r"has no chunk chunk-.* to keep")


def test_chunks_that_overlap_are_refused(tmp_path):
    chunks = [NewChunk("private", 0, 8, b""), NewChunk("private", 4, 9, b"")]
    with pytest.raises(InvalidInput, match="overlaps those before it"):
        write(tmp_path / "m", replace(fresh(), chunks=chunks))
    assert list(tmp_path.iterdir()) == []


def test_chunks_are_written_one_by_one_before_the_next_is_made(tmp_path):
    inside, counts = tmp_path / "m/secret", []

    def chunks():
        for i in range(4):
            counts.append(len(list(inside.glob("chunk-*"))))
            yield NewChunk("private", i, i + 1, b"row", "parquet")

    write(tmp_path / "m", replace(fresh(), chunks=chunks()))
    assert counts == [0, 1, 2, 3]
    assert {path.suffix for path in inside.glob("chunk-*")} == {".parquet"}


def test_a_table_keeps_its_form_when_rows_are_erased(tmp_path):
    chunks = [NewChunk("records", 0, 4, b"rows", "parquet")]
    write(tmp_path / "m", replace(fresh(), chunks=chunks))
    saved = read(tmp_path / "m")
    after = erase_rows(saved, "records", [2], lambda content, *_: content[:2])
    write(tmp_path / "m", replace(fresh(), chunks=after))
    (chunk,) = read(tmp_path / "m").chunks("records")
    assert (chunk.first, chunk.stop) == (0, 4)
    assert chunk.file.name.endswith(".parquet")
    assert read(tmp_path / "m").rows(chunk) == b"ro"


@pytest.mark.parametrize("number", range(6))
def test_a_full_disk_leaves_the_old_generation_and_no_litter(folder, monkeypatch, number):
    before, generation = files_in(folder), following(read(folder))
    fill_disk_at(monkeypatch, number)
    with pytest.raises(OSError, match="No space left"):
        write(folder, generation)
    assert files_in(folder) == before
    monkeypatch.undo()
    read(folder).check()
    write(folder, following(read(folder)))
    assert read(folder).document["requests"] == 2


def test_six_files_are_all_that_the_second_generation_writes(folder, monkeypatch):
    generation = following(read(folder))
    fill_disk_at(monkeypatch, 6)
    write(folder, generation)
    assert read(folder).document["requests"] == 2


def fill_disk_at(monkeypatch, number):
    """The write of this file, counted from 0, fails half-way."""
    mkstemp, count = whole_file.tempfile.mkstemp, iter(range(100))
    full = set()

    def make(**options):
        handle, name = mkstemp(**options)
        if next(count) == number:
            full.add(handle)
            os.write(handle, b"half of it")
        return handle, name

    fsync = os.fsync

    def sync(handle):
        if handle in full:
            raise OSError(errno.ENOSPC, "No space left on device")
        fsync(handle)

    monkeypatch.setattr(whole_file.tempfile, "mkstemp", make)
    monkeypatch.setattr(whole_file.os, "fsync", sync)


def test_an_interrupted_first_save_leaves_nothing(tmp_path, monkeypatch):
    fill_disk_at(monkeypatch, 3)
    with pytest.raises(OSError, match="No space left"):
        write(tmp_path / "m", fresh())
    assert list(tmp_path.iterdir()) == []


def test_what_is_prepared_and_not_committed_is_gone_at_the_end(folder):
    before = files_in(folder)
    with sole_writer(folder) as writer:
        writer.prepare(following(read(folder)))
        assert files_in(folder) != before
    assert files_in(folder) == before


def test_what_was_committed_stays_whatever_goes_wrong_afterwards(folder):
    def interrupted():
        with sole_writer(folder) as writer:
            writer.commit(writer.prepare(following(read(folder))))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    read(folder).check()
    assert read(folder).document["requests"] == 2
    assert not holds(folder, trace(2))


def test_only_what_was_prepared_can_be_committed(folder):
    before = files_in(folder)
    with (
        pytest.raises(InvalidInput, match="no generation with the seal"),
        sole_writer(folder) as writer,
    ):
        writer.commit("0" * 64)
    assert files_in(folder) == before


def prepared(folder, target):
    """A copy of the folder as a writer leaves it who is killed between prepare and commit."""
    with sole_writer(folder) as writer:
        seal = writer.prepare(following(read(folder)))
        shutil.copytree(folder, target)
    (target / "secret/.lock").unlink()
    return seal


def test_a_ledger_says_which_generation_is_current(folder, tmp_path):
    old = read(folder).index.seal
    for name in ("forward", "back"):
        new = prepared(folder, tmp_path / name)
        seal = {"forward": new, "back": old}[name]
        saved = read(tmp_path / name, seal=seal)
        saved.check()  # before anybody writes
        assert saved.document["requests"] == {"forward": 2, "back": 1}[name]
        settle(tmp_path / name, seal=seal)
        assert read(tmp_path / name).index.seal == seal
        assert holds(tmp_path / name, trace(2)) == (name == "back")
        read(tmp_path / name).check()


def test_a_damaged_index_that_waits_blocks_nobody(folder):
    (folder / f"secret/index-{0:016x}.json").write_bytes(b"damaged")
    seal = read(folder).index.seal
    read(folder, seal=seal).check()
    settle(folder, seal=seal)
    assert read(folder).index.seal == seal


def test_a_seal_that_is_not_there_changes_nothing(folder, tmp_path):
    prepared(folder, tmp_path / "copy")
    before = files_in(tmp_path / "copy")
    with pytest.raises(InvalidInput, match="no generation with the seal"):
        settle(tmp_path / "copy", seal="0" * 64)
    assert files_in(tmp_path / "copy") == before


def test_there_is_nothing_to_settle_where_nothing_is_saved(tmp_path):
    with pytest.raises(InvalidInput, match="not a saved model"):
        settle(tmp_path / "nowhere")
    assert list(tmp_path.iterdir()) == []


def test_a_lost_index_or_an_older_one_put_back_erases_nothing(tmp_path):
    """Whoever puts the right one back finds everything there."""
    folder = saved_in(tmp_path / "m", requests=0)
    index = folder / "secret/index.json"
    first = index.read_bytes()
    write(folder, following(read(folder)))
    second = index.read_bytes()
    files = sorted(folder.rglob("*"))
    for content in (None, first):
        index.unlink()
        if content is not None:
            index.write_bytes(content)
        for verb in (settle, lambda folder: write(folder, fresh(2))):
            with pytest.raises(InvalidInput, match="is missing"):
                verb(folder)
        index.write_bytes(second)
        assert sorted(folder.rglob("*")) == files
    read(folder).check()


def test_a_refused_save_leaves_an_empty_folder_of_the_users(tmp_path):
    (tmp_path / "mine").mkdir()
    with pytest.raises(InvalidInput):
        write(tmp_path / "mine", replace(fresh(0), document={"a": object()}))
    assert (tmp_path / "mine").is_dir()


def test_without_a_certificate_the_lineage_ends_with_the_model(tmp_path):
    """Records joined, and none was forgotten; a certificate that is merely left out is noticed."""
    joined = replace(
        fresh(), lineage=Lineage(fit=FIT, issued=(digest(model_after(0)),)), model=model_after(0)
    )
    write(tmp_path / "m", joined)
    assert read(tmp_path / "m").certificate() is None
    refused(tmp_path / "m", replace(joined, model=model_after(1)), "not the last one")
    refused(tmp_path / "m", fresh(), "holds a request that this state has not honoured")


def test_where_a_ledger_decides_a_failure_erases_nothing_that_it_may_have_called_current(folder):
    """It commits between `prepare` and `commit`: what it points to must still be there."""
    promised = left_prepared(folder)
    later = read(folder, seal=promised)
    later.check()
    assert later.document["requests"] == 2
    settle(folder, seal=promised)
    assert read(folder).index.seal == promised
    assert not holds(folder, trace(2))


def test_what_a_failure_left_goes_once_the_ledger_says_that_the_old_state_is_current(folder):
    saved, before = read(folder), files_in(folder)
    left_prepared(folder)
    assert files_in(folder) != before
    settle(folder, seal=saved.index.seal)
    assert files_in(folder) == before


def test_an_index_that_is_a_link_is_not_replaced_but_named_until_it_is_gone(folder, tmp_path):
    """What it leads to has digests of files with erased rows, and would outlive the link unseen."""
    index, seal = folder / "secret/index.json", read(folder).index.seal
    index.rename(tmp_path / "elsewhere")
    index.symlink_to(tmp_path / "elsewhere")
    new = []

    def save():
        with sole_writer(folder, seal=seal) as writer:
            new.append(writer.prepare(following(read(folder))))
            writer.commit(new[0])

    with pytest.raises(OSError, match=r"is a link.*index.json"):
        save()
    assert (tmp_path / "elsewhere").exists()
    assert index in unerased_files(folder, seal=new[0])
    assert read(folder, seal=new[0]).document["requests"] == 2
    index.unlink()
    settle(folder, seal=new[0])
    assert unerased_files(folder, seal=new[0]) == ()
