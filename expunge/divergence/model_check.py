"""What the samples say against "Gaussians of equal covariance".

- Box's M for equal covariances, and Mardia's kurtosis for heavy tails, up to 200 dimensions
- beyond that, and always: variances and kurtosis along the direction in which the means differ

A check that passes proves nothing about directions that it did not look at: in thousands of
dimensions a covariance part of D_2 below about 1 cannot be seen from samples at all.
"""

import math

import numpy as np
import torch
from scipy import stats
from torch import Tensor

__all__ = ["objections"]

DIMENSIONS = 200
UNLIKELY = 1e-4  # of either check under the model


def objections(of: Tensor, against: Tensor, direction: Tensor) -> tuple[str, ...]:
    """What the samples say against the model, in sentences; empty if they say nothing."""
    sentences = []
    projected = [(samples.double() @ direction).cpu().numpy() for samples in (of, against)]
    sentences += _along(*projected)
    if of.shape[1] <= DIMENSIONS:
        sentences += _everywhere(of.double().cpu(), against.double().cpu())
    return tuple(sentences)


def _along(first: np.ndarray, second: np.ndarray) -> list[str]:
    sentences = []
    ratio = float(first.var(ddof=1) / second.var(ddof=1))
    freedom = len(first) - 1, len(second) - 1
    tail = min(stats.f.sf(ratio, *freedom), stats.f.cdf(ratio, *freedom))
    if 2 * tail < UNLIKELY:  # either may be the larger
        sentences.append(
            f"variances along the direction of the shift differ by {ratio:.3g}: the covariance "
            "part is not in the value"
        )
    for name, values in (("of", first), ("against", second)):
        excess = float(stats.kurtosis(values))
        if abs(excess) > stats.norm.isf(UNLIKELY / 2) * math.sqrt(24 / len(values)):
            sentences.append(
                f"`{name}` is not Gaussian along the shift (excess kurtosis {excess:.2g})"
            )
    return sentences


def _everywhere(first: Tensor, second: Tensor) -> list[str]:
    sentences, d = [], first.shape[1]
    counts = [len(first) - 1, len(second) - 1]
    if min(counts) < 2 * d + 10:
        return sentences
    covariances = [torch.atleast_2d(torch.cov(samples.T)) for samples in (first, second)]
    pooled = (counts[0] * covariances[0] + counts[1] * covariances[1]) / sum(counts)
    log_dets = [float(torch.logdet(c)) for c in covariances]
    heard = sum(counts) * float(torch.logdet(pooled)) - sum(
        n * value for n, value in zip(counts, log_dets, strict=True)
    )
    share = (2 * d * d + 3 * d - 1) / (6 * (d + 1))
    correction = 1 - share * (1 / counts[0] + 1 / counts[1] - 1 / sum(counts))
    heavy = _heavy(first, covariances[0]) + _heavy(second, covariances[1])
    if heavy:  # Box's test reads heavy tails as unequal covariances
        sentences.append("samples have heavier or lighter tails than Gaussians (Mardia's kurtosis)")
    elif stats.chi2.sf(heard * correction, d * (d + 1) / 2) < UNLIKELY:
        sentences.append("covariances differ (Box's M): the covariance part is not in the value")
    return sentences


def _heavy(samples: Tensor, covariance: Tensor) -> int:
    d, count = samples.shape[1], len(samples)
    centred = samples - samples.mean(0)
    factor = torch.linalg.cholesky(covariance)
    lengths = torch.linalg.solve_triangular(factor, centred.T, upper=False).square().sum(0)
    expected = d * (d + 2) * (count - 1) / (count + 1)
    score = (float(lengths.square().mean()) - expected) / math.sqrt(8 * d * (d + 2) / count)
    return int(abs(score) > stats.norm.isf(UNLIKELY / 2))
