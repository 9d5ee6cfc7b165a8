"""Coupled pairs: the same start and the same noise in both laws, so that noise cancels.

    Delta^2 = ( |sum_i x_i|^2 - sum_i |x_i|^2 ) / (N (N - 1)),   x_i = S^(-1/2) (of_i - against_i)
    D_a = (a/2) Delta^2

Unbiased for the shift between the means in the metric S^-1, with a jackknife interval. Each law
alone is as before; only their joint law is ours to choose, because we own both trainers. S cannot
be had from a few dozen models: give the covariance that the noise produces (`linear_noise`), or a
number where it is isotropic. Where the pairs' differences vary as much as the models do, as in
non-convex networks, nothing is gained, and `coupled` says so.
"""

from collections.abc import Callable

import torch
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
    """D_order from pairs: row i of both shares start and noise.

    Args:
        precision: v -> S^-1 v for the laws' covariance S, or a number for S^-1 = that times I.

    Raises:
        ValueError: samples that are not pairs.
    """
    first, second = as_samples(of), as_samples(against)
    if first.shape != second.shape:
        raise ValueError(f"pairs: {tuple(first.shape)} and {tuple(second.shape)} do not match")
    differences = first.double() - second.double()  # (N, d)
    weighed = (
        precision * differences
        if isinstance(precision, int | float)
        else torch.stack([precision(row) for row in differences])
    )
    inner = differences @ weighed.T  # (N, N)
    count = len(differences)
    total, own = float(inner.sum()), inner.diagonal()
    value = (total - float(own.sum())) / (count * (count - 1))
    # Leaving out pair i takes its row and column away.
    left = (total - 2 * inner.sum(1) + own) - (own.sum() - own)
    left_out = left / ((count - 1) * (count - 2))
    error = float(((count - 1) / count * (left_out - left_out.mean()).square().sum()).sqrt())
    reach = float(stats.t.ppf((1 + level) / 2, count - 1)) * error
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
