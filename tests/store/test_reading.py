"""Readers see one generation, whole; they write nothing, and name every file that was changed."""

import os
import shutil
import threading

import numpy as np
import pytest

from expunge.errors import InvalidInput
from expunge.store import (
    Generation,
    missing_files,
    read,
    read_handed_out,
    read_steadily,
    reading,
    settle,
    write,
)
from expunge.store.reading import find_index
from tests.store.generations import (
    certificate_after,
    files_in,
    following,
    left_prepared,
    model_after,
    parts_after,
    rows_of,
    saved_in,
    values,
)


def test_what_was_written_comes_back(tmp_path):
    saved = read(str(saved_in(tmp_path / "m", requests=2)))
    parts = parts_after(2)
    assert saved.document == parts["document"]
    assert saved.state() == parts["state"]
    assert saved.model() == parts["model"]
    assert saved.certificate() == parts["certificate"]
    assert saved.index.lineage == parts["lineage"]
    assert saved.index.kind == "linear"
    np.testing.assert_array_equal(rows_of(saved)[[0, 39]], values()[[0, 39]])


def test_before_a_request_there_is_no_certificate(tmp_path):
    saved = read(saved_in(tmp_path / "m"))
    assert saved.certificate() is None
    assert sorted(os.listdir(tmp_path / "m")) == ["model.safetensors", "secret"]


def test_reading_changes_nothing(tmp_path):
    folder = saved_in(tmp_path / "m", requests=1)
    (folder / f"secret/state-{0:016x}.safetensors").write_bytes(b"left by a killed writer")
    before = files_in(folder)
    places = (folder, folder / "secret")
    times = [path.stat().st_mtime_ns for path in places]
    read(folder).check()
    assert files_in(folder) == before
    assert [path.stat().st_mtime_ns for path in places] == times


def test_a_check_reads_every_file_but_the_index_and_says_so(tmp_path):
    folder = saved_in(tmp_path / "m", requests=1)
    assert sorted([*read(folder).check(), "secret/index.json"]) == sorted(files_in(folder))


def names():
    """Every file of a saved model, by the start of its name."""
    chunks = [f"secret/chunk-*-{i}.safetensors" for i in range(5)]
    inside = ["secret/index.json", "secret/document-*", "secret/state-*", *chunks]
    return [*inside, "model.safetensors", "certificate.json"]


@pytest.mark.parametrize("name", names())
@pytest.mark.parametrize("change", ["flip", "cut", "longer", "empty"])
def test_a_file_that_was_changed_is_refused_by_name(tmp_path, name, change):
    folder = saved_in(tmp_path / "m", requests=1)
    (path,) = folder.glob(name)
    content = bytearray(path.read_bytes())
    if change == "flip":
        content[len(content) // 2] ^= 4
    path.write_bytes(
        {"flip": content, "cut": content[:-1], "longer": content + b"\0", "empty": b""}[change]
    )
    with pytest.raises(InvalidInput) as caught:
        read(folder).check()
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("name", [name for name in names() if name != "secret/index.json"])
def test_a_file_that_is_missing_is_named(tmp_path, name):
    folder = saved_in(tmp_path / "m", requests=1)
    (path,) = folder.glob(name)
    path.unlink()
    with pytest.raises(InvalidInput, match="is missing") as caught:
        read(folder).check()
    assert str(path) in str(caught.value)
    assert missing_files(folder) == (path,)


def test_nothing_is_missing_that_waits_to_become_current(tmp_path):
    folder = saved_in(tmp_path / "m", requests=1)
    assert missing_files(folder) == ()
    promised = left_prepared(folder)
    assert missing_files(folder, seal=promised) == ()
    settle(folder, seal=promised)
    assert missing_files(folder, seal=promised) == ()


def test_only_what_is_asked_for_is_read(tmp_path):
    folder = saved_in(tmp_path / "m", requests=1)
    for path in (folder / "secret").glob("chunk-*-[1234].safetensors"):
        path.write_bytes(b"damaged")
    saved = read(folder)
    saved.state()
    saved.rows(saved.chunks("private")[0])
    with pytest.raises(InvalidInput, match="bytes, the index says"):
        saved.rows(saved.chunks("private")[1])


def test_without_what_lies_on_top_the_state_can_be_read(tmp_path):
    folder = saved_in(tmp_path / "m", requests=1)
    for name in ("model.safetensors", "certificate.json"):
        (folder / name).unlink()
    assert read(folder).state() == parts_after(1)["state"]


@pytest.mark.parametrize("name", ["model.safetensors", "certificate.json", "secret"])
def test_a_part_of_another_state_is_refused(tmp_path, name):
    """Among others: only secret/ was put back from before a later request."""
    folder, later = saved_in(tmp_path / "m", 1), saved_in(tmp_path / "later", 2)
    if name == "secret":
        shutil.rmtree(folder / name)
        shutil.copytree(later / name, folder / name)
    else:
        shutil.copy(later / name, folder / name)
    with pytest.raises(InvalidInput, match="is of another state: put back secret/ of the same"):
        read(folder)


def test_a_certificate_beside_a_model_that_has_none_is_of_another_state(tmp_path):
    folder = saved_in(tmp_path / "m")
    (folder / "certificate.json").write_text(certificate_after(1).readable())
    with pytest.raises(InvalidInput, match=r"certificate.json: is of another state"):
        read(folder)


@pytest.mark.parametrize("kind", ["nowhere", "empty", "file", "on top only"])
def test_what_is_no_saved_model_is_named(tmp_path, kind):
    folder = tmp_path / "m"
    if kind == "empty":
        folder.mkdir()
    elif kind == "file":
        folder.write_text("years of work")
    elif kind == "on top only":
        shutil.rmtree(saved_in(folder, 1) / "secret")
    with pytest.raises(InvalidInput, match=r"not a saved model \(no secret/index.json\)") as caught:
        read(folder)
    assert str(folder) in str(caught.value)


def test_a_generation_is_read_by_its_seal(tmp_path):
    folder = saved_in(tmp_path / "m")
    saved = read(folder)
    assert read(folder, seal=saved.index.seal) == saved
    assert find_index(folder, saved.index.seal) == saved.index
    with pytest.raises(InvalidInput, match=f"no generation with the seal {'0' * 64}"):
        read(folder, seal="0" * 64)


def test_work_starts_again_when_a_writer_replaced_what_it_read(tmp_path):
    folder = saved_in(tmp_path / "m")
    seen = []

    def work(saved):
        seen.append(saved.document["requests"])
        if len(seen) == 1:
            write(folder, following(saved))
        return saved.state()

    assert read_steadily(folder, work) == parts_after(1)["state"]
    assert seen == [0, 1]


def test_what_goes_wrong_without_a_writer_is_raised_once(tmp_path):
    folder = saved_in(tmp_path / "m")
    seen = []

    def work(saved):
        seen.append(1)
        raise InvalidInput("field", "wrong")

    with pytest.raises(InvalidInput, match="field: wrong"):
        read_steadily(folder, work)
    assert len(seen) == 1


def test_readers_see_whole_generations_while_a_writer_replaces_them(tmp_path):
    folder, rounds = saved_in(tmp_path / "m"), 5
    done = threading.Event()

    def write_all():
        try:
            for _ in range(rounds):
                write(folder, following(read(folder)))
        finally:
            done.set()

    def whole(saved):
        requests = saved.document["requests"]
        saved.check()
        assert saved.model() == model_after(requests)
        assert saved.state() == parts_after(requests)["state"]
        return requests

    writer = threading.Thread(target=write_all)
    writer.start()
    seen = [0]
    while not done.is_set():
        seen.append(read_steadily(folder, whole))
    writer.join()
    assert seen == sorted(seen)
    assert read_steadily(folder, whole) == rounds


def test_state_may_be_any_bytes_that_its_owner_packed(tmp_path):
    """Tensors that NumPy has no type for are packed by whoever has them."""
    folder = tmp_path / "m"
    write(folder, Generation(**parts_after(0) | {"state": b"bfloat16, say"}))
    assert read(folder).state() == b"bfloat16, say"
    assert read(folder).chunks("private") == ()


@pytest.mark.parametrize("requests", [0, 1])
def test_whoever_is_given_what_lies_on_top_needs_nothing_else(tmp_path, requests):
    folder = saved_in(tmp_path / "m", requests)
    shutil.rmtree(folder / "secret")
    assert read_handed_out(folder) == (
        model_after(requests),
        certificate_after(requests) if requests else None,
    )


def test_whoever_is_given_another_model_or_an_edited_certificate_is_told(tmp_path):
    folder = saved_in(tmp_path / "m", 1)
    path = folder / "certificate.json"
    text = path.read_text()
    path.write_text(text.replace('"epsilon": 1.39', '"epsilon": 0.39'))
    assert path.read_text() != text
    with pytest.raises(InvalidInput, match=r"certificate.json: the certificate's claim\.epsilon"):
        read_handed_out(folder)
    path.write_text("no certificate")
    with pytest.raises(InvalidInput, match=r"certificate.json: not a certificate"):
        read_handed_out(folder)
    path.write_text(text)
    (folder / "model.safetensors").write_bytes(model_after(2))
    with pytest.raises(InvalidInput, match=r"model.safetensors: is not the one"):
        read_handed_out(folder)
    (folder / "model.safetensors").unlink()
    with pytest.raises(InvalidInput, match=r"not a saved model \(no model.safetensors\)"):
        read_handed_out(folder)


def test_a_model_that_is_replaced_while_it_is_read_is_read_again(tmp_path, monkeypatch):
    folder = saved_in(tmp_path / "m", 1)
    content, calls = reading._content, []

    def late(path):
        calls.append(path.name)
        if len(calls) == 2:  # the certificate is read, the model not yet
            write(folder, following(read(folder)))
        return content(path)

    monkeypatch.setattr(reading, "_content", late)
    assert read_handed_out(folder) == (model_after(2), certificate_after(2))


def test_whether_a_chunk_is_there_is_told_without_reading_it(tmp_path, monkeypatch):
    saved = read(saved_in(tmp_path / "m"))
    first, second, third, *_ = saved.chunks("private")
    saved.path_of(second).write_bytes(b"cut")
    saved.path_of(third).unlink()
    monkeypatch.setattr("pathlib.Path.read_bytes", None)
    assert [saved.has(chunk) for chunk in (first, second, third)] == [True, False, False]
