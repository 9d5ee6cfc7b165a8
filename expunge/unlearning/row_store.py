"""Where the values of the records lie, once for all states of a fit: what is erased is gone.

with rows.erasing(gone, kept): ...      zeroes them, if what follows succeeds
"""

import copy
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Self

from torch import Tensor

from expunge.core.stored_rows import what_to_put_back
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
        self.columns: tuple[Any, ...] = tuple(columns)
        self.first, self.erasures = first, erasures
        self.busy = threading.RLock()  # one request at a time

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return type(self)(copy.deepcopy(self.columns, memo), self.first, self.erasures)

    @contextmanager
    def erasing(self, rows: Sequence[int], kept: Sequence[Tensor]) -> Iterator[None]:
        """Zero these rows of the roster; if what follows fails, they are as they were.

        Args:
            kept: Other tensors with a row for each record of the roster.
        """
        own = [row - self.first for row in rows]
        places = [*((column, own) for column in self.columns), *((part, rows) for part in kept)]
        before = [what_to_put_back(column, place) for column, place in places]
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
