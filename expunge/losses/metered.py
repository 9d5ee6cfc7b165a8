"""An objective whose products are counted, in FLOPs, and a limit to what a solver may spend.

Zeros are counted like other numbers, so that a count says nothing of the rows.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Self

import torch
from torch import Tensor

from expunge.errors import NotConverged
from expunge.losses.objective import Gram, Objective, gram_width

__all__ = ["Meter", "MeteredObjective", "Spent"]


@dataclass
class Meter:
    """FLOPs so far, and the best point seen: where a solver stands when its budget is spent."""

    budget: float = math.inf
    flops: float = 0.0
    norm: float = math.inf
    best: Tensor | None = None

    def charge(self, flops: float) -> None:
        """Count FLOPs that are about to be spent.

        Raises:
            Spent: the budget does not allow it.
        """
        if self.flops + flops > self.budget:
            raise Spent
        self.flops += flops

    def saw(self, theta: Tensor, gradient: Tensor) -> None:
        norm = float(gradient.norm())
        if norm < self.norm:
            self.norm, self.best = norm, theta.clone()

    def limit(self, work: Callable[[], Tensor], start: Tensor) -> Tensor:
        """What a solver finds, or the best point that it saw if its budget is spent first.

        Args:
            start: Where it stands if it saw none.
        """
        try:
            return work()
        except (Spent, NotConverged):
            return start if self.best is None else self.best


class Spent(Exception):
    """A budget is used up."""


@dataclass(frozen=True)
class MeteredObjective(Objective):
    """An objective whose products are counted."""

    meter: Meter = field(default_factory=Meter)

    @classmethod
    def of(cls, objective: Objective, meter: Meter) -> Self:
        """The same objective, its products counted by this meter."""
        return cls(**{f.name: getattr(objective, f.name) for f in fields(objective)}, meter=meter)

    def _product(self) -> float:
        """One matrix product with all rows."""
        outputs, features = self.shape
        return 2.0 * self.rows * outputs * features

    def gradient(self, theta: Tensor) -> Tensor:
        self.meter.charge(2 * self._product())
        gradient = super().gradient(theta)
        self.meter.saw(theta, gradient)
        return gradient

    def value_and_gradient(self, theta: Tensor) -> tuple[float, Tensor]:
        self.meter.charge(2 * self._product())
        value, gradient = super().value_and_gradient(theta)
        self.meter.saw(theta, gradient)
        return value, gradient

    def hessian_product(
        self, theta: Tensor, dtype: torch.dtype | None = None
    ) -> Callable[[Tensor], Tensor]:
        self.meter.charge(self._product())
        product = super().hessian_product(theta, dtype)

        def counted(direction: Tensor) -> Tensor:
            self.meter.charge(2 * self._product())
            return product(direction)

        return counted

    def gram(self, among: Tensor | None = None) -> Gram:
        gram = super().gram(among)
        self.meter.charge(2.0 * gram.rows * self.shape[1] * gram_width(self.shape[1]))
        return gram

    def approximate_inverse(self, gram: Gram, curvature: float) -> Callable[[Tensor], Tensor]:
        outputs, features = self.shape
        width = gram_width(features)
        self.meter.charge(features * width**2 / 3)
        inverse = super().approximate_inverse(gram, curvature)

        def counted(gradient: Tensor) -> Tensor:
            self.meter.charge(4.0 * features * width * outputs)
            return inverse(gradient)

        return counted
