"""The learning problem of a linear model: rows, and a loss with its enforced constants."""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from expunge.losses.linear import LinearLoss
from expunge.losses.objective import Objective, gradient_rounding
from expunge.unlearning.job import Job

__all__ = ["LinearJob"]


@dataclass(frozen=True, repr=False, kw_only=True)
class LinearJob(Job):
    """The learning problem of a linear model as it stands: what a strategy is given.

    Args:
        features, targets: All rows, public ones first; rows of records that earlier requests forgot
            are zeroed, those of the last request not yet.
        start: Where descent begins: the origin, or the public records' own minimiser.
        center: What the ridge pulls towards: the origin, or that minimiser.
    """

    loss: LinearLoss
    features: Tensor
    targets: Tensor
    start: Tensor | None = None
    center: Tensor | None = None

    def stored_values(self) -> Iterator[Tensor]:
        yield from (self.features, self.targets)
        yield from (point for point in (self.start, self.center) if point is not None)

    @property
    def objective(self) -> Objective:
        return Objective(
            self.loss, self.features, self.targets, self.roster.present, center=self.center
        )

    @property
    def public_objective(self) -> Objective:
        """The objective of the public records alone; what comes from it is never forgotten."""
        public = self.roster.public
        return Objective(self.loss, self.features[:public], self.targets[:public])

    @property
    def dimension(self) -> int:
        outputs, features = self.objective.shape
        return outputs * features

    def gradient_rounding(self, theta_norm: float, load: float = 1.0) -> float:
        """A bound on one gradient's arithmetic error; public constants only.

        Args:
            load: The most that a step's summed weights can be.
        """
        rows = self.roster.records
        return gradient_rounding(
            self.loss,
            rows=rows,
            features=self.features.shape[1],
            divisor=rows / load,
            theta_norm=theta_norm,
            center_norm=float(self.origin.norm()),
        )

    @property
    def origin(self) -> Tensor:
        """The ridge's center."""
        if self.center is not None:
            return self.center
        return torch.zeros(*self.objective.shape, dtype=torch.float64)

    @property
    def beginning(self) -> Tensor:
        """Where descent begins."""
        return self.origin if self.start is None else self.start
