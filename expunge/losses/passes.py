"""A pass over the rows that are present: cut into stretches, each a sum that is made in one place.

    stretch     so many present rows, by their places in the table
    part        a few stretches, computed by one task of an engine (`core.part_engine`)
    chunk       rows that are float64 at a time

A stretch's sum is added up chunk by chunk, and whoever makes a pass adds up stretches in their
order: so the sum has the same bits wherever its parts were computed, and memory is one stretch's
rows. Stretches are as long as chunks on disk (`unlearning.linear.saved_rows`), so that a pass over
a table of which nothing has left reads each file once.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from torch import Tensor

from expunge.core.row_products import add_pull, add_whole_products, products
from expunge.core.sparse_rows import SparseRows
from expunge.core.stored_rows import StoredColumn
from expunge.losses.linear import LinearLoss

__all__ = ["CHUNK", "STRETCH", "GradientAt", "GramOf", "HessianAlong", "PresentRows", "RowStretch"]

Rows = Tensor | SparseRows | StoredColumn
Targets = Tensor | StoredColumn

CHUNK = 512
STRETCH = 8192  # present rows; a whole number of chunks
BLOCK = 1 << 16  # of a mask, that is looked at at a time


class RowStretch(NamedTuple):
    """Places of a table, from `first` to `stop - 1`; those present among them are summed."""

    first: int
    stop: int


@dataclass(frozen=True, eq=False, repr=False)
class PresentRows:
    """The rows of a table that are present, in stretches.

    Args:
        keep: (rows,) which of them are; all if None.
    """

    features: Rows
    targets: Targets
    keep: Tensor | None = None

    def stretches(self) -> list[RowStretch]:
        """The stretches, each of as many present rows but for the last."""
        if self.keep is None:
            cuts = list(range(0, len(self.features), STRETCH))
        else:
            cuts = list(_cuts(self.keep))
        ends = [*cuts[1:], len(self.features)][: len(cuts)]
        return [RowStretch(*each) for each in zip(cuts, ends, strict=True)]

    def rows(self, stretch: RowStretch) -> tuple[Any, Tensor]:
        """The rows present in a stretch, as they are stored, and their targets."""
        first, stop = stretch
        if self.keep is not None:
            places = self.keep[first:stop].nonzero()[:, 0].add_(first).to(self.features.device)
            if len(places) < stop - first:
                return self.features.index_select(0, places), self.targets.index_select(0, places)
        return self.features[first:stop], self.targets[first:stop]

    def chunks(self, stretch: RowStretch) -> Iterator[tuple[Any, Tensor]]:
        """The rows of a stretch, a chunk at a time.

        Chunks are filled with present rows, so every sum is bit for bit that of a data set in
        which the absent rows never were.
        """
        features, targets = self.rows(stretch)
        for start in range(0, len(targets), CHUNK):
            yield features[start : start + CHUNK], targets[start : start + CHUNK]


def _cuts(keep: Tensor) -> Iterator[int]:
    """The places of the first present row, of the one a stretch after it, and so on."""
    seen = 0
    for start in range(0, len(keep), BLOCK):
        places = keep[start : start + BLOCK].nonzero()[:, 0]
        yield from (start + places[-seen % STRETCH :: STRETCH]).tolist()
        seen += len(places)


class Summed(NamedTuple):
    """A stretch's share of the gradient, and of the value where that is asked for."""

    gradient: Tensor  # (outputs, features) float64
    value: Tensor | None = None


@dataclass(frozen=True)
class GradientAt:
    """The sums of the rows' gradients at a point, and of their losses if they are asked for."""

    loss: LinearLoss
    theta: Tensor
    valued: bool = False

    def __call__(self, table: PresentRows, part: tuple[RowStretch, ...]) -> list[Summed]:
        """The sums of each stretch."""
        return [self._sum(table, stretch) for stretch in part]

    def _sum(self, table: PresentRows, stretch: RowStretch) -> Summed:
        total, value = torch.zeros_like(self.theta), self.theta.new_zeros(())
        for stored, targets in table.chunks(stretch):
            rows = stored.double()
            scores = products(rows, self.theta)
            if self.valued:
                value += self.loss.value(scores, targets).sum()
            add_pull(total, self.loss.residual(scores, targets), rows)
        return Summed(total, value if self.valued else None)


@dataclass(frozen=True)
class HessianAlong:
    """The sums of the rows' Hessians at a point, times directions; only ever something to try.

    Args:
        theta: In the precision of the products.
        room: How many bytes of scores are kept for the next direction; of other stretches they
            are computed again, to the same bits. None keeps all.
    """

    loss: LinearLoss
    theta: Tensor
    room: int | None = None
    known: dict[RowStretch, list[Tensor]] = field(default_factory=dict, compare=False)

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"known": {}, "room": 0}  # another process has no room of ours

    def along(self, direction: Tensor) -> "_Product":
        """What a pass computes for this direction."""
        return _Product(self, direction)

    def product(self, table: PresentRows, stretch: RowStretch, direction: Tensor) -> Tensor:
        """The sum of a stretch: (outputs, features) float64."""
        total = torch.zeros_like(self.theta, dtype=torch.float64)
        known, scores = self.known.get(stretch), []
        for place, (stored, targets) in enumerate(table.chunks(stretch)):
            rows = stored.to(self.theta.dtype)
            scores.append(products(rows, self.theta) if known is None else known[place])
            moved = self.loss.residual_derivative(scores[-1], products(rows, direction), targets)
            add_pull(total, moved, rows)
        if known is None and len(self.known) < self._most:
            self.known[stretch] = scores
        return total

    @property
    def _most(self) -> float:
        """Of how many stretches scores are kept."""
        one = STRETCH * len(self.theta) * self.theta.itemsize
        return math.inf if self.room is None else self.room // one


@dataclass(frozen=True)
class _Product:
    hessian: HessianAlong
    direction: Tensor

    def __call__(self, table: PresentRows, part: tuple[RowStretch, ...]) -> list[Tensor]:
        return [self.hessian.product(table, stretch, self.direction) for stretch in part]


@dataclass(frozen=True)
class GramOf:
    """The sum of q q' over rows at some places, q = round(x / unit): whole, so in any order.

    Args:
        shape: (features, features), or (features,) for the diagonal alone.
    """

    unit: float
    shape: tuple[int, ...]

    def __call__(self, table: PresentRows, places: Tensor) -> Tensor:
        """The sum, float64."""
        total = torch.zeros(self.shape, dtype=torch.float64, device=places.device)
        for part in places.split(CHUNK):
            add_whole_products(total, table.features[part].double(), self.unit)
        return total
