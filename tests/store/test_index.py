"""The index: every file with its digest, and no byte of it can change unnoticed."""

import json
import os

import pytest

from expunge.accounting.canonical import canonical, sha256
from expunge.errors import Altered, InvalidInput
from expunge.store.index import FORMAT, Chunk, File, Index, digest, parse_index, read_index
from tests.store.generations import lineage_after, saved_in

TOKEN = "0123456789abcdef"


def file(name):
    return File.of(name, name.encode())


def chunk(first, stop, table="private"):
    name = f"chunk-{TOKEN}-{first}.safetensors"
    return Chunk(table=table, first=first, stop=stop, file=file(name))


def index(**changes):
    parts = {
        "kind": "linear",
        "generation": 3,
        "lineage": lineage_after(2),
        "document": file(f"document-{TOKEN}.json"),
        "state": file(f"state-{TOKEN}.safetensors"),
        "chunks": (chunk(0, 8), chunk(8, 16)),
        "model": file(f".model-{TOKEN}.safetensors"),
        "certificate": file(f".certificate-{TOKEN}.json"),
    }
    return Index(**parts | changes)


def resealed(change):
    """An index as somebody with this library could write it."""
    document = json.loads(index().content())
    document.pop("seal")
    change(document)
    return f"{canonical(document | {'seal': sha256(document)})}\n".encode()


@pytest.mark.parametrize("changes", [{}, {"certificate": None}, {"chunks": ()}])
def test_an_index_comes_back_as_it_was(changes):
    assert parse_index(index(**changes).content()) == index(**changes)


def test_the_seal_is_the_hash_of_the_canonical_form_without_it():
    document = json.loads(index().content())
    seal = document.pop("seal")
    assert seal == index().seal == sha256(document)
    assert index(kind="network").seal != seal


def test_a_digest_is_what_sha256sum_prints():
    assert digest(b"abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def test_every_flipped_bit_is_refused():
    content = index().content()
    for place in range(len(content)):
        for bit in range(8):
            changed = bytearray(content)
            changed[place] ^= 1 << bit
            with pytest.raises(InvalidInput):
                parse_index(bytes(changed))


@pytest.mark.parametrize("added", [b" ", b"\n", b"{}"])
def test_nothing_can_be_appended(added):
    with pytest.raises(InvalidInput):
        parse_index(index().content() + added)


def test_another_format_is_named_before_anything_else_is_read():
    with pytest.raises(InvalidInput, match=f"format: 999, this version reads {FORMAT}"):
        parse_index(b'{"format": 999, "anything": 1}')
    with pytest.raises(InvalidInput, match=f"format: None, this version reads {FORMAT}"):
        parse_index(b"{}")


@pytest.mark.parametrize("text", [b"[]", b"7", b"{not json", b"\xff\xfe", b"[" * 99_999])
def test_what_is_no_index_is_refused_in_one_line(text):
    with pytest.raises(InvalidInput) as caught:
        parse_index(text)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda d: d["state"].update(name="../../state.safetensors"), "state.name"),
        (lambda d: d["document"].update(name=f"document-{TOKEN}.json\n"), "document.name"),
        (lambda d: d["chunks"][1]["file"].update(sha256="0"), r"chunks\[1\].file.sha256"),
        (lambda d: d["chunks"][1].update(first=7), "overlaps"),
        (lambda d: d["chunks"].reverse(), "overlaps"),
        (lambda d: d["chunks"][1].update(stop=8), "holds no rows"),
        (lambda d: d["lineage"].update(issued=["x"]), r"lineage.issued\[0\]"),
        (lambda d: d.pop("model"), "model: required"),
        (lambda d: d.update(extra=1), "extra: unknown key"),
        (lambda d: d.update(generation="3"), "seal: does not fit"),
    ],
)
def test_an_index_that_makes_no_sense_is_refused_even_with_its_seal_renewed(change, said):
    with pytest.raises(InvalidInput, match=said):
        parse_index(resealed(change))


def test_tables_are_numbered_apart():
    chunks = (chunk(0, 8), chunk(0, 5, "public"), chunk(8, 9), chunk(5, 6, "public"))
    assert index(chunks=chunks).chunks == chunks


def test_a_gap_between_chunks_is_allowed():
    assert index(chunks=(chunk(0, 8), chunk(16, 24))).chunks[1].first == 16


def test_a_file_is_read_from_the_first_place_that_has_it(tmp_path):
    stated = File.of(f"state-{TOKEN}.safetensors", b"content")
    (tmp_path / "b").write_bytes(b"content")
    assert stated.read(tmp_path / "a", tmp_path / "b") == b"content"
    with pytest.raises(InvalidInput, match="c: is missing"):
        stated.read(tmp_path / "c")


@pytest.mark.parametrize(("content", "said"), [(b"contenT", "digest"), (b"conten", "6 bytes")])
def test_a_file_of_another_digest_or_size_is_refused_by_name(tmp_path, content, said):
    (tmp_path / "b").write_bytes(content)
    with pytest.raises(InvalidInput, match=f"b: .*{said}"):
        File.of(f"state-{TOKEN}.safetensors", b"content").read(tmp_path / "b")


def test_what_has_no_end_and_what_keeps_its_readers_waiting_is_not_read(tmp_path):
    stated = File.of(f"state-{TOKEN}.safetensors", b"content")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "endless").symlink_to("/dev/zero")
    for name in ("pipe", "endless"):
        with pytest.raises(Altered, match=f"{name}: has 0 bytes, the index says 7"):
            stated.read(tmp_path / name)


def test_the_index_of_a_folder_is_read_and_its_absence_is_none(tmp_path):
    assert read_index(tmp_path) is None
    assert read_index(saved_in(tmp_path / "m")).generation == 1
    path = tmp_path / "m/secret/index.json"
    path.write_bytes(path.read_bytes().replace(b'"linear"', b'"linean"'))
    with pytest.raises(InvalidInput, match=r"secret/index.json: seal"):
        read_index(tmp_path / "m")
