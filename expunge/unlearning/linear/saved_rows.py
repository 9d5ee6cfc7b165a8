"""The rows of a saved linear model: read all at once, or chunk by chunk when they are asked for.

    rows    features and targets, in chunks
    steps   preprocessing, where there is any: one chunk, written at the first save

A request rewrites the chunks that hold its records. Every chunk is held against its digest and
against the constants that certificates rest on when it is read for the first time.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from expunge.core.rows import row_norms
from expunge.core.sparse_rows import join_rows
from expunge.core.stored_rows import StoredColumn, StoredRows
from expunge.errors import Altered, InvalidInput
from expunge.features.frozen_steps import FrozenSteps
from expunge.features.saved_steps import steps_from, steps_to_bytes
from expunge.losses.objective import Rows, Targets
from expunge.store import Chunk, NewChunk, Saved, erase_rows, read
from expunge.store.layout import SECRET
from expunge.unlearning.linear.chunk_columns import chunk_of, columns_in, zero_rows
from expunge.unlearning.linear.linear_fitted import LinearFitted
from expunge.unlearning.linear.linear_head import LinearHead

__all__ = [
    "CHUNK_ROWS",
    "ROWS",
    "STEPS",
    "ChunkReader",
    "bounds_of",
    "columns_of",
    "follow",
    "kept_chunks",
    "room_after",
    "saved_steps",
]

ROWS = "rows"  # the table of features and targets
STEPS = "steps"  # the table of preprocessing, of one row
COLUMNS = ("features", "targets")
CHUNK_ROWS = 8192  # `python -m benchmarks workspace` says why


class ChunkReader:
    """Reads chunks of rows by number, each checked when it is first read.

    Args:
        folder: The saved model's, or of one that is just being laid down; machines of a cluster
            find it under the same path.
        head: What the rows must fit; None where they were just made.
    """

    def __init__(self, folder: Path, chunks: Sequence[Chunk], head: LinearHead | None) -> None:
        self.folder, self.chunks, self.head = folder.absolute(), chunks, head
        self._known: set[str] = set()  # files that were held against their digests

    def __getstate__(self) -> dict[str, Any]:
        """What another process reads the chunks with, which has checked none."""
        return vars(self) | {"_known": set()}

    def __call__(self, number: int) -> dict[str, Any]:
        """The columns of this chunk.

        Raises:
            Altered: it is not what was written, or not what certificates rest on; it is named.
        """
        chunk = self.chunks[number]
        path = self.folder / SECRET / chunk.file.name
        if chunk.file.name in self._known:
            return columns_in(path.read_bytes())
        rows = columns_in(chunk.file.read(path))
        problem = None if self.head is None else _problem(rows, self.head)
        if problem is not None:
            raise Altered(str(path), problem)
        self._known.add(chunk.file.name)
        return rows


def _problem(rows: dict[str, Any], head: LinearHead) -> str | None:
    """Rows above the bound, or targets that the loss does not know."""
    norms = row_norms(rows["features"])
    targets = rows["targets"].numpy()
    if not (norms <= head.loss.row_norm).all():
        return f"holds rows of norm above {head.loss.row_norm:g}, the bound that is certified"
    if not np.isfinite(targets).all():
        return "holds targets that are not finite"
    if head.classes is not None and not np.isin(targets, np.arange(len(head.classes))).all():
        return f"holds labels other than the {len(head.classes)} that are known"
    return None


def columns_of(
    saved: Saved, head: LinearHead, records: int, *, device: str, on_disk: bool
) -> tuple[Rows, Targets]:
    """Features and targets of a saved model.

    Args:
        on_disk: Leave them there, and read a chunk when its rows are asked for.

    Raises:
        Altered: a chunk is not as it was written.
        ValueError: there are not as many rows as records.
    """
    reader = ChunkReader(saved.folder, saved.chunks(ROWS), head)
    bounds = [(chunk.first, chunk.stop) for chunk in reader.chunks]
    table = StoredRows(bounds, reader, device=device)
    if table.rows != records:
        raise ValueError(f"{table.rows} rows for {records} records")
    if on_disk:
        features, targets = (table.column(name) for name in COLUMNS)
        return features, targets
    parts = [reader(number) for number in range(len(bounds))]
    features, targets = (join_rows([part[name] for part in parts]).to(device) for name in COLUMNS)
    return features, targets


def bounds_of(first: int, stop: int, rows: int | None = None) -> Iterator[tuple[int, int]]:
    """First row of each chunk and the row after its last."""
    rows = CHUNK_ROWS if rows is None else rows
    for begin in range(first, stop, rows):
        yield begin, min(begin + rows, stop)


def kept_chunks(fitted: LinearFitted, folder: Path) -> Iterator[Chunk | NewChunk]:
    """The rows for the next generation: of those that the folder holds, only chunks that change.

    What stays is not read: the index keeps its digest, against which every reader holds it. Rows
    that joined since fill the last chunk, then others.
    """
    job, before, there = fitted.job, _state_before(fitted, folder), 0
    roster = job.roster
    if before is not None:
        known = len(before.index.lineage.issued)
        there = roster.sizes[known]
        if roster.records > there:
            there = room_after(before.chunks(ROWS))
        left = [int(row) for rows in roster.departures[known:] for row in rows if row < there]
        kept = erase_rows(before, ROWS, left, zero_rows)
        yield from (chunk for chunk in kept if chunk.stop <= there)
        yield from before.chunks(STEPS)
    elif fitted.preprocessing is not None:
        yield NewChunk(STEPS, 0, 1, steps_to_bytes(fitted.preprocessing), "skops")
    for first, stop in bounds_of(there, roster.records):
        columns = {name: getattr(job, name)[first:stop] for name in COLUMNS}
        yield chunk_of(columns, first)


def room_after(chunks: Sequence[Chunk]) -> int:
    """The first row of what is to be written where rows join a table: of a chunk that has room."""
    last = chunks[-1]
    return last.first if last.stop - last.first < CHUNK_ROWS else last.stop


def saved_steps(saved: Saved) -> FrozenSteps | None:
    """The preprocessing of a folder; None if it has none."""
    chunks = saved.chunks(STEPS)
    return steps_from(saved.rows(chunks[0])) if chunks else None


def _state_before(fitted: LinearFitted, folder: Path) -> Saved | None:
    """An earlier state of the same fit, if the folder holds one with all its chunks."""
    try:
        before = read(folder)
        if before.index.lineage.fit != fitted.lineage:
            return None
        if not all(before.has(chunk) for table in (ROWS, STEPS) for chunk in before.chunks(table)):
            return None  # all of them are written anew from memory
    except InvalidInput:
        return None  # nothing is there, or the writer will say what is wrong with it
    return before


def follow(fitted: LinearFitted, folder: Path) -> None:
    """Let rows that are read from this folder come from its current generation."""
    features = fitted.job.features
    if not isinstance(features, StoredColumn):
        return
    reader = features.table.source
    if isinstance(reader, ChunkReader) and reader.folder.resolve() == folder.resolve():
        chunks = read(folder).chunks(ROWS)
        bounds = [(chunk.first, chunk.stop) for chunk in chunks]
        features.table.reread(bounds, ChunkReader(folder, chunks, reader.head))
