"""How small a gradient may be asked for, so that every data set gets there.

    u       bound on the arithmetic error of a computed gradient              (losses/objective)
    floor = 1.25 (u + 4 * 2^-53 L ||theta||),  the latter of one step's own rounding
    tolerance >= 4 floor

Public constants only, so that a refusal at fit tells nothing of a record (THEORY 5.1 d, 2.10). The
solver aims at half the tolerance, which is at least twice the floor, and gets there, because
descent by 1/L lowers the objective by (||g||^2 - (floor/1.25)^2)/(2 L) a step. The check after it
may add in another order, which moves the norm by at most 2 u: it cannot fail either.
"""

import math
from dataclasses import dataclass

from torch import Tensor

from expunge.losses.linear import LinearLoss
from expunge.losses.objective import UNIT, gradient_rounding

__all__ = ["FLOORS", "Resolution", "solution_norm"]

FLOORS = 4  # of them in the least tolerance
ROUNDS = 200  # of the search for it


def solution_norm(loss: LinearLoss, center: Tensor | None = None, tolerance: float = 0.0) -> float:
    """A bound on ||theta|| at a checked point; public constants only.

    ||theta* - center|| is at most ||grad F(center)||/l2, where the ridge has no share, and at most
    sqrt(2 F(center)/l2), where F(center) is at most its largest value at 0 plus the gradient bound
    on the way. A point within the tolerance is at most tolerance/l2 away, for which a little room
    is left anyway.
    """
    reach = 0.0 if center is None else float(center.norm())
    steepest = loss.gradient_bound(reach)
    at_center = loss.largest_at_zero + steepest * reach
    distance = min(math.sqrt(2 * at_center / loss.l2), steepest / loss.l2)
    room = max(0.01 * (reach + distance) + 1e-6, tolerance / loss.l2)
    return reach + distance + room


@dataclass(frozen=True)
class Resolution:
    """What rounding leaves a solver to see of a gradient, by sizes and public constants alone.

    Args:
        rows, features: The most there can be.
        center: Of the ridge; the origin if None.
    """

    loss: LinearLoss
    rows: int
    features: int
    center: Tensor | None = None

    def gradient_rounding(self, theta_norm: float, load: float = 1.0) -> float:
        """A bound on one gradient's arithmetic error, for ||theta|| <= theta_norm.

        Args:
            load: The most that a step's summed weights can be.
        """
        return gradient_rounding(
            self.loss,
            rows=self.rows,
            features=self.features,
            divisor=self.rows / load,
            theta_norm=theta_norm,
            center_norm=0.0 if self.center is None else float(self.center.norm()),
        )

    def floor(self, tolerance: float) -> float:
        """What gradient descent cannot see below, at points checked to the tolerance."""
        theta_norm = solution_norm(self.loss, self.center, tolerance)
        smoothness = self.loss.curvature + self.loss.l2
        return 1.25 * (self.gradient_rounding(theta_norm) + 4 * UNIT * smoothness * theta_norm)

    def allows(self, tolerance: float) -> bool:
        """Whether any data set of these sizes and constants can be solved to the tolerance."""
        return tolerance >= FLOORS * self.floor(tolerance)

    def check(self, tolerance: float) -> None:
        """Check that the tolerance can be reached, whatever the records are.

        Raises:
            ValueError: it cannot; the least tolerance that can is named.
        """
        if self.allows(tolerance):
            return
        least, remedy = self.least_tolerance(), "a smaller row_norm or a larger l2"
        if math.isfinite(least):
            remedy = f"take at least {least:.1e}, {remedy}"
        raise ValueError(
            f"tolerance: {tolerance:g} is below what rounding allows at row_norm "
            f"{self.loss.row_norm:g} and l2 {self.loss.l2:g}: {remedy}"
        )

    def least_tolerance(self) -> float:
        """The least that `check` lets pass, up to two digits; inf if there is none."""
        least = 0.0
        for _ in range(ROUNDS):
            needed = _rounded_up(FLOORS * self.floor(least))
            if needed <= least:
                return least
            least = needed
            if not math.isfinite(least):
                break
        return math.inf


def _rounded_up(value: float) -> float:
    """The number rounded up to two significant digits."""
    if not 0 < value < math.inf:
        return value
    unit = 10.0 ** (math.floor(math.log10(value)) - 1)
    return float(f"{math.ceil(value / unit * (1 - 1e-12)) * unit:.1e}")
