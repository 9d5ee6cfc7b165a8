"""Prediction without any model: noise-free paths for the means, linearised noise around them.

    S <- (I - eta H_t) S (I - eta H_t) + nu^2 I,    S_0 = v_0 I

H_t is the Hessian along the noise-free path, nu the noise std of a step, v_0 the initial variance.
S is never formed: a product with it costs two sweeps along the path, and S^-1 comes by conjugate
gradients. Exact for quadratics without a projection.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from scipy.sparse.linalg import LinearOperator, cg
from torch import Tensor

from expunge.divergence.estimate import Estimate

__all__ = ["Law", "predict"]

Product = Callable[[Tensor], Tensor]
PROBES = 32  # random vectors behind the covariance part's trace


@dataclass(frozen=True)
class Law:
    """A chain linearised around its noise-free path.

    Args:
        mean: Where the noise-free path ends, flat.
        hessians: v -> H_t v, one for each step in order.
        noise_std: Of a step: sqrt(2 eta) sigma.
        initial_variance: v_0 of every coordinate.
    """

    mean: Tensor
    hessians: Sequence[Product]
    step_size: float
    noise_std: float
    initial_variance: float = 0.0

    def covariance(self, vector: Tensor) -> Tensor:
        """S v."""
        back = [vector]
        for hessian in reversed(self.hessians):
            back.append(back[-1] - self.step_size * hessian(back[-1]))
        back.reverse()  # back[t] = A_t ... A_{T-1} v
        found = self.initial_variance * back[0]
        for place, hessian in enumerate(self.hessians):
            found = found - self.step_size * hessian(found) + self.noise_std**2 * back[place + 1]
        return found


def predict(*, of: Law, against: Law, order: float = 2.0, level: float = 0.95) -> Estimate:
    """D_order(of || against), mean and covariance parts apart in the notes.

    The covariance part is (order/4) tr(E^2), E = S_q^-1 S_p - I, by random probes: the leading
    term where the covariances are close, which is when this prediction is meant.

    Raises:
        ValueError: the laws have no noise.
    """
    if not (of.noise_std > 0 and against.noise_std > 0):
        raise ValueError("noise_std: the prediction needs noise")
    shift = (of.mean - against.mean).double()

    def mixed(vector: Tensor) -> Tensor:
        return (1 - order) * of.covariance(vector) + order * against.covariance(vector)

    mean_part = order / 2 * float(shift @ _solve(mixed, shift))
    generator = torch.Generator().manual_seed(0)
    traces = []
    for _ in range(PROBES):
        probe = torch.randint(0, 2, shift.shape, generator=generator).double() * 2 - 1
        moved = _solve(against.covariance, of.covariance(probe)) - probe
        again = _solve(against.covariance, of.covariance(moved)) - moved
        traces.append(float(probe @ again))
    covariance_part = order / 4 * float(np.mean(traces))
    error = order / 4 * float(np.std(traces, ddof=1)) / math.sqrt(PROBES)
    notes = (
        f"mean part {mean_part:.6g}, covariance part {covariance_part:.3g} +- {error:.1g}, "
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


def _solve(product: Product, right: Tensor) -> Tensor:
    size = len(right)
    operator = LinearOperator(  # pyright: ignore[reportCallIssue]
        shape=(size, size),
        matvec=lambda v: product(torch.from_numpy(v.ravel())).numpy(),  # pyright: ignore[reportCallIssue]
        dtype=np.dtype(np.float64),  # pyright: ignore[reportCallIssue]
    )
    if not right.any():
        return torch.zeros_like(right)
    found, failed = cg(operator, right.numpy(), rtol=1e-9, maxiter=500)
    if failed:
        raise ValueError("the covariance could not be inverted; is a step above 2/L?")
    return torch.from_numpy(np.asarray(found))
