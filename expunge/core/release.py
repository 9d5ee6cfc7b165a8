"""Noise for whatever is handed out: exact, on a public grid, from the operating system.

    published = grid * (round(center/grid) + J),   J = round(N(0, (std/grid)^2)) in each coordinate

The center is rounded to a public power-of-two grid (a shift of at most grid sqrt(d)/2, charged to
the certificate), and integer noise is added, so that no low bit of the center survives. Ordinary
float64 noise leaks through those bits (THEORY 2.8). Rounding a Gaussian is post-processing, so the
Gaussian mechanism's mu holds as it is.

J is drawn exactly (`exact_normal`), so that nothing is added to delta.
"""

import math

import numpy as np

from expunge.core.checks import count, positive
from expunge.core.exact_normal import rounded_normals

__all__ = ["check_reach", "draw", "grid_for", "rounding_of"]

GRID_SHARE = 2.0**-8  # of mu std that rounding to the grid may cost
EXACT = 2.0**52  # integers up to here are exact as float64, noise included


def draw(center: np.ndarray, std: float, grid: float) -> np.ndarray:
    """The center on the grid, plus exact Gaussian noise of this std.

    Raises:
        ValueError: a grid that is not a power of two, non-finite input, or values too large for it.
    """
    center = np.asarray(center, dtype=np.float64)
    std, grid = positive("std", std), positive("grid", grid)
    if math.frexp(grid)[0] != 0.5:
        raise ValueError(f"grid: {grid} is not a power of two")
    if not std >= grid:
        raise ValueError(f"std: {std} must be finite and at least the grid {grid}")
    if not np.isfinite(center).all():
        raise ValueError("center: not finite")
    steps = np.rint(center / grid)  # exact: division by a power of two
    if not std / grid <= EXACT:
        raise ValueError(f"std: {std} is too large for the grid {grid}; the sum would not be exact")
    noise = rounded_normals(center.size, std / grid).reshape(center.shape)
    total = steps + noise
    if np.abs(steps).max(initial=0) > EXACT or np.abs(total).max(initial=0) > EXACT:
        raise ValueError("center: too large for this grid; the sum would not be exact")
    return total * grid


def grid_for(*, std: float, mu: float, dimension: int) -> float:
    """The largest power of two that costs at most 1/256 of mu: h sqrt(d) <= mu std/256."""
    positive("std", std)
    positive("mu", mu)
    count(1)("dimension", dimension)
    return 2.0 ** math.floor(math.log2(GRID_SHARE * mu * std / math.sqrt(dimension)))


def check_reach(reach: float, *, std: float, grid: float, setting: str = "sigma") -> None:
    """Check that every center of norm at most `reach` is exact on this grid, with its noise.

    By public constants, before any center is there: `draw` refuses a center that is too large, and
    that would tell something of the records.

    Args:
        setting: What makes the noise as small as it is, and is to be larger.

    Raises:
        ValueError: some would not be.
    """
    if not reach <= EXACT / 2 * grid:
        raise ValueError(
            f"{setting}: noise of {std:.3g} is too small to be exact beside values of up to "
            f"{reach:.3g}; take a larger {setting}"
        )


def rounding_of(grid: float, dimension: int) -> float:
    """How far rounding to the grid can move the center: grid sqrt(d)/2 (THEORY 2.8)."""
    positive("grid", grid)
    count(1)("dimension", dimension)
    return grid * math.sqrt(dimension) / 2 * (1 + 1e-12)
