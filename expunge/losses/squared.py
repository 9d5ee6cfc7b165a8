"""Squared loss (s - y)^2/2 on targets clipped to |y| <= `target_norm`: ridge regression.

    derivative by the score: s - y
    M = B (B R + Y) in a ball of radius R, curvature = B^2              (THEORY 2.6)

Gradients are unbounded without a ball, so only strategies that need no M go without one. Scores
in the ball are at most B R.
"""

import math
from dataclasses import dataclass

from torch import Tensor

from expunge.accounting.assumptions import Assumptions, Mark
from expunge.core.checks import as_float, check_fields, not_negative, positive, positive_or_infinite
from expunge.losses.linear import assumptions_of

__all__ = ["Squared"]


@dataclass(frozen=True)
class Squared:
    l2: float
    row_norm: float = 1.0
    target_norm: float = 1.0
    radius: float = math.inf

    def __post_init__(self) -> None:
        check_fields(
            self,
            l2=as_float(not_negative),
            row_norm=as_float(positive),
            target_norm=as_float(positive),
            radius=as_float(positive_or_infinite),
        )

    @property
    def outputs(self) -> int:
        return 1

    @property
    def mark(self) -> Mark:
        return "enforced"

    @property
    def lipschitz(self) -> float:
        return self.gradient_bound(self.radius)

    @property
    def largest_at_zero(self) -> float:
        return self.target_norm**2 / 2

    @property
    def largest_weight(self) -> float:
        return 1.0

    def gradient_bound(self, theta_norm: float) -> float:
        return self.row_norm * (self.row_norm * theta_norm + self.target_norm)

    @property
    def curvature(self) -> float:
        return self.row_norm**2

    def value(self, scores: Tensor, targets: Tensor) -> Tensor:
        return (scores[..., 0] - self.clipped(targets)) ** 2 / 2

    def residual(self, scores: Tensor, targets: Tensor) -> Tensor:
        return scores - self.clipped(targets)[:, None].to(scores.dtype)

    def residual_derivative(
        self, scores: Tensor, moved: Tensor, targets: Tensor | None = None
    ) -> Tensor:
        return moved

    def clipped(self, targets: Tensor) -> Tensor:
        """Targets within the public bound."""
        return targets.double().clamp(-self.target_norm, self.target_norm)

    def assumptions(self, radius: float | None = None) -> Assumptions:
        """State the constants of this loss that bounds rest on.

        Raises:
            ValueError: no ball, so no bound on the gradient.
        """
        if not math.isfinite(self.lipschitz):
            raise ValueError("squared loss has unbounded gradients without a radius")
        return assumptions_of(self, self.radius if radius is None else min(radius, self.radius))
