"""What every loss of a linear head has in common."""

from typing import Protocol

from torch import Tensor

from expunge.accounting.assumptions import Assumptions, Mark

__all__ = ["LinearLoss", "assumptions_of"]


class LinearLoss(Protocol):
    """A loss of the scores theta x, summed over rows x of norm at most `row_norm`.

    An implementation must satisfy, for every row and every theta (in the ball, if it has one):
    the gradient has norm at most `lipschitz`, the Hessian eigenvalues lie in [0, `curvature`],
    and `residual` is the exact derivative of `value` by the scores.
    """

    @property
    def l2(self) -> float: ...

    @property
    def mark(self) -> Mark:
        """How the constants are known: proven here, or declared by the user."""
        ...

    @property
    def row_norm(self) -> float: ...

    @property
    def outputs(self) -> int:
        """Rows of theta: (outputs, features)."""
        ...

    @property
    def lipschitz(self) -> float: ...

    @property
    def curvature(self) -> float: ...

    @property
    def largest_at_zero(self) -> float:
        """The largest loss of any row at theta = 0; infinite where nothing is known."""
        ...

    @property
    def largest_weight(self) -> float:
        """The most that a row's residual is multiplied by; 1 where nothing is weighted."""
        ...

    def gradient_bound(self, theta_norm: float) -> float:
        """A bound on every row's gradient for ||theta|| <= theta_norm; at most `lipschitz`."""
        ...

    def value(self, scores: Tensor, targets: Tensor) -> Tensor:
        """Loss of each row: scores (..., rows, outputs), targets (rows,) -> (..., rows)."""
        ...

    def residual(self, scores: Tensor, targets: Tensor) -> Tensor:
        """Derivative by the scores: (..., rows, outputs)."""
        ...

    def residual_derivative(
        self, scores: Tensor, moved: Tensor, targets: Tensor | None = None
    ) -> Tensor:
        """Derivative of `residual` along a change of the scores: (..., rows, outputs).

        Args:
            targets: Where it depends on them; without them an upper bound is returned.
        """
        ...

    def assumptions(self, radius: float | None = None) -> Assumptions:
        """m, L and M of the objective, marked as enforced."""
        ...


def assumptions_of(loss: LinearLoss, radius: float | None) -> Assumptions:
    """m = l2 (the ridge acts on every coordinate), L = curvature + l2, M (THEORY E34, 2.6)."""
    return Assumptions(
        strong_convexity=loss.l2,
        smoothness=loss.curvature + loss.l2,
        lipschitz=loss.lipschitz,
        weight_decay=loss.l2,
        radius=radius,
        marks={
            "strong_convexity": loss.mark,
            "smoothness": loss.mark,
            "lipschitz": loss.mark,
            "weight_decay": "enforced",
            "radius": "enforced",
        },
    )
