"""Where the values of the records lie, once for all states of a fit: what is erased is gone.

with rows.erasing(gone, kept): ...      zeroes them, if what follows succeeds
with rows.adding(columns) as longer:    further rows join them, if what follows succeeds
"""

import copy
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from weakref import ReferenceType, ref

import torch
from torch import Tensor

from expunge.core.growing import room_for
from expunge.core.stored_rows import StoredColumn
from expunge.unlearning.secrecy import Secret

__all__ = ["RowStore"]


class RowStore(Secret):
    """Values of the records, a row for each; one store serves all states of a fit.

    Args:
        columns: Tensors, or what is indexed like them, a row for each record.
        first: The row of the roster that their first row is.
        erasures: How many requests have had their rows erased or added here.
    """

    def __init__(self, columns: Sequence[Any], first: int = 0, erasures: int = 0) -> None:
        self.columns, self.first, self.erasures = tuple(columns), first, erasures
        # Of each column, what it was before rows joined, as far as states of then are alive.
        self._shorter: list[list[ReferenceType[Any]]] = [[] for _ in self.columns]
        self._room: list[Any] = [room_for(column) for column in self.columns]
        self.busy = threading.RLock()  # one request at a time

    def __deepcopy__(self, memo: dict[int, Any]) -> "RowStore":
        return RowStore(copy.deepcopy(self.columns, memo), self.first, self.erasures)

    @contextmanager
    def erasing(self, rows: Sequence[int], kept: Sequence[Tensor]) -> Iterator[None]:
        """Zero these rows of the roster; if what follows fails, they are as they were.

        Args:
            kept: Other tensors with a row for each record of the roster.
        """
        own = [row - self.first for row in rows]
        places = [*((column, own) for column in self.columns), *((part, rows) for part in kept)]
        before = [_values(column, place) for column, place in places]
        erasures = self.erasures
        try:
            for column, place in places:
                column[place] = 0
            self.erasures = erasures + 1
            yield
        except BaseException:
            self.erasures = erasures
            for (column, place), values in zip(places, before, strict=True):
                column[place] = values
            raise

    @contextmanager
    def adding(self, columns: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
        """The values with further rows at the end; they are the values, if what follows succeeds.

        Time is taken in proportion to the further rows, but for the few times that more memory is
        needed. Then earlier states see the new memory afterwards, and what was in the old one is
        overwritten: what a later request erases stays in none.

        Args:
            columns: Further rows, as columns like those here.
        """
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

    def _move(self, columns: Sequence[Any], where: Sequence[Any]) -> None:
        """Lay these values, and those of all states before, into this memory."""
        for earlier, column, whole in zip(self._shorter, columns, where, strict=True):
            if not isinstance(column, Tensor):
                continue  # sparse rows stay where they are
            alive = (each for each in (reference() for reference in earlier) if each is not None)
            for each in (*alive, column):
                each.data = whole[: len(each)]


def _values(column: Any, rows: Sequence[int]) -> Any:
    """What these rows hold; nothing where a column reads them from disk again."""
    return torch.empty(0) if isinstance(column, StoredColumn) else column[rows].clone()
