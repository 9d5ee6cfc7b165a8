"""Minimise a strongly convex objective until its gradient is provably small.

Newton's method with SciPy's conjugate gradients, preconditioned by (kappa G + l2 I)^-1, G the Gram
matrix of a sample of the rows and kappa the curvature's share. It goes by the gradient's norm
alone, because function values resolve nothing near the end. If it does not reach the tolerance,
L-BFGS takes over from the best point, then Newton's method in full precision, and at last

    theta <- theta - g(theta)/L,

which is slow and gets there on every data set whose tolerance is at least twice the rounding floor
(`tolerances`). Which solver ran, and for how long, is the operator's business alone (THEORY 5.1 d).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from scipy.optimize import minimize
from scipy.sparse.linalg import LinearOperator, cg
from torch import Tensor

from expunge.core.row_products import products
from expunge.errors import NotConverged
from expunge.losses.objective import Gram, Objective
from expunge.losses.tolerances import Resolution

__all__ = ["solve"]

NEWTON_STEPS = 40
INNER_STEPS = 60
THOROUGH_STEPS = 400


@dataclass(frozen=True)
class _Effort:
    """How hard Newton's method tries.

    Args:
        steps: At most.
        inner: Conjugate gradients a step, at most.
        shortest: The shortest share of a direction that is tried.
        dtype: Of Hessian products; the rows' own if None.
    """

    steps: int = NEWTON_STEPS
    inner: int = INNER_STEPS
    shortest: float = 1e-6
    dtype: torch.dtype | None = None


def solve(
    objective: Objective,
    start: Tensor,
    *,
    tolerance: float,
    gram: Gram | None = None,
) -> Tensor:
    """A theta with ||gradient|| <= tolerance, as computed in float64.

    Args:
        gram: For the preconditioner; None for none. Secret, because the rows are.

    Raises:
        NotConverged: no solver got there.
    """
    apply = (
        (lambda g: g)
        if gram is None
        else objective.approximate_inverse(gram, _mean_curvature(objective, start))
    )
    theta, norm = _newton(objective, start, tolerance, apply, _Effort())
    if norm > tolerance:
        further = _lbfgs(objective, theta, tolerance)
        further, reached = _newton(objective, further, tolerance, apply, _Effort())
        theta, norm = (further, reached) if reached < norm else (theta, norm)
    if norm > tolerance:
        thorough = _Effort(THOROUGH_STEPS, 10 * theta.numel(), 2.0**-60, torch.float64)
        theta, norm = _newton(objective, theta, tolerance, apply, thorough)
    if norm > tolerance:
        theta, norm = _descend(objective, theta, tolerance)
    if not norm <= tolerance:
        raise NotConverged(f"the gradient's norm stayed above the tolerance {tolerance:g}")
    return theta


def _newton(
    objective: Objective,
    theta: Tensor,
    tolerance: float,
    apply: Callable[[Tensor], Tensor],
    effort: _Effort,
) -> tuple[Tensor, float]:
    """Damped Newton steps; returns the best point and its gradient norm."""
    gradient = objective.gradient(theta)
    norm = float(gradient.norm())
    for _ in range(effort.steps):
        if norm <= tolerance or not math.isfinite(norm):
            break
        # Forcing term: superlinear, and no more digits than the tolerance needs; a step more costs
        # as much as another digit or two of this one.
        inner, last = min(0.1, math.sqrt(norm)), min(0.5, 0.5 * tolerance / norm)
        if last > inner / 30:
            inner = last
        direction = _newton_direction(objective, theta, gradient, inner, apply, effort)
        moved, new_gradient = _line_search(objective, theta, norm, direction, effort.shortest)
        reached = float(new_gradient.norm())
        if not reached < norm:
            break  # the point before is the better one
        theta, gradient, norm = moved, new_gradient, reached
    return theta, norm


def _newton_direction(
    objective: Objective,
    theta: Tensor,
    gradient: Tensor,
    inner: float,
    apply: Callable[[Tensor], Tensor],
    effort: _Effort,
) -> Tensor:
    product = objective.hessian_product(theta, effort.dtype)
    shape, size = theta.shape, theta.numel()

    def operator(function: Callable[[Tensor], Tensor]) -> LinearOperator:
        return LinearOperator(  # pyright: ignore[reportCallIssue]
            shape=(size, size),
            matvec=lambda v: function(torch.from_numpy(v).reshape(shape)).numpy().ravel(),  # pyright: ignore[reportCallIssue]
            dtype=np.dtype(np.float64),  # pyright: ignore[reportCallIssue]
        )

    solution, _ = cg(
        operator(product),
        -gradient.numpy().ravel(),
        rtol=inner,
        maxiter=effort.inner,
        M=operator(apply),
    )
    return torch.from_numpy(np.asarray(solution)).reshape(shape)


def _line_search(
    objective: Objective, theta: Tensor, norm: float, direction: Tensor, shortest: float
) -> tuple[Tensor, Tensor]:
    """Halve the step until the gradient's norm falls, as it does along a Newton direction.

    Returns the new point and its gradient.
    """
    step = 1.0
    while True:
        moved = theta + step * direction
        gradient = objective.gradient(moved)
        # "not above" lets a NaN end the search; the caller keeps the point before.
        if not float(gradient.norm()) > (1 - 1e-4 * step) * norm or step < shortest:
            return moved, gradient
        step /= 2


def _lbfgs(objective: Objective, theta: Tensor, tolerance: float) -> Tensor:
    def evaluate(flat: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = objective.value_and_gradient(torch.from_numpy(flat).reshape(theta.shape))
        return value, gradient.numpy().ravel()

    result = minimize(
        evaluate,
        theta.numpy().ravel(),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": 2000, "ftol": 0.0, "gtol": tolerance / math.sqrt(theta.numel())},
    )
    return torch.from_numpy(np.asarray(result.x)).reshape(theta.shape)


def _descend(objective: Objective, theta: Tensor, tolerance: float) -> tuple[Tensor, float]:
    """Steps of length 1/L until the tolerance is reached, as it is after kappa log(...) of them.

    With an error of at most e = floor/1.25 a step lowers F - F* by (||g||^2 - e^2)/(2 L), which is
    more than (m/L) (F - F*)/2 as long as ||g|| > 1.2 floor; F - F* begins below ||g||^2/(2 m).
    """
    loss, gradient = objective.loss, objective.gradient(theta)
    best, norm = theta, float(gradient.norm())
    seen = Resolution(loss, objective.rows, objective.shape[1], objective.center)
    floor, smoothness = seen.floor(2 * tolerance), loss.curvature + loss.l2
    if not tolerance >= 2 * floor or not math.isfinite(norm):
        return best, norm
    kappa = smoothness / loss.l2
    enough = math.ceil(2 * kappa * (2 * math.log1p(norm / floor) + math.log(kappa) + 1))
    for _ in range(enough):
        if norm <= tolerance:
            break
        theta = theta - gradient / smoothness
        gradient = objective.gradient(theta)
        reached = float(gradient.norm())
        best, norm = (theta, reached) if reached < norm else (best, norm)
    return best, norm


def _mean_curvature(objective: Objective, theta: Tensor) -> float:
    """The loss's curvature at theta along its first output, averaged over the first rows."""
    rows, targets = next(iter(objective.chunks()))
    scores = products(rows.double(), theta.to(rows.device))
    probe = torch.zeros_like(scores)
    probe[:, 0] = 1
    return float(
        (objective.loss.residual_derivative(scores, probe, targets) * probe).sum() / len(rows)
    )
