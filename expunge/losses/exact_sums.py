"""Sums of whole numbers that are exact: the same bits in any order, and what is added comes off.

    value = high 2^32 + low,   0 <= low < 2^32

Both parts are 64-bit whole numbers, so a sum of 2^40 terms below 2^54 does not overflow. Each value
is written in one way only: after adding and subtracting records in any order a sum has, bit for
bit, the parts that it would have if the records that left had never been there (THEORY 6).
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

__all__ = ["ExactSum", "NonZeros", "Running"]

SHIFT = 32
MASK = (1 << SHIFT) - 1
PENDING = 256  # terms below 2^54 that a 64-bit number holds, with room to spare


class NonZeros(NamedTuple):
    """A tensor of whole numbers most of which are zero: the others, each place once.

    Args:
        places: (entries,) int64, of the flattened tensor.
        values: (entries,) int64.
    """

    places: Tensor
    values: Tensor
    shape: tuple[int, ...]

    @classmethod
    def of(cls, matrix: Any) -> "NonZeros":
        """The entries of a SciPy matrix of whole numbers."""
        held = matrix.tocsr()
        held.sum_duplicates()
        held = held.tocoo()
        places = held.row.astype(np.int64) * held.shape[1] + held.col
        values = torch.from_numpy(held.data.astype(np.float64)).long()
        return cls(torch.from_numpy(places), values, tuple(held.shape))

    def neg_(self) -> "NonZeros":
        """Their negatives, in place."""
        self.values.neg_()
        return self

    def add_to(self, total: Tensor) -> None:
        """Add them to a tensor (int64)."""
        total.view(-1)[self.places] += self.values


@dataclass(frozen=True)
class ExactSum:
    """A tensor of whole numbers, each in two parts.

    Args:
        high, low: (...,) int64 each.
    """

    high: Tensor
    low: Tensor

    @classmethod
    def zero(cls, *shape: int) -> "ExactSum":
        return cls(torch.zeros(shape, dtype=torch.int64), torch.zeros(shape, dtype=torch.int64))

    def plus(self, whole: Tensor | NonZeros) -> "ExactSum":
        """The sum with these whole numbers (int64) added, or their negatives to take them off."""
        if isinstance(whole, NonZeros):
            sparse, whole = whole, torch.zeros_like(self.low)
            sparse.add_to(whole)
        low = whole + self.low
        high = (low >> SHIFT).add_(self.high)
        return ExactSum(high, low.bitwise_and_(MASK))

    def joined(self, other: "ExactSum") -> "ExactSum":
        """The sum of both."""
        return ExactSum(self.high + other.high, self.low).plus(other.low)

    def value(self, unit: float) -> Tensor:
        """The sum times a power of two, each number rounded once to float64."""
        return self.high.double().mul_(2.0**SHIFT * unit).add_(self.low.double(), alpha=unit)


class Running:
    """A sum that is being added up, term by term, below 2^54 each."""

    def __init__(self, *shape: int) -> None:
        self._total = ExactSum.zero(*shape)
        self._pending = torch.zeros(shape, dtype=torch.int64)
        self._terms = 0

    def add(self, whole: Tensor | NonZeros) -> None:
        """Add whole numbers below 2^54 (int64)."""
        if isinstance(whole, NonZeros):
            whole.add_to(self._pending)
        else:
            self._pending += whole
        self._terms += 1
        if self._terms == PENDING:
            self._flush()

    def total(self) -> ExactSum:
        """The sum so far."""
        self._flush()
        return self._total

    def _flush(self) -> None:
        self._total = self._total.plus(self._pending)
        self._pending.zero_()
        self._terms = 0
