"""Rows in chunks: which chunk holds which rows, and rewriting only those that a request touches.

A row keeps its number for good. Erasing rows overwrites their values in the chunks that hold them;
every other chunk stays the file that it is.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from expunge.errors import InvalidInput
from expunge.store.index import Chunk
from expunge.store.reading import Saved

__all__ = [
    "ROWS",
    "NewChunk",
    "erase_rows",
    "pack",
    "rows_by_chunk",
    "split",
    "unpack",
    "zero_rows",
]

ROWS = 16_384  # in a chunk, unless told otherwise
Arrays = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class NewChunk:
    """Rows `first` to `stop - 1` of a table, to be written."""

    table: str
    first: int
    stop: int
    content: bytes
    suffix: Literal["safetensors", "parquet", "skops"] = "safetensors"


def pack(arrays: Arrays) -> bytes:
    """Write arrays by name as the bytes of a safetensors file.

    Raises:
        InvalidInput: the file cannot hold an array of that kind; it is named.
    """
    for name, value in arrays.items():
        if value.dtype.kind not in "biuf" or value.dtype.itemsize > 8:
            raise InvalidInput(name, f"arrays of {value.dtype} cannot be saved; real numbers can")
    # `save` would write the memory of a strided array as if it had no strides.
    return save({name: np.asarray(value, order="C") for name, value in arrays.items()})


def unpack(content: bytes) -> dict[str, np.ndarray]:
    """Read the arrays that `pack` was given.

    Raises:
        InvalidInput: the bytes are not such a file.
    """
    try:
        return load(content)
    except (SafetensorError, KeyError) as error:
        raise InvalidInput("input", f"not a safetensors file of numbers ({error})") from error


def split(table: str, arrays: Arrays, *, rows: int = ROWS, offset: int = 0) -> Iterator[NewChunk]:
    """Split arrays with one row for each record into chunks of at most so many rows.

    Args:
        offset: The number of their first row.

    Raises:
        InvalidInput: they have different numbers of rows.
    """
    counts = {len(value) for value in arrays.values()}
    if len(counts) != 1:
        raise InvalidInput(table, f"arrays with {sorted(counts)} rows; each needs one a record")
    (count,) = counts
    for first in range(0, count, rows):
        stop = min(first + rows, count)
        part = {name: value[first:stop] for name, value in arrays.items()}
        yield NewChunk(table, offset + first, offset + stop, pack(part))


def rows_by_chunk(chunks: Sequence[Chunk], rows: Iterable[int]) -> dict[Chunk, list[int]]:
    """The chunks that hold these rows, with the places of the rows in them.

    Raises:
        InvalidInput: no chunk holds a row; it is named.
    """
    starts, places = [chunk.first for chunk in chunks], {}
    for row in rows:
        position = bisect_right(starts, row) - 1
        if position < 0 or row >= chunks[position].stop:
            raise InvalidInput("rows", f"no chunk holds row {row}")
        chunk = chunks[position]
        places.setdefault(chunk, []).append(int(row) - chunk.first)
    return places


def zero_rows(content: bytes, _: Chunk, places: Sequence[int]) -> bytes:
    """A chunk of arrays with these rows zero in every array."""
    arrays: dict[str, Any] = unpack(content)
    for name, value in arrays.items():
        arrays[name] = value.copy()
        arrays[name][list(places)] = 0
    return pack(arrays)


def erase_rows(
    saved: Saved,
    table: str,
    rows: Iterable[int],
    erase: Callable[[bytes, Chunk, Sequence[int]], bytes] = zero_rows,
) -> Iterator[Chunk | NewChunk]:
    """A table's chunks without these rows; only those that hold one are read and written.

    Args:
        erase: Makes a chunk's new content, from its content, its entry in the index and the places
            of the rows in it.

    Raises:
        InvalidInput: no chunk holds a row, or a chunk is not as it was written.
    """
    places = rows_by_chunk(saved.chunks(table), rows)
    for chunk in saved.chunks(table):
        if chunk not in places:
            yield chunk
            continue
        suffix: Any = chunk.file.name.rpartition(".")[2]
        content = erase(saved.rows(chunk), chunk, places[chunk])
        yield NewChunk(table, chunk.first, chunk.stop, content, suffix)
