"""The private records as they were given: Parquet chunks beside the chunks of encoded rows.

A chunk names the rows of the model's tables, so the rows of a request tell which chunks hold its
records; those are written again without them, and no other is read.
"""

import io
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from expunge.store import Chunk, NewChunk, Saved, erase_rows
from expunge.unlearning.linear import saved_rows
from expunge.unlearning.linear.saved_rows import bounds_of, room_after
from expunge.workspace.plain_columns import plain_columns
from expunge.workspace.tables import compute, is_text

__all__ = [
    "RECORDS",
    "chunk_without",
    "record_chunks",
    "records_in",
    "with_more_records",
    "without_records",
]

RECORDS = "records"  # the table of the private records


def record_chunks(table: pa.Table, first: int) -> Iterator[NewChunk]:
    """The records as chunks; the first of them has this row in the model's tables."""
    plain = plain_columns(table)
    for start, stop in bounds_of(first, first + table.num_rows):
        content = _parquet(plain.slice(start - first, stop - start))
        yield NewChunk(RECORDS, start, stop, content, "parquet")


def without_records(
    saved: Saved, ids: Mapping[int, str], column: str
) -> Iterator[Chunk | NewChunk]:
    """The chunks without some records; only those that hold one are read and written.

    Args:
        ids: The id of each of them, by its row in the model's tables.
        column: The one that holds ids.
    """
    return erase_rows(saved, RECORDS, sorted(ids), partial(chunk_without, ids, column))


def with_more_records(
    saved: Saved, ids: Mapping[int, str], column: str, more: pa.Table, first: int
) -> Iterator[Chunk | NewChunk]:
    """The chunks without some records, and with others at the end, which fill the last one first.

    Args:
        ids, column: As for `without_records`.
        more: The records that join.
        first: The row of the first of them.
    """
    before = saved.chunks(RECORDS)
    there, more = room_after(before), plain_columns(more)
    last: NewChunk | None = None
    for chunk in without_records(saved, ids, column):
        if chunk.stop <= there:
            yield chunk
        else:
            content = chunk.content if isinstance(chunk, NewChunk) else saved.rows(chunk)
            last = NewChunk(RECORDS, chunk.first, chunk.stop, content, "parquet")
    known = None if last is None else plain_columns(records_in(last.content))
    if last is not None and known is not None and set(known.column_names) == set(more.column_names):
        more = more.select(known.column_names)
        room = saved_rows.CHUNK_ROWS - (last.stop - last.first)
        if known.schema.equals(more.schema):
            joined = pa.concat_tables([known, more.slice(0, room)])
            stop = last.stop + min(room, more.num_rows)
            last = NewChunk(RECORDS, last.first, stop, _parquet(joined), "parquet")
            more, first = more.slice(room), stop
    if last is not None:
        yield last
    yield from record_chunks(more, first)


def records_in(content: bytes) -> pa.Table:
    """The records of a chunk."""
    return parquet.read_table(pa.BufferReader(content), use_threads=False)


def chunk_without(
    ids: Mapping[int, str], column: str, content: bytes, chunk: Chunk, places: Sequence[int]
) -> bytes:
    """A chunk's file without the records at these places, whose ids are given by row."""
    table = plain_columns(records_in(content))  # an earlier version let some dictionaries pass
    named = pa.array([ids[chunk.first + place] for place in places], pa.string())
    gone = compute.is_in(table[column].cast(pa.string()), value_set=named)
    return _parquet(table.filter(compute.invert(gone)))


def _parquet(table: pa.Table) -> bytes:
    buffer = io.BytesIO()
    texts: Any = [field.name for field in table.schema if is_text(field.type)]
    # A dictionary of numbers, most of which differ, would take most of the time.
    parquet.write_table(table.combine_chunks(), buffer, use_dictionary=texts)
    return buffer.getvalue()
