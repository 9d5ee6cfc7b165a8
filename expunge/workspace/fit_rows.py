"""The rows of a fit: encoded, bounded and written chunk by chunk, whatever their number.

    public rows    first, in chunks of their own
    private rows   block by block, encoded and as given

Their ids go into the ledger with their rows' numbers. What does not fill a chunk waits for the next
block, so chunks are as long as they should be, however many files there are.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch

from expunge.core.rows import bounded_values
from expunge.core.sparse_rows import join_rows
from expunge.core.stored_rows import StoredRows
from expunge.errors import InvalidInput
from expunge.ledger import Ledger
from expunge.store import Chunk
from expunge.store.writing import Writer
from expunge.unlearning.linear import saved_rows
from expunge.unlearning.linear.chunk_columns import chunk_of
from expunge.unlearning.linear.saved_rows import ROWS, ChunkReader
from expunge.workspace.private_block import PrivateBlock, PrivateRules
from expunge.workspace.private_values import Unread
from expunge.workspace.record_chunks import record_chunks

__all__ = ["FitRows"]

Progress = Callable[[str], None]


@dataclass
class FitRows:
    """Writes the rows of a fit, and gives them to whoever learns.

    Args:
        rules: How private tables are read.
        bound: What norms are bounded to.
        first: The row of the first record in the ledger.
        admit: Takes out of a block who may not be in it.
    """

    writer: Writer
    ledger: Ledger
    rules: PrivateRules
    bound: float
    rows: int = 0
    private: int = 0
    read: int = 0  # rows of the private table, whoever is admitted
    first: int = 0
    admit: Callable[[PrivateBlock], PrivateBlock] = lambda block: block
    chunks: list[Chunk] = field(default_factory=list)
    unread: Unread = field(default_factory=Unread)
    _rows: list[tuple[Any, torch.Tensor]] = field(default_factory=list)  # that wait
    _records: list[pa.Table] = field(default_factory=list)
    _recorded: int = 0  # the row of the first record that waits

    def write_public(self, ids: Iterable[str], rows: Any, labels: np.ndarray) -> None:
        """Write the public rows, which are encoded; they come first."""
        with self.ledger.writing() as entries:
            entries.add_records(ids, "public", first=self.first)
        self._write(rows, labels)
        self._recorded = self.rows

    def write_private(
        self, blocks: Iterable[tuple[Path, pa.Table]], public: Mapping[str, int], said: Progress
    ) -> None:
        """Write the private records, block by block.

        Args:
            public: Ids of public records, which may not be among them.
            said: Told how far it is.

        Raises:
            InvalidInput: a block that cannot be read, or an id that was there before; it is named.
        """
        began = time.monotonic()
        for path, table in blocks:
            self.write_block(path, table, public)
            rate = self.private / max(1e-9, time.monotonic() - began)
            said(f"encoding: {self.private:,} rows, {rate:,.0f} a second")
        self._write_records(last=True)
        self._write_rows(last=True)

    @property
    def waiting(self) -> int:
        """How many rows wait for a chunk to be full."""
        return sum(len(rows) for rows, _ in self._rows)

    def write_block(self, path: Path, table: pa.Table, public: Mapping[str, int]) -> None:
        """Write a block of private records; what does not fill a chunk waits.

        Raises:
            InvalidInput: as `write_private`.
        """
        block = self.rules.read(path, table, self.unread, 1 + self.read)
        self.read += len(block.ids)
        block = self.admit(block)
        if not block.ids:
            return
        table = block.table
        for id_ in block.ids:
            if id_ in public:
                raise InvalidInput(str(path), f"id {id_!r} is in the public table as well")
        try:
            with self.ledger.writing() as entries:
                entries.add_records(block.ids, "private", first=self.first)
        except InvalidInput as error:
            raise InvalidInput(str(path), f"id {error.problem}") from error
        if self._records and not table.schema.equals(self._records[0].schema):
            self._write_records(last=True)
        self._records.append(table)
        self._write_records()
        self._write(block.rows, block.labels)
        self.private += len(block.ids)

    def _write_records(self, *, last: bool = False) -> None:
        """Write records that wait, as given: full chunks, and at last the rest of them."""
        count = sum(table.num_rows for table in self._records)
        full = count if last else count - count % saved_rows.CHUNK_ROWS
        if full:
            table = pa.concat_tables(self._records)
            for chunk in record_chunks(table.slice(0, full), self._recorded):
                self.chunks.append(self.writer.add(chunk))
            self._recorded += full
            self._records = [table.slice(full)] if full < count else []

    def _write(self, rows: Any, labels: np.ndarray) -> None:
        """Write encoded rows as chunks, bounded, with their labels as numbers."""
        targets = torch.from_numpy(self.targets_of(labels))
        self._rows.append((bounded_values(rows, self.bound), targets))
        self.rows += rows.shape[0]
        self._write_rows()

    def targets_of(self, labels: np.ndarray) -> np.ndarray:
        """Labels as numbers, targets as they are."""
        if self.rules.known is None:
            return labels.astype(np.float64)
        return np.searchsorted(self.rules.known, labels).astype(np.int64)

    def _write_rows(self, *, last: bool = False) -> None:
        """Write rows that wait: full chunks, and at last the rest of them."""
        count = self.waiting
        full = count if last else count - count % saved_rows.CHUNK_ROWS
        if full:
            features, targets = map(join_rows, zip(*self._rows, strict=True))
            for start, stop in saved_rows.bounds_of(0, full):
                columns = {"features": features[start:stop], "targets": targets[start:stop]}
                chunk = chunk_of(columns, self.rows - count + start)
                self.chunks.append(self.writer.add(chunk))
            self._rows = [(features[full:].clone(), targets[full:].clone())] if full < count else []

    def stored(self, kept: int) -> StoredRows:
        """The rows as they lie there.

        Args:
            kept: How many bytes of them stay in memory.
        """
        chunks = [chunk for chunk in self.chunks if chunk.table == ROWS]
        bounds = [(chunk.first, chunk.stop) for chunk in chunks]
        return StoredRows(bounds, ChunkReader(self.writer.folder, chunks, None), kept=kept)
