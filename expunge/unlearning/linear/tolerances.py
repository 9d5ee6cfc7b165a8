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
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from torch import Tensor

from expunge.losses.linear import LinearLoss
from expunge.losses.objective import UNIT, gradient_rounding

if TYPE_CHECKING:
    from expunge.unlearning.linear.linear_job import LinearJob

__all__ = [
    "FLOORS",
    "attainable",
    "check_tolerance",
    "least_tolerance",
    "rounding_floor",
    "solution_norm",
]

Chosen = TypeVar("Chosen")
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


def rounding_floor(
    loss: LinearLoss, *, rows: int, features: int, theta_norm: float, center_norm: float
) -> float:
    """What gradient descent cannot see below, for ||theta|| <= theta_norm."""
    gradient = gradient_rounding(
        loss,
        rows=rows,
        features=features,
        divisor=rows,
        theta_norm=theta_norm,
        center_norm=center_norm,
    )
    return 1.25 * (gradient + 4 * UNIT * (loss.curvature + loss.l2) * theta_norm)


def check_tolerance(job: "LinearJob", tolerance: float) -> None:
    """Check that any data set of these sizes and constants can be solved to the tolerance.

    Raises:
        ValueError: it cannot; the least tolerance that can is named.
    """
    if tolerance >= FLOORS * _floor(job, tolerance):
        return
    loss, least = job.loss, least_tolerance(job)
    remedy = "a smaller row_norm or a larger l2"
    if math.isfinite(least):
        remedy = f"take at least {least:.1e}, {remedy}"
    raise ValueError(
        f"tolerance: {tolerance:g} is below what rounding allows at row_norm {loss.row_norm:g} "
        f"and l2 {loss.l2:g}: {remedy}"
    )


def least_tolerance(job: "LinearJob") -> float:
    """The least that `check_tolerance` lets pass, up to two digits; inf if there is none."""
    least = 0.0
    for _ in range(ROUNDS):
        needed = _rounded_up(FLOORS * _floor(job, least))
        if needed <= least:
            return least
        least = needed
        if not math.isfinite(least):
            break
    return math.inf


def attainable(strategy: Chosen, job: "LinearJob") -> Chosen:
    """A strategy that was only named, its tolerance raised to the least where that is more."""
    tolerance = getattr(strategy, "tolerance", math.inf)
    if tolerance >= FLOORS * _floor(job, tolerance):
        return strategy
    least = least_tolerance(job)
    return replace(strategy, tolerance=least) if math.isfinite(least) else strategy  # pyright: ignore


def _floor(job: "LinearJob", tolerance: float) -> float:
    return rounding_floor(
        job.loss,
        rows=job.roster.records,
        features=job.features.shape[1],
        theta_norm=solution_norm(job.loss, job.center, tolerance),
        center_norm=float(job.origin.norm()),
    )


def _rounded_up(value: float) -> float:
    """The number rounded up to two significant digits."""
    if not 0 < value < math.inf:
        return value
    unit = 10.0 ** (math.floor(math.log10(value)) - 1)
    return float(f"{math.ceil(value / unit * (1 - 1e-12)) * unit:.1e}")
