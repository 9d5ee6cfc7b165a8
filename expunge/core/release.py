"""Noise for whatever is handed out: exact, on a public grid, from the operating system.

    published = grid * (round(center/grid) + J),   J = round(N(0, (std/grid)^2)) in each coordinate

The center is rounded to a public power-of-two grid (a shift of at most grid sqrt(d)/2, charged to
the certificate), and integer noise is added, so that no low bit of the center survives. Ordinary
float64 noise leaks through those bits (THEORY 2.8). Rounding a Gaussian is post-processing, so the
Gaussian mechanism's mu holds as it is.

J comes from OpenDP's exact discrete Gaussian on a grid 2^f times finer, rounded to ours. A
discrete Gaussian of integer std s differs from a rounded Gaussian of the same grid by at most
1/(4 s^2) in total variation a coordinate; s is about 2^50, so d coordinates add d 2^-100 to delta,
which `check_sampler` keeps below the margin by which epsilons are rounded up.
"""

import math

import numpy as np

from expunge.core.checks import count, not_negative, open_share, positive

__all__ = [
    "check_reach",
    "check_sampler",
    "draw",
    "grid_for",
    "rounding_of",
    "sampler_delta",
    "sampler_words",
]

FINE_BITS = 50  # log2 of the discrete Gaussian's integer std
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
    noise = _rounded_gaussian(center.size, std / grid).reshape(center.shape)
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


def sampler_delta(dimension: int, epsilon: float) -> float:
    """What the sampler adds to delta: (1 + e^eps) d/(4 s^2), s >= 2^(bits-1)."""
    count(1)("dimension", dimension)
    not_negative("epsilon", epsilon)
    return (1 + math.exp(min(epsilon, 500.0))) * dimension / (4 * 4.0 ** (FINE_BITS - 1))


def check_sampler(dimension: int, epsilon: float, delta: float) -> None:
    """Check that the outward rounding of every epsilon covers what the sampler adds to delta.

    Raises:
        ValueError: delta is too small for that.
    """
    if sampler_delta(dimension, epsilon) > 1e-13 * open_share("delta", delta):
        raise ValueError(f"delta: {delta:g} is too small for {dimension} released coordinates")


def sampler_words(dimension: int, epsilon: float, delta: float) -> tuple[str, ...]:
    """What a claim says that is larger than the one `check_sampler` was asked about.

    Nothing where the rounding of its epsilon covers the sampler too.
    """
    more = sampler_delta(dimension, epsilon)
    if more <= 1e-13 * open_share("delta", delta):
        return ()
    return (f"beside delta, the noise's sampler may add up to {min(1.0, more):.2g} to it",)


def _rounded_gaussian(count: int, std: float) -> np.ndarray:
    """`count` draws of round(N(0, std^2)) as float64 integers."""
    from opendp.domains import atom_domain, vector_domain  # large; loaded where it is used
    from opendp.measurements import make_gaussian
    from opendp.metrics import l2_distance
    from opendp.mod import enable_features

    fine = max(0, FINE_BITS - math.floor(math.log2(std)))
    enable_features("contrib")
    domain, metric = vector_domain(atom_domain(T="i64")), l2_distance(T="f64")
    sampler = make_gaussian(domain, metric, scale=math.ldexp(std, fine))
    draws = np.array(sampler([0] * count), dtype=np.int64)
    if fine:
        draws = (draws + (1 << (fine - 1))) >> fine  # round half up, in integers
    return draws.astype(np.float64)
