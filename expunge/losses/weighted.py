"""A classifier's loss with a fixed weight for each label, by which its rows' losses are multiplied.

    w_y loss(s, y):   M, curvature and the largest loss at 0 grow by the largest weight

Weights are fixed in advance, never counted from records: those of `class_weight="balanced"` change
for every row when one row goes, and the comparator would have others (THEORY 2.6).
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from expunge.accounting.assumptions import Assumptions, Mark
from expunge.core.checks import check_fields, positive
from expunge.losses.linear import assumptions_of
from expunge.losses.logistic import Logistic
from expunge.losses.softmax import Softmax

__all__ = ["Weighted"]


def _loss(name: str, value: Any) -> Any:
    if not isinstance(value, Logistic | Softmax):
        raise ValueError(f"{name}: must be Logistic or Softmax, not {type(value).__name__}")
    return value


def _weights(name: str, value: Any) -> tuple[float, ...]:
    if isinstance(value, str | bytes) or not hasattr(value, "__iter__"):
        raise ValueError(f"{name}: must be a list of numbers, not {type(value).__name__}")
    return tuple(float(positive(name, each)) for each in value)


@dataclass(frozen=True)
class Weighted:
    """The loss of a classifier, each row's times its label's weight.

    Args:
        loss: `Logistic` or `Softmax`.
        weights: Of the labels in order, positive.
    """

    loss: Logistic | Softmax
    weights: tuple[float, ...]

    def __post_init__(self) -> None:
        check_fields(self, loss=_loss, weights=_weights)
        labels = max(2, self.loss.outputs)
        if len(self.weights) != labels:
            raise ValueError(f"weights: {len(self.weights)} for {labels} labels")

    @property
    def largest_weight(self) -> float:
        return max(self.weights)

    @property
    def l2(self) -> float:
        return self.loss.l2

    @property
    def row_norm(self) -> float:
        return self.loss.row_norm

    @property
    def outputs(self) -> int:
        return self.loss.outputs

    @property
    def mark(self) -> Mark:
        return self.loss.mark

    @property
    def lipschitz(self) -> float:
        return self.largest_weight * self.loss.lipschitz

    @property
    def curvature(self) -> float:
        return self.largest_weight * self.loss.curvature

    @property
    def largest_at_zero(self) -> float:
        return self.largest_weight * self.loss.largest_at_zero

    def gradient_bound(self, theta_norm: float) -> float:
        return self.largest_weight * self.loss.gradient_bound(theta_norm)

    def value(self, scores: Tensor, targets: Tensor) -> Tensor:
        return self._of(targets, scores) * self.loss.value(scores, targets)

    def residual(self, scores: Tensor, targets: Tensor) -> Tensor:
        return self._of(targets, scores)[:, None] * self.loss.residual(scores, targets)

    def residual_derivative(
        self, scores: Tensor, moved: Tensor, targets: Tensor | None = None
    ) -> Tensor:
        """Derivative of `residual`; without targets, that of rows of the largest weight."""
        bent = self.loss.residual_derivative(scores, moved)
        if targets is None:
            return self.largest_weight * bent
        return self._of(targets, scores)[:, None] * bent

    def probabilities(self, scores: Tensor) -> Tensor:
        """Probabilities of every class: (rows, classes)."""
        return self.loss.probabilities(scores)

    def assumptions(self, radius: float | None = None) -> Assumptions:
        return assumptions_of(self, radius)

    def _of(self, targets: Tensor, like: Tensor) -> Tensor:
        """The weight of each row: (rows,)."""
        weights = torch.tensor(self.weights, dtype=like.dtype, device=like.device)
        return weights[targets.long()]
