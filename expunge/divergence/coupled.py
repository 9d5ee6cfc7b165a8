"""Coupled pairs: the same start and the same noise in both laws, so that noise cancels.

    Delta^2 = |x|^2 - sum_i |x_i - x|^2 / (N (N - 1)),     x_i = of_i - against_i, x their mean
    D_a = (a/2) Delta^2

in the metric S^-1: unbiased for the shift between the means, with a jackknife interval. Each law
alone is as before; only their joint law is ours to choose, because we own both trainers. A few
dozen models do not determine S: give the covariance that the noise produces (`linear_noise`), or a
number if it is isotropic. If the pairs' differences vary as much as the models do, as in
non-convex networks, coupling gains nothing, and `coupled` says so.
"""

from collections.abc import Callable

from scipy import stats
from torch import Tensor

from expunge.divergence.estimate import Estimate
from expunge.divergence.hotelling import as_samples

__all__ = ["coupled"]

LARGE = 0.5  # of the value: a standard error above it means that coupling does not help


def coupled(
    *,
    of: object,
    against: object,
    precision: Callable[[Tensor], Tensor] | float,
    order: float = 2.0,
    level: float = 0.95,
) -> Estimate:
    """Estimate D_order from coupled pairs: row i of both sides shares its start and noise.

    Args:
        precision: v -> S^-1 v for the laws' covariance S, of one vector (d,) and of stacked ones
            (N, d), or a number for S^-1 = that times I.

    Raises:
        ValueError: the samples are not pairs.
    """
    first, second = as_samples(of), as_samples(against)
    if first.shape != second.shape:
        raise ValueError(f"pairs: {tuple(first.shape)} and {tuple(second.shape)} do not match")
    differences = first.double() - second.double()  # (N, d)
    value, error = _squared_shift(differences, precision)
    reach = float(stats.t.ppf((1 + level) / 2, len(differences) - 1)) * error
    scale, notes = order / 2, ()
    if error > LARGE * abs(value):
        notes = (
            "the pairs' differences vary as much as the models: coupling does not help here; "
            "use independent models and hotelling",
        )
    return Estimate(
        scale * value,
        (scale * (value - reach), scale * (value + reach)),
        "coupled pairs",
        "unbiased estimate",
        order,
        level,
        "Gaussians of equal, given covariance",
        notes,
    )


def _squared_shift(
    differences: Tensor, precision: Callable[[Tensor], Tensor] | float
) -> tuple[float, float]:
    """Delta^2 and its jackknife standard error.

    With A = |x|^2, c_i = <x, x_i - x> and q_i = |x_i - x|^2, leaving out pair i takes its row and
    column out of the matrix of inner products A + c_i + c_j + <x_i - x, x_j - x>.
    """
    count = len(differences)
    mean = differences.mean(0)
    around = differences - mean
    if isinstance(precision, int | float):
        scale = precision
        weighed, spread = scale * mean, scale * around
    else:
        weighed, spread = precision(mean), precision(around)
    squared = float(mean @ weighed)
    inner = around @ weighed  # (N,) c_i
    own = squared + 2 * inner + (around * spread).sum(1)
    value = (count**2 * squared - float(own.sum())) / (count * (count - 1))
    rows = count * (squared + inner)
    left = (count**2 * squared - 2 * rows + own) - (own.sum() - own)
    left_out = left / ((count - 1) * (count - 2))
    error = ((count - 1) / count * (left_out - left_out.mean()).square().sum()).sqrt()
    return value, float(error)
