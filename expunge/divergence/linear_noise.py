"""Prediction without any model: noise-free paths for the means, linearised noise around them.

    S <- (I - eta H_t) S (I - eta H_t) + nu^2 I,    S_0 = v_0 I
    mean part  (a/2) shift' ((1 - a) S_p + a S_q)^-1 shift,    covariance part  (a/4) tr(E^2)

H_t is the Hessian along the noise-free path, nu the noise std of a step, v_0 the initial variance,
E = S_q^-1 (S_p - S_q). S is never formed: a product with it costs two sweeps along the path, and
S^-1 comes by conjugate gradients, in which a residual of r leaves an error of r^2 in a quadratic
form. The mean part is exact for quadratics without a projection.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from expunge.divergence.estimate import Estimate

__all__ = ["CovariancePart", "Law", "covariance_part", "mixed", "predict", "solve"]

Product = Callable[[Tensor], Tensor]
CLOSE, ROUGH = 1e-5, 0.03  # residuals of conjugate gradients: of the mean part, of a probe
MOST_STEPS = 500


@dataclass(frozen=True)
class Law:
    """A chain linearised around its noise-free path.

    Args:
        mean: Where the noise-free path ends, flat.
        hessians: v -> H_t v of stacked vectors (..., d), one for each step in order.
        noise_std: Of a step: sqrt(2 eta) sigma.
        initial_variance: v_0 of every coordinate.
    """

    mean: Tensor
    hessians: Sequence[Product]
    step_size: float
    noise_std: float
    initial_variance: float = 0.0

    def covariance(self, vector: Tensor) -> Tensor:
        """The covariance times stacked vectors (..., d): S v."""
        back = [vector]
        for hessian in reversed(self.hessians):
            back.append(back[-1] - self.step_size * hessian(back[-1]))
        back.reverse()  # back[t] = A_t ... A_{T-1} v
        product = self.initial_variance * back[0]
        for place, hessian in enumerate(self.hessians):
            drift = self.step_size * hessian(product)
            product = product - drift + self.noise_std**2 * back[place + 1]
        return product


class CovariancePart(NamedTuple):
    """The part of a divergence that comes from different covariances."""

    value: float
    error: float  # standard error over the probes


def mixed(of: Law, against: Law, order: float) -> Product:
    """v -> ((1 - a) S_p + a S_q) v: the metric of the mean part."""

    def product(vector: Tensor) -> Tensor:
        return (1 - order) * of.covariance(vector) + order * against.covariance(vector)

    return product


def predict(*, of: Law, against: Law, order: float = 2.0, level: float = 0.95) -> Estimate:
    """Predict D_order(of || against); the notes state mean and covariance parts separately.

    Raises:
        ValueError: the laws have no noise.
    """
    _check(of, against)
    shift = (of.mean - against.mean).double()
    mean_part = order / 2 * float(shift @ solve(mixed(of, against, order), shift))
    part = covariance_part(of=of, against=against, order=order)
    notes = (
        f"mean part {mean_part:.6g}, covariance part {part.value:.3g} +- {part.error:.1g}, "
        "which is not in the value",
    )
    return Estimate(
        mean_part,
        None,
        "linear noise",
        "prediction",
        order,
        level,
        "noise linearised around the noise-free path, no active projection",
        notes,
    )


def covariance_part(*, of: Law, against: Law, order: float = 2.0) -> CovariancePart:
    """Estimate (order/4) tr(E^2) by random probes: the leading term for close covariances.

    The prediction is meant for laws with close covariances.
    """
    _check(of, against)
    generator = torch.Generator().manual_seed(0)
    shape = _probes(len(of.mean)), len(of.mean)
    probes = torch.randint(0, 2, shape, generator=generator).double() * 2 - 1

    def excess(vectors: Tensor) -> Tensor:
        difference = of.covariance(vectors) - against.covariance(vectors)
        return solve(against.covariance, difference, ROUGH)

    traces = (probes * excess(excess(probes))).sum(1)
    error = float(traces.std()) / math.sqrt(len(probes))
    return CovariancePart(order / 4 * float(traces.mean()), order / 4 * error)


def solve(product: Product, right: Tensor, residual: float = CLOSE) -> Tensor:
    """Solve product(x) = right for stacked vectors (..., d), by conjugate gradients.

    Args:
        residual: The residual at which each vector stops, as a share of its right side.

    Raises:
        ValueError: the product is not that of a positive definite matrix, or it takes too long.
    """
    solution, left = torch.zeros_like(right), right.clone()
    towards, size = left, left.square().sum(-1, keepdim=True)
    enough = residual**2 * size
    for _ in range(MOST_STEPS):
        active = size > enough
        if not bool(active.any()):
            return solution
        image = product(towards)
        curvature = (towards * image).sum(-1, keepdim=True)
        if bool((curvature[active] <= 0).any()):
            break
        length = torch.where(active, size / curvature.clamp_min(1e-300), 0.0)
        solution, left = solution + length * towards, left - length * image
        new = left.square().sum(-1, keepdim=True)
        share = torch.where(active, new / size.clamp_min(1e-300), 0.0)
        towards, size = left + share * towards, torch.where(active, new, size)
    raise ValueError("the covariance could not be inverted; is a step above 2/L?")


def _probes(dimension: int) -> int:
    """How many random vectors estimate a trace; many dimensions need few of them."""
    return max(4, min(32, 4096 // dimension))


def _check(of: Law, against: Law) -> None:
    if not (of.noise_std > 0 and against.noise_std > 0):
        raise ValueError("noise_std: the prediction needs noise")
