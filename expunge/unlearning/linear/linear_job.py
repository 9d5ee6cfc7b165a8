"""The learning problem of a linear model: rows, and a loss with its enforced constants."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, TypeVar

import torch
from torch import Tensor

from expunge.core.part_engine import HERE, PartEngine
from expunge.core.sparse_rows import SparseRows
from expunge.losses.linear import LinearLoss
from expunge.losses.objective import Objective, Rows, Targets
from expunge.losses.tolerances import Resolution
from expunge.unlearning.job import Job
from expunge.unlearning.roster import Roster

__all__ = ["LinearJob", "attainable"]

Chosen = TypeVar("Chosen")


@dataclass(frozen=True, repr=False, kw_only=True)
class LinearJob(Job):
    """The learning problem of a linear model as it stands: what a strategy is given.

    Args:
        features, targets: All rows, public ones first, in memory or on disk, dense or sparse; rows
            of records that earlier requests forgot are zeroed, those of the last request not yet.
        start: Where descent begins: the origin, or the public records' own minimiser.
        center: What the ridge pulls towards: the origin, or that minimiser.
        intercept: The last feature is the constant that `core.rows` appends.
        divisor: nbar, which the objective divides summed losses by; the records present if None.
        engine: Computes the parts of passes; nothing of a certificate depends on it.
    """

    loss: LinearLoss
    features: Rows
    targets: Targets
    start: Tensor | None = None
    center: Tensor | None = None
    intercept: bool = False
    divisor: float | None = None
    engine: PartEngine = HERE

    def stored_values(self) -> Iterator[Tensor]:
        yield from (point for point in (self.start, self.center) if point is not None)

    @property
    def row_columns(self) -> tuple[Tensor | SparseRows, ...]:
        columns = self.features, self.targets
        return tuple(column for column in columns if isinstance(column, Tensor | SparseRows))

    @property
    def rows_are_sparse(self) -> bool:
        """Whether rows are kept as their non-zeros, wherever they lie."""
        return isinstance(self.features[:0], SparseRows)

    def with_more(self, roster: Roster, columns: Sequence[Any]) -> Self:
        """The problem after one more request, at which records joined.

        Args:
            roster: With those records.
            columns: Features and targets, with a row for each of them at the end.
        """
        features, targets = columns
        return replace(self, roster=roster, features=features, targets=targets)

    @property
    def objective(self) -> Objective:
        return Objective(
            self.loss,
            self.features,
            self.targets,
            self.roster.present,
            self.divisor,
            center=self.center,
            engine=self.engine,
        )

    @property
    def public_objective(self) -> Objective:
        """The objective of the public records alone; what comes from it is never forgotten."""
        public = self.roster.public
        return Objective(self.loss, self.features[:public], self.targets[:public])

    @property
    def dimension(self) -> int:
        return self.loss.outputs * self.features.shape[1]

    @property
    def resolution(self) -> Resolution:
        """What rounding leaves to see of a gradient; public constants only."""
        return Resolution(self.loss, self.roster.records, self.features.shape[1], self.center)

    @property
    def origin(self) -> Tensor:
        """The ridge's center."""
        if self.center is not None:
            return self.center
        return torch.zeros(self.loss.outputs, self.features.shape[1], dtype=torch.float64)

    @property
    def beginning(self) -> Tensor:
        """Where descent begins."""
        return self.origin if self.start is None else self.start


def attainable(strategy: Chosen, job: LinearJob) -> Chosen:
    """A strategy that was only named, its tolerance raised to the least where that is more."""
    if job.resolution.allows(getattr(strategy, "tolerance", math.inf)):
        return strategy
    least = job.resolution.least_tolerance()
    return replace(strategy, tolerance=least) if math.isfinite(least) else strategy  # pyright: ignore
