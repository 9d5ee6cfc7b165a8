"""The values of a linear model's records, in memory or on disk, which further rows can join.

with rows.adding(columns) as longer:    further rows join them, if what follows succeeds
with rows.exchanging(gone, columns) as (longer, erase): ...   others leave, in the same request
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any
from weakref import ReferenceType, ref

from torch import Tensor

from expunge.core.growing import room_for
from expunge.core.stored_rows import StoredColumn, lengthened, what_to_put_back
from expunge.unlearning.row_store import RowStore

__all__ = ["GrowingRows"]


class GrowingRows(RowStore):
    """Values of the records, a row for each, and room for more."""

    def __init__(self, columns: Sequence[Any], first: int = 0, erasures: int = 0) -> None:
        super().__init__(columns, first, erasures)
        # Of each column, what it was before rows joined, as far as states of then are alive.
        self._shorter: list[list[ReferenceType[Any]]] = [[] for _ in self.columns]
        self._room: list[Any] = [room_for(column) for column in self.columns]

    @contextmanager
    def erasing(self, rows: Sequence[int], kept: Sequence[Tensor]) -> Iterator[None]:
        """As of values that never grow; then nothing of them stays in memory either."""
        with super().erasing(rows, kept):
            yield
        self._overwrite()

    @contextmanager
    def adding(self, columns: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
        """The values with further rows at the end; they are the values, if what follows succeeds.

        Time is taken in proportion to the further rows, but for the few times that more memory is
        needed. Then earlier states see the new memory afterwards, and what was in the old one is
        overwritten: what a later request erases stays in none.

        Args:
            columns: Further rows, as columns like those here.
        """
        if self._stored:
            with self._adding_on_disk(columns) as longer:
                yield longer
            return
        shorter, erasures, room = self.columns, self.erasures, self._room
        memory = [column.detach() for column in shorter]
        grown: list[tuple[Any, Any]] = []
        try:
            for own, column, more in zip(room, memory, columns, strict=True):
                grown.append(own.longer(column, more))
            longer = tuple(column for _, column in grown)
            yield longer
            self._room = [own for own, _ in grown]
            self.columns, self.erasures = longer, erasures + 1
            self._move(shorter, longer)
            for before, whole in zip(memory, longer, strict=True):
                if isinstance(before, Tensor) and before.data_ptr() != whole.data_ptr():
                    before.zero_()
            for earlier, column in zip(self._shorter, shorter, strict=True):
                earlier[:] = [*(each for each in earlier if each() is not None), ref(column)]
        except BaseException:  # an interrupt at any place too
            self.columns, self.erasures, self._room = shorter, erasures, room
            for own, before, (new, whole) in zip(room, memory, grown, strict=False):
                if new is not own:
                    before.copy_(whole[: len(before)])
            for own, before in zip(room, memory, strict=True):
                own.shorten(len(before))
            self._move(shorter, memory)
            raise

    @contextmanager
    def _adding_on_disk(self, columns: Sequence[Any]) -> Iterator[tuple[StoredColumn, ...]]:
        """The same of rows on disk, which are the same for all states."""
        shorter, erasures = self.columns, self.erasures
        try:
            longer = lengthened(self._stored, columns)
            yield longer
            self.columns, self.erasures = longer, erasures + 1
        except BaseException:
            self.columns, self.erasures = shorter, erasures
            raise

    @contextmanager
    def exchanging(
        self, rows: Sequence[int], columns: Sequence[Any]
    ) -> Iterator[tuple[tuple[Any, ...], Callable[[Sequence[Tensor]], None]]]:
        """As `adding`, and what zeroes these rows: in the values, and in other tensors like them.

        If what follows fails, nothing has joined, and the values are as they were.
        """
        own, shorter = [row - self.first for row in rows], self.columns
        before = [what_to_put_back(column, own) for column in shorter]

        def erase(longer: Sequence[Any], kept: Sequence[Tensor]) -> None:
            for column in (*shorter, *longer):
                column[own] = 0
            for part in kept:
                part[rows] = 0

        try:
            with self.adding(columns) as longer:
                yield longer, partial(erase, longer)
        except BaseException:
            for column, values in zip(shorter, before, strict=True):
                column[own] = values
            raise
        self._overwrite()

    def _overwrite(self) -> None:
        """Overwrite what was erased where memory holds it and no file does."""
        for column in self._stored[:1]:
            column.table.overwrite_erased()

    @property
    def _stored(self) -> tuple[StoredColumn, ...]:
        """The columns, where they are on disk."""
        return tuple(column for column in self.columns if isinstance(column, StoredColumn))

    def _move(self, columns: Sequence[Any], where: Sequence[Any]) -> None:
        """Lay these values, and those of all states before, into this memory."""
        for earlier, column, whole in zip(self._shorter, columns, where, strict=True):
            if not isinstance(column, Tensor):
                continue  # sparse rows stay where they are
            alive = (each for each in (reference() for reference in earlier) if each is not None)
            for each in (*alive, column):
                each.data = whole[: len(each)]
