"""Where the values of the records lie, once for all states of a fit: what is erased is gone."""

from collections.abc import Sequence
from typing import Any

from expunge.unlearning.secrecy import Secret

__all__ = ["RowStore"]


class RowStore(Secret):
    """Values of the records, a row for each; one store serves all states of a fit.

    Args:
        columns: Tensors, or what is indexed like them, a row for each record.
        first: The row of the roster that their first row is.
        erasures: How many requests have had their rows erased here.
    """

    def __init__(self, columns: Sequence[Any], first: int = 0, erasures: int = 0) -> None:
        self.columns, self.first, self.erasures = tuple(columns), first, erasures

    def erase(self, rows: Sequence[int]) -> None:
        """Zero these rows of the roster; states from before cannot go on."""
        self.erasures += 1
        for column in self.columns:
            column[[row - self.first for row in rows]] = 0
