"""Where the values of the records lie, once for all states of a fit: what is erased is gone.

with rows.erasing(gone, kept): ...      zeroes them, if what follows succeeds
more = rows.longer(columns)             the values with further rows at the end
with rows.adding(more): ...             they are the values, if what follows succeeds
"""

import copy
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from weakref import ReferenceType, ref

import torch
from torch import Tensor

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
        self._shorter: list[list[ReferenceType[Tensor]]] = [[] for _ in self.columns]
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

    def longer(self, columns: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """The values with further rows at the end, of the same kind; nothing here changes."""
        known = zip(self.columns, columns, strict=True)
        return tuple(torch.cat([column, more.to(column)]) for column, more in known)

    @contextmanager
    def adding(self, longer: tuple[Tensor, ...]) -> Iterator[None]:
        """Make these the values; if what follows fails, they are those of before.

        Earlier states see the same memory afterwards, and what was in the old one is overwritten:
        what a later request erases stays in none.

        Args:
            longer: As the method of that name made them.
        """
        shorter, erasures = self.columns, self.erasures
        memory = [column.detach() for column in shorter]
        try:
            self.columns, self.erasures = longer, erasures + 1
            yield
            self._move(shorter, longer)
            for before in memory:
                before.zero_()
        except BaseException:  # an interrupt at any place too
            self.columns, self.erasures = shorter, erasures
            for before, whole in zip(memory, longer, strict=True):
                before.copy_(whole[: len(before)])
            self._move(shorter, memory)
            raise
        for earlier, column in zip(self._shorter, shorter, strict=True):
            earlier[:] = [*(each for each in earlier if each() is not None), ref(column)]

    def _move(self, columns: Sequence[Tensor], where: Sequence[Tensor]) -> None:
        """Lay these values, and those of all states before, into this memory."""
        for earlier, column, whole in zip(self._shorter, columns, where, strict=True):
            alive = (each for each in (reference() for reference in earlier) if each is not None)
            for each in (*alive, column):
                each.data = whole[: len(each)]


def _values(column: Any, rows: Sequence[int]) -> Tensor:
    """What these rows hold; nothing where a column reads them from disk again."""
    return torch.empty(0) if isinstance(column, StoredColumn) else column[rows].clone()
