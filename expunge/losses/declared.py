"""A user's own convex loss of linear scores, with declared constants that are watched.

    value(scores (rows, outputs), targets (rows,)) -> (rows,), differentiable by torch

Nothing here proves that the loss is convex or that its constants are right: every certificate
that rests on them says that they were declared. What is evaluated is checked against them. A row
whose derivative is beyond the declared slope has it cut to that,

    psi'(s)  ->  max(-slope, min(slope, psi'(s))),   0 where it is no number,

which is the derivative of a convex loss of the same bend and at most this slope, as Huber's is of
squares; the operator is warned. One row must not decide whether there is a model. With several
outputs cut derivatives are those of no convex loss (THEORY E34), so that there such a row stops the
run: no certificate.
"""

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from expunge.accounting.assumptions import Assumptions, Mark
from expunge.core import checks
from expunge.core.checks import as_float, check_fields, count, not_negative, positive
from expunge.errors import RecordsWarning
from expunge.losses.linear import assumptions_of

__all__ = ["ConstantExceeded", "Declared"]

SLACK = 1 + 1e-9


class ConstantExceeded(ValueError):
    """A record's gradient is beyond what was declared, and there are several outputs."""


@dataclass(frozen=True)
class Declared:
    """A user's own convex loss, with the constants that the user declares for it.

    Args:
        function: The loss of each row.
        slope: A bound on the derivative by the scores, for every row: M = slope * row_norm.
        bend: A bound on the second derivative by the scores: the curvature is bend * row_norm^2.
    """

    function: Callable[[Tensor, Tensor], Tensor]
    slope: float
    bend: float
    l2: float = 1e-2
    row_norm: float = 1.0
    outputs: int = 1

    def __post_init__(self) -> None:
        check_fields(
            self,
            function=checks.function,
            slope=as_float(positive),
            bend=as_float(not_negative),
            l2=as_float(not_negative),
            row_norm=as_float(positive),
            outputs=count(1),
        )

    @property
    def mark(self) -> Mark:
        return "assumed"

    @property
    def lipschitz(self) -> float:
        return self.slope * self.row_norm

    @property
    def curvature(self) -> float:
        return self.bend * self.row_norm**2

    @property
    def largest_at_zero(self) -> float:
        return math.inf

    @property
    def largest_weight(self) -> float:
        return 1.0

    def gradient_bound(self, theta_norm: float) -> float:
        return self.lipschitz

    def value(self, scores: Tensor, targets: Tensor) -> Tensor:
        return self.function(scores, targets)

    def residual(self, scores: Tensor, targets: Tensor) -> Tensor:
        with torch.enable_grad():
            at = scores.detach().requires_grad_(True)
            (slopes,) = torch.autograd.grad(self.function(at, targets).sum(), at)
        steepest = float(slopes.norm(dim=-1).max()) if slopes.numel() else 0.0
        if steepest <= self.slope * SLACK:
            return slopes
        beyond = f"slope: a row's derivative is beyond the declared {self.slope:g}"
        if self.outputs > 1:
            raise ConstantExceeded(beyond)
        warnings.warn(
            f"{beyond}, and is cut to it. This is for you alone: it depends on private records",
            RecordsWarning,
            stacklevel=2,
        )
        return slopes.nan_to_num(nan=0.0).clamp(-self.slope, self.slope)

    def residual_derivative(
        self, scores: Tensor, moved: Tensor, targets: Tensor | None = None
    ) -> Tensor:
        """The declared bend: a safe direction for solvers, whose result is checked anyway."""
        return self.bend * moved

    def assumptions(self, radius: float | None = None) -> Assumptions:
        return assumptions_of(self, radius)
