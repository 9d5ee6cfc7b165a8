"""Softmax cross-entropy over `classes` classes, one row of theta for each.

    derivative by the scores: softmax(s) - one-hot(target)
    M = sqrt(2) B, curvature = B^2/2                                    (THEORY E34, safe rule)

diag(p) - p p' has eigenvalues at most 1/2, and ||softmax - one-hot|| <= sqrt 2.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from expunge.accounting.assumptions import Assumptions, Mark
from expunge.core.checks import as_float, check_fields, count, not_negative, positive
from expunge.losses.linear import assumptions_of

__all__ = ["Softmax"]


@dataclass(frozen=True)
class Softmax:
    classes: int
    l2: float
    row_norm: float = 1.0

    def __post_init__(self) -> None:
        check_fields(self, classes=count(1), l2=as_float(not_negative), row_norm=as_float(positive))

    @property
    def outputs(self) -> int:
        return self.classes

    @property
    def mark(self) -> Mark:
        return "enforced"

    @property
    def lipschitz(self) -> float:
        return math.sqrt(2) * self.row_norm

    @property
    def curvature(self) -> float:
        return self.row_norm**2 / 2

    @property
    def largest_at_zero(self) -> float:
        return math.log(self.classes)

    @property
    def largest_weight(self) -> float:
        return 1.0

    def gradient_bound(self, theta_norm: float) -> float:
        return self.lipschitz

    def value(self, scores: Tensor, targets: Tensor) -> Tensor:
        index = targets.expand(scores.shape[:-1])[..., None]
        return scores.logsumexp(-1) - scores.gather(-1, index)[..., 0]

    def residual(self, scores: Tensor, targets: Tensor) -> Tensor:
        index = targets.expand(scores.shape[:-1])[..., None]
        minus = -torch.ones_like(index, dtype=scores.dtype)
        return torch.softmax(scores, -1).scatter_add(-1, index, minus)

    def residual_derivative(
        self, scores: Tensor, moved: Tensor, targets: Tensor | None = None
    ) -> Tensor:
        p = torch.softmax(scores, -1)
        along = p * moved
        return along - p * along.sum(-1, keepdim=True)

    def probabilities(self, scores: Tensor) -> Tensor:
        """Probabilities of every class: (rows, classes)."""
        return torch.softmax(scores, -1)

    def assumptions(self, radius: float | None = None) -> Assumptions:
        return assumptions_of(self, radius)
