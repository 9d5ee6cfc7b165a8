"""Rows in chunks: each row has one place, and a request rewrites only what holds its rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from expunge.errors import InvalidInput
from expunge.store import Chunk, NewChunk, erase_rows, pack, read, split, unpack
from expunge.store.chunks import rows_by_chunk, zero_rows
from expunge.store.index import File
from tests.store.generations import saved_in, values


def chunks_of(count, each):
    new = split("private", {"number": np.arange(count)}, rows=each)
    return [
        Chunk(
            table=part.table,
            first=part.first,
            stop=part.stop,
            file=File.of(f"chunk-{0:016x}-{i}.safetensors", part.content),
        )
        for i, part in enumerate(new)
    ]


@pytest.mark.parametrize(
    "array",
    [
        np.float64(3.5) * np.ones(()),
        np.zeros((0, 5)),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.arange(10)[::2],
        np.arange(4, dtype=">f8"),
        np.array([True, False]),
        np.arange(3, dtype=np.uint8),
        np.array([np.inf, -0.0, np.nan]),
    ],
    ids=lambda array: f"{array.dtype.str}{array.shape}",
)
def test_arrays_come_back_as_they_were(array):
    (back,) = unpack(pack({"a": array})).values()
    assert back.shape == array.shape
    np.testing.assert_array_equal(back, array)


@pytest.mark.parametrize("array", [
    np.array(["a"]), np.array([{}]), np.array([b"x"]), np.zeros(1, complex),
    np.zeros(1, np.longdouble),
])  # fmt: skip
def test_arrays_that_the_file_does_not_hold_are_refused_by_name(array):
    with pytest.raises(InvalidInput, match="labels: arrays of"):
        pack({"labels": array})


@pytest.mark.parametrize("content", [b"", b"no safetensors", b"\x08" + bytes(7) + b"{}      "[:5]])
def test_what_is_no_file_of_arrays_is_refused(content):
    with pytest.raises(InvalidInput, match="not a safetensors file"):
        unpack(content)


@given(count=st.integers(1, 50), each=st.integers(1, 60), data=st.data())
def test_every_row_has_exactly_one_place(count, each, data):
    chunks = chunks_of(count, each)
    rows = data.draw(st.lists(st.integers(0, count - 1), unique=True))
    places = rows_by_chunk(chunks, rows)
    assert sorted(c.first + place for c, local in places.items() for place in local) == sorted(rows)
    assert all(0 <= place < c.stop - c.first for c, local in places.items() for place in local)


@pytest.mark.parametrize("row", [-1, 20, 10**9])
def test_a_row_that_no_chunk_holds_is_named(row):
    with pytest.raises(InvalidInput, match=f"no chunk holds row {row}"):
        rows_by_chunk(chunks_of(20, 8), [3, row])


def test_a_row_in_a_gap_is_held_by_none():
    first, _, last = chunks_of(24, 8)
    with pytest.raises(InvalidInput, match="no chunk holds row 9"):
        rows_by_chunk([first, last], [9])


def test_chunks_put_together_are_the_arrays():
    parts = list(split("private", {"x": values(), "y": np.arange(40)}, rows=16))
    assert [(part.first, part.stop) for part in parts] == [(0, 16), (16, 32), (32, 40)]
    back = np.concatenate([unpack(part.content)["x"] for part in parts])
    np.testing.assert_array_equal(back, values())


def test_arrays_of_different_lengths_are_refused():
    with pytest.raises(InvalidInput, match=r"private: arrays with \[3, 4\] rows"):
        list(split("private", {"x": np.zeros(3), "y": np.zeros(4)}))


def test_erasing_zeroes_the_named_rows_and_no_other():
    content = pack({"x": values(), "y": np.arange(1, 41)})
    file = File.of("chunk-0123456789abcdef-0.safetensors", content)
    chunk = Chunk(table="private", first=0, stop=40, file=file)
    back = unpack(zero_rows(content, chunk, [3, 39]))
    gone = np.isin(np.arange(40), [3, 39])
    np.testing.assert_array_equal(back["x"], np.where(gone[:, None], 0, values()))
    np.testing.assert_array_equal(back["y"], np.where(gone, 0, np.arange(1, 41)))


def test_only_chunks_that_hold_a_row_are_read_and_written(tmp_path):
    folder = saved_in(tmp_path / "m")
    for path in (folder / "secret").glob("chunk-*-[024].safetensors"):
        path.unlink()  # reading one of these would be noticed
    parts = list(erase_rows(read(folder), "private", [8, 30]))
    assert [isinstance(part, NewChunk) for part in parts] == [False, True, False, True, False]
    assert [part.first for part in parts] == [0, 8, 16, 24, 32]


def test_a_chunk_of_another_form_is_erased_as_its_owner_says(tmp_path):
    folder = saved_in(tmp_path / "m")
    asked = []

    def erase(content, chunk, places):
        assert chunk.first == 8
        asked.append(places)
        return b"what is left"

    parts = list(erase_rows(read(folder), "private", [9, 10], erase))
    assert asked == [[1, 2]]
    assert parts[1].content == b"what is left"
