"""Unbiased Rényi divergence of two Gaussians that share a covariance, any dimension below N/3.

    Delta^2 = (n - d - 1)/n * shift' S^-1 shift - d (1/N1 + 1/N2),     n = N1 + N2 - 2
    D_a = (a/2) Delta^2

S is the pooled covariance. For Gaussians of equal covariance Delta^2 is exactly unbiased and
invariant under affine maps, and (n-d+1)/(n d) N1 N2/(N1+N2) shift' S^-1 shift is non-central
F(d, n-d+1), whose inversion gives the interval; from d = 500 on a normal law with the exact
variance replaces it. The value is negative as often as not when P = Q: never clip it.
"""

import math
from dataclasses import dataclass

import numpy as np
import torch
from scipy import optimize, stats
from torch import Tensor

from expunge.divergence.estimate import Estimate

__all__ = ["Moments", "hotelling", "moments"]

NORMAL_FROM = 500  # dimensions
LEAST_RATIO = 3  # of N1 + N2 over d


@dataclass(frozen=True)
class Moments:
    """What Hotelling needs of two samples.

    Args:
        statistic: shift' S^-1 shift.
        direction: S^-1 shift: the best linear test; learned from these very samples.
    """

    statistic: float
    direction: Tensor
    counts: tuple[int, int]
    dimension: int


def moments(of: Tensor, against: Tensor) -> Moments:
    """Means and the pooled covariance, in the samples' precision; solved in float64."""
    (first, dimension), second = of.shape, len(against)
    means = of.double().mean(0), against.double().mean(0)
    pooled = torch.zeros(dimension, dimension, dtype=torch.float64, device=of.device)
    for samples, mean in zip((of, against), means, strict=True):
        for block in samples.split(_rows(samples)):
            _add_lower(pooled, block - mean.to(block.dtype))
    pooled /= first + second - 2
    shift = means[0] - means[1]
    factor = torch.linalg.cholesky(pooled)  # reads the lower triangle
    direction = torch.cholesky_solve(shift[:, None], factor)[:, 0]
    return Moments(float(shift @ direction), direction, (first, second), dimension)


def hotelling(summary: Moments, *, order: float, level: float = 0.95) -> Estimate:
    """Estimate D_a of two Gaussians that share a covariance, without bias, from their moments.

    Raises:
        ValueError: too few samples for the dimension, or an order that makes no sense.
    """
    if not order > 0:
        raise ValueError(f"order: {order} must be positive")
    if not 0 < level < 1:
        raise ValueError(f"level: {level} must be in (0, 1)")
    (first, second), d = summary.counts, summary.dimension
    if first + second < LEAST_RATIO * d + 10:
        raise ValueError(
            f"{first} + {second} samples in {d} dimensions: hotelling needs at least "
            f"{LEAST_RATIO * d + 10}; project them, or use coupled pairs"
        )
    n = first + second - 2
    value = (n - d - 1) / n * summary.statistic - d * (1 / first + 1 / second)
    pair = first * second / (first + second)
    ratio = (n - d + 1) / (n * d) * pair * summary.statistic
    low, high = _noncentralities(ratio, d, n - d + 1, level)
    scale = order / 2
    return Estimate(
        scale * value,
        (scale * low / pair, scale * high / pair),
        "hotelling",
        "unbiased estimate",
        order,
        level,
        "Gaussians of equal covariance",
    )


def _noncentralities(ratio: float, d: int, rest: int, level: float) -> tuple[float, float]:
    """The least and the greatest noncentrality that a two-sided test does not reject.

    Below 0, where no law lies, the ends go on in proportion: so that intervals miss 0 as often as
    they say when P = Q, they are not clipped either.
    """

    def below(noncentrality: float) -> float:
        """The probability of a smaller ratio."""
        if d < NORMAL_FROM:
            return float(stats.ncf.cdf(ratio, d, rest, noncentrality))
        mean, std = _moments_of_f(d, rest, noncentrality)
        return float(stats.norm.cdf((ratio - mean) / std))

    def at_zero(share: float) -> float:
        """The ratio's quantile when P = Q."""
        if d < NORMAL_FROM:
            return float(stats.f.ppf(share, d, rest))
        mean, std = _moments_of_f(d, rest, 0.0)
        return mean + std * float(stats.norm.ppf(share))

    ends = []
    for share in ((1 + level) / 2, (1 - level) / 2):
        if below(0.0) <= share:
            ends.append((ratio - at_zero(share)) * d * (rest - 2) / rest)
            continue
        far = max(1.0, d * ratio)
        while below(far) > share:
            far *= 2
        ends.append(float(optimize.brentq(lambda x, s=share: below(x) - s, 0.0, far, rtol=1e-10)))  # pyright: ignore[reportArgumentType]
    return ends[0], ends[1]


def _moments_of_f(d: int, rest: int, noncentrality: float) -> tuple[float, float]:
    """Mean and standard deviation of the non-central F(d, rest)."""
    total = d + noncentrality
    mean = rest * total / (d * (rest - 2))
    spread = total**2 + (d + 2 * noncentrality) * (rest - 2)
    variance = 2 * (rest / d) ** 2 * spread / ((rest - 2) ** 2 * (rest - 4))
    return mean, math.sqrt(variance)


def _add_lower(pooled: Tensor, centred: Tensor) -> None:
    """Add centred' centred to pooled, without blocks above the diagonal: 9/16 of the work."""
    width = -(-len(pooled) // 8)
    for start in range(0, len(pooled), width):
        columns = slice(start, start + width)
        pooled[start:, columns] += centred[:, start:].T @ centred[:, columns]


def _rows(samples: Tensor) -> int:
    """How many rows to sum at a time in the samples' precision: 64 MiB of them, on CUDA 512."""
    return max(1, 2 ** (27 if samples.is_cuda else 24) // samples.shape[1])


def as_samples(samples: object) -> Tensor:
    """Turn arrays, tensors or stacked heads into a float tensor (N, d).

    Raises:
        ValueError: fewer than four samples, or values that are not finite.
    """
    rows = samples if isinstance(samples, Tensor) else torch.as_tensor(np.asarray(samples))
    if not rows.is_floating_point():
        rows = rows.double()
    rows = rows.reshape(len(rows), -1)
    if len(rows) < 4:
        raise ValueError(f"samples: {len(rows)} are too few")
    if not bool(torch.isfinite(rows).all()):
        raise ValueError("samples: not all are finite")
    return rows
