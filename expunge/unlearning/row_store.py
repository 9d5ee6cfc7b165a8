"""Where the values of the records lie, once for all states of a fit: what is erased is gone."""

from collections.abc import Sequence
from typing import Any

from expunge.unlearning.secrecy import Secret

__all__ = ["RowStore"]


class RowStore(Secret):
    """Values of the records, a row for each; one store serves all states of a fit.

    Args:
        columns: Tensors, or what is indexed like them, a row for each record.
        first: The roster's number of their first row.
        erasures: How many requests have had their rows erased here.
    """

    def __init__(self, columns: Sequence[Any], first: int = 0, erasures: int = 0) -> None:
        self.columns, self.first, self.erasures = tuple(columns), first, erasures

    def erase(self, rows: Sequence[int]) -> None:
        """Set these rows of the roster to zero; earlier states refuse from then on."""
        self.erasures += 1
        for column in self.columns:
            column[[row - self.first for row in rows]] = 0
