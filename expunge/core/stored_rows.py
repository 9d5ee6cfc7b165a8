"""Rows that lie in chunks on disk, read when they are asked for, and indexed like a tensor.

    rows[places]        gathers these rows, from the chunks that hold them and from no other
    rows[start:stop]    a stretch; a pass takes one after another, so memory holds a few chunks
    lengthened(...)     the columns with further rows, in memory until they too are on disk

Whoever makes a table says how a chunk is read; that is also where its digest and its bounds are
checked. Chunks stay in memory, the first that were read, up to so many bytes; of the others two
do, which a stretch may lie across. Keeping more of the latest would serve nobody: a pass comes back
to a chunk when it has read all. A copy in another process reads the chunks for itself.
"""

import bisect
import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from expunge.core.sparse_rows import SparseRows, join_rows

__all__ = ["KEPT", "StoredColumn", "StoredRows", "lengthened", "what_to_put_back"]

KEPT = 256 << 20  # bytes that grow with the rows in memory, unless told otherwise
MASKS = 2  # bytes a row: which rows are present
LATEST = 2  # chunks
Columns = Mapping[str, Any]  # tensors, or sparse rows
Index = Any  # what a tensor takes: a slice, places, a mask


@dataclass
class _Known:
    """What memory holds of a table, and of those that it was lengthened from.

    Args:
        blank: Rows that are erased in memory and not yet on disk; they read as zeros.
        size: How many bytes the chunks that stay are.
        latest: The chunks that were read last, where they do not stay.
    """

    blank: set[int]
    chunks: dict[int, Columns] = field(default_factory=dict)
    size: int = 0
    latest: dict[int, Columns] = field(default_factory=dict)


class StoredRows:
    """A table of columns whose chunks lie on disk.

    Args:
        bounds: First row of each chunk and the row after its last, without gaps, from 0 on.
        read: The columns of the chunk of this number.
        kept: How many bytes of what grows with the rows stay in memory: masks, then as much as
            a quarter for what passes know of each row (`room`), then chunks, beside the latest two.
        blank: Rows that are erased in memory and not yet on disk; they read as zeros.
    """

    def __init__(
        self,
        bounds: Sequence[tuple[int, int]],
        read: Callable[[int], Columns],
        *,
        device: str = "cpu",
        kept: int = KEPT,
        blank: Iterable[int] = (),
    ) -> None:
        starts = [first for first, _ in bounds]
        if not bounds or starts != [0, *(stop for _, stop in bounds[:-1])]:
            raise ValueError("chunks of rows have gaps, or there are none")
        self.starts, self.rows = starts, bounds[-1][1]
        self.read, self._bounds, self.kept = read, tuple(bounds), kept
        self.device = torch.device(device)
        self._known = _Known(set(map(int, blank)))

    @property
    def room(self) -> int:
        """How many bytes a pass may keep of what it computed, for the next one."""
        return max(0, self.kept - MASKS * self.rows) // 4

    @property
    def _room_for_chunks(self) -> int:
        return max(0, self.kept - MASKS * self.rows - self.room)

    def __getstate__(self) -> dict[str, Any]:
        """What another process reads the chunks with, and none of those on disk."""
        held = {"_known": _Known(self._known.blank), "device": torch.device("cpu")}
        return vars(self) | held

    def longer(self, columns: Columns) -> "StoredRows":
        """The table with further rows at the end, in memory until they are read from disk.

        What either table erases is erased in both.
        """
        (count,) = {len(values) for values in columns.values()}
        reader = _WithRows(self.read, len(self._bounds), columns)
        table = StoredRows(
            (*self._bounds, (self.rows, self.rows + count)),
            reader,
            device=str(self.device),
            kept=self.kept,
        )
        table._known = self._known
        return table

    @property
    def source(self) -> Callable[[int], Columns]:
        """What reads the chunks that are on disk."""
        reader = self.read
        while isinstance(reader, _WithRows):
            reader = reader.read
        return reader

    def reread(self, bounds: Sequence[tuple[int, int]], read: Callable[[int], Columns]) -> None:
        """Read the same rows from other chunks from now on."""
        if tuple(bounds) != self._bounds:
            assert bounds[-1][1] == self.rows
            self._bounds, self.starts = tuple(bounds), [first for first, _ in bounds]
            self._known = _Known(self._known.blank)
        self.read = read

    def overwrite_erased(self) -> None:
        """Overwrite rows that are erased where memory holds their values and no file does."""
        if isinstance(self.read, _WithRows):
            self.read.overwrite(self._bounds, self._known.blank)

    def __deepcopy__(self, memo: dict[int, Any]) -> "StoredRows":
        """A table of the same files, with erasures of its own."""
        return StoredRows(
            self._bounds,
            copy.deepcopy(self.read, memo),
            device=str(self.device),
            kept=self.kept,
            blank=self._known.blank,
        )

    def column(self, name: str) -> "StoredColumn":
        """A column of the table; its first chunk tells the type and the width."""
        first = self.chunk(0)[name]
        return StoredColumn(self, name, first.dtype, tuple(first.shape[1:]))

    def chunk(self, number: int) -> Columns:
        """The columns of a chunk, erased rows zero."""
        known = self._known
        if number in known.chunks:
            return known.chunks[number]
        if number in known.latest:
            return known.latest[number]
        first, stop = self._bounds[number]
        columns = self.read(number)
        if any(len(values) != stop - first for values in columns.values()):
            raise ValueError(f"a chunk does not hold the rows {first} to {stop - 1}")
        gone = [row - first for row in known.blank if first <= row < stop]
        if gone:
            columns = {name: _blanked(values, gone) for name, values in columns.items()}
        size = sum(values.nbytes for values in columns.values())
        if known.size + size <= self._room_for_chunks:
            known.chunks[number] = columns
            known.size += size
        else:
            if len(known.latest) == LATEST:
                del known.latest[next(iter(known.latest))]
            known.latest[number] = columns
        return columns

    def check(self) -> None:
        """Read every chunk, so that whoever reads them checks them."""
        for number in range(len(self.starts)):
            self.read(number)

    def stretch(self, name: str, start: int, stop: int) -> Any:
        """The rows from `start` to `stop - 1` of a column."""
        if start >= stop:
            return self._none_of(name)
        parts = []
        for number in range(self._holder(start), len(self.starts)):
            first, _ = self._bounds[number]
            if first >= stop:
                break
            parts.append(self.chunk(number)[name][max(0, start - first) : stop - first])
        return (parts[0] if len(parts) == 1 else join_rows(parts)).to(self.device)

    def gathered(self, name: str, places: np.ndarray) -> Any:
        """The rows at these places of a column, each chunk read once."""
        if not len(places):
            return self._none_of(name)
        if places.min() < 0 or places.max() >= self.rows:
            raise IndexError(f"no row {places.max()} of {self.rows}")
        numbers = np.searchsorted(self.starts, places, side="right") - 1
        made: Any = None
        for number in np.unique(numbers).tolist():
            at = (numbers == number).nonzero()[0]
            rows = self.chunk(number)[name][torch.from_numpy(places[at] - self.starts[number])]
            if len(at) == len(places):
                return rows.to(self.device)
            if made is None and isinstance(rows, SparseRows):
                return self._gathered_sparse(name, places, numbers)
            if made is None:
                made = rows.new_empty(len(places), *rows.shape[1:])
            made[torch.from_numpy(at)] = rows
        assert made is not None
        return made.to(self.device)

    def _gathered_sparse(self, name: str, places: np.ndarray, holders: np.ndarray) -> SparseRows:
        """The same of sparse rows: chunk after chunk, then in the order that was asked for."""
        parts, order = [], []
        for number in np.unique(holders).tolist():
            at = (holders == number).nonzero()[0]
            parts.append(self.chunk(number)[name][places[at] - self.starts[number]])
            order.append(at)
        return join_rows(parts)[np.argsort(np.concatenate(order))]

    def erase(self, places: np.ndarray, erased: bool) -> None:
        """From now on these rows read as zeros, or as what is on disk again."""
        known = self._known
        change = known.blank.update if erased else known.blank.difference_update
        change(places.tolist())
        for number in np.unique(np.searchsorted(self.starts, places, side="right") - 1).tolist():
            gone = known.chunks.pop(number, {})
            known.size -= sum(each.nbytes for each in gone.values())
        known.latest.clear()

    def _none_of(self, name: str) -> Any:
        return self.chunk(0)[name][:0].to(self.device)

    def _holder(self, row: int) -> int:
        """The number of the chunk that holds a row."""
        return max(0, bisect.bisect_right(self.starts, row) - 1)


class _WithRows:
    """Reads the chunks of a table, and after them one that lies in memory."""

    def __init__(self, read: Callable[[int], Columns], number: int, rows: Columns) -> None:
        self.read, self.number, self.rows = read, number, rows

    def __call__(self, number: int) -> Columns:
        return self.rows if number == self.number else self.read(number)

    def overwrite(self, bounds: Sequence[tuple[int, int]], blank: Iterable[int]) -> None:
        """Zero these rows of the table where they lie in memory."""
        first, stop = bounds[self.number]
        gone = [row - first for row in blank if first <= row < stop]
        for values in self.rows.values():
            values[gone] = 0
        if isinstance(self.read, _WithRows):
            self.read.overwrite(bounds, blank)


class StoredColumn:
    """A column of a table on disk, indexed like a tensor that has a row for each record."""

    def __init__(
        self, table: StoredRows, name: str, dtype: torch.dtype, width: tuple[int, ...]
    ) -> None:
        self.table, self.name, self.dtype = table, name, dtype
        self.shape = torch.Size((table.rows, *width))

    @property
    def device(self) -> torch.device:
        return self.table.device

    def __len__(self) -> int:
        return self.table.rows

    def __getitem__(self, index: Index) -> Any:
        """These rows, in memory."""
        if isinstance(index, slice) and index.step in (None, 1):
            start, stop, _ = index.indices(len(self))
            return self.table.stretch(self.name, start, max(start, stop))
        return self.table.gathered(self.name, self._places(index))

    def __setitem__(self, index: Index, value: object) -> None:
        """Erase rows with 0; or, if an erasure is taken back, give their own values again."""
        self.table.erase(self._places(index), erased=not isinstance(value, Tensor))

    def index_select(self, dimension: int, places: Tensor) -> Any:
        """The rows at these places, as of a tensor."""
        assert dimension == 0
        return self[places]

    def _places(self, index: Index) -> np.ndarray:
        places = np.asarray(index.cpu() if isinstance(index, Tensor) else index)
        if places.dtype == bool:
            return places.nonzero()[0]
        return places.astype(np.int64)


def lengthened(columns: Sequence[StoredColumn], more: Sequence[Any]) -> tuple[StoredColumn, ...]:
    """The columns of a table with further rows at the end; those given stay as they are."""
    (table,) = {column.table for column in columns}
    known = zip(columns, more, strict=True)
    longer = table.longer({column.name: rows.to(column.dtype) for column, rows in known})
    return tuple(
        StoredColumn(longer, column.name, column.dtype, tuple(column.shape[1:]))
        for column in columns
    )


def what_to_put_back(column: Any, rows: Sequence[int]) -> Any:
    """What these rows hold, to undo an erasure with; a column on disk reads them there again."""
    return torch.empty(0) if isinstance(column, StoredColumn) else column[rows].clone()


def _blanked(values: Any, rows: list[int]) -> Any:
    blanked = values.clone()
    blanked[rows] = 0
    return blanked
