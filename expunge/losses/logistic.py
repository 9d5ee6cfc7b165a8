"""Binary logistic loss: log(1 + exp(-y s)), y = +1 for a positive target and -1 otherwise.

derivative by the score: sigmoid(s) - [target > 0]
M = B, curvature = B^2/4                                            (THEORY E34, safe rule)
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from expunge.accounting.assumptions import Assumptions, Mark
from expunge.core.checks import as_float, check_fields, not_negative, positive
from expunge.losses.linear import assumptions_of

__all__ = ["Logistic"]


@dataclass(frozen=True)
class Logistic:
    l2: float
    row_norm: float = 1.0

    def __post_init__(self) -> None:
        check_fields(self, l2=as_float(not_negative), row_norm=as_float(positive))

    @property
    def outputs(self) -> int:
        return 1

    @property
    def mark(self) -> Mark:
        return "enforced"

    @property
    def lipschitz(self) -> float:
        return self.row_norm

    @property
    def curvature(self) -> float:
        return self.row_norm**2 / 4

    @property
    def largest_at_zero(self) -> float:
        return math.log(2)

    @property
    def largest_weight(self) -> float:
        return 1.0

    def gradient_bound(self, theta_norm: float) -> float:
        return self.lipschitz

    def value(self, scores: Tensor, targets: Tensor) -> Tensor:
        signed = torch.where(targets > 0, scores[..., 0], -scores[..., 0])
        return torch.nn.functional.softplus(-signed)

    def residual(self, scores: Tensor, targets: Tensor) -> Tensor:
        return torch.sigmoid(scores) - (targets > 0).to(scores.dtype)[:, None]

    def residual_derivative(
        self, scores: Tensor, moved: Tensor, targets: Tensor | None = None
    ) -> Tensor:
        p = torch.sigmoid(scores)
        return p * (1 - p) * moved

    def probabilities(self, scores: Tensor) -> Tensor:
        """Probabilities of both classes: (rows, 2)."""
        positive = torch.sigmoid(scores[..., 0])
        return torch.stack([1 - positive, positive], dim=-1)

    def assumptions(self, radius: float | None = None) -> Assumptions:
        return assumptions_of(self, radius)
