"""One Newton step from an anchor, and a proven bound on its distance from the minimiser.

    g = G/n + l2 (a - c),   H = A/n + l2 I,   D ~ -H^-1 g,   theta = fl(a + D)       (THEORY 6)

No row is read: G, A and n are those of the anchor. The step is measured, not trusted: whatever
solver made it, its residual ||g + H D|| at the point that is returned enters the bound, with every
rounding error of the sums (`losses/row_terms`) and of the products here.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from expunge.losses.logistic import Logistic
from expunge.losses.row_terms import RowTerms
from expunge.losses.softmax import Softmax
from expunge.losses.squared import Squared
from expunge.unlearning.linear.anchor import Anchor
from expunge.unlearning.linear.distance_bound import (
    distance_bound,
    excess_curvature,
    sharp_excess,
)

__all__ = ["NewtonStep", "newton_step"]

UNIT = 2.0**-53
OUTWARD = 1 + 1e-9


@dataclass(frozen=True)
class NewtonStep:
    """Where a Newton step from an anchor leads, and how far from the minimiser that can be.

    Args:
        theta: (outputs, features) float64.
        distance: Bounds ||theta - minimiser||; infinite where nothing can be said. Secret.
    """

    theta: Tensor
    distance: float


@dataclass(frozen=True)
class _Model:
    """The quadratic model at an anchor, in float64.

    Args:
        gradient: (dimension,) at the anchor, the ridge included.
        curvature: (dimension, dimension) A/n; without the ridge.
        sharp: (dimension, dimension) A4/n; logistic only.
        gradient_error: Bounds the error of `gradient`.
        size: The Frobenius norm of `curvature`, for the rounding of products with it.
    """

    gradient: Tensor
    curvature: Tensor
    sharp: Tensor | None
    gradient_error: float
    size: float


def newton_step(
    anchor: Anchor,
    terms: RowTerms,
    *,
    center: Tensor | None = None,
    intercept: bool = False,
    divisor: float | None = None,
) -> NewtonStep:
    """The Newton step from an anchor, with its bound.

    Args:
        center: Of the ridge; the origin if None.
        intercept: The last feature is the same in every row, B/sqrt 2 at most, and so is the norm
            of the others.
        divisor: nbar, at least the rows in the sums, so that bounds on a row's share of rounding
            bound their mean; the rows in the sums if None.
    """
    divisor = anchor.rows if divisor is None else divisor
    assert divisor >= anchor.rows
    model = _model(anchor, terms, center, divisor)
    hessian = model.curvature.clone()
    hessian.diagonal().add_(terms.loss.l2)
    factor, failed = torch.linalg.cholesky_ex(hessian)
    if failed or not bool(factor.diagonal().isfinite().all()):  # a row that is not shows there
        return NewtonStep(anchor.point, math.inf)
    step = -torch.cholesky_solve(model.gradient[:, None], factor)[:, 0]
    theta = anchor.point + step.reshape(anchor.point.shape)
    realised = (theta - anchor.point).ravel()
    return NewtonStep(theta, _bound(model, realised, terms, intercept=intercept))


def _model(anchor: Anchor, terms: RowTerms, center: Tensor | None, divisor: float) -> _Model:
    loss = terms.loss
    data = anchor.gradient.value(terms.gradient_unit) / divisor
    ridge = loss.l2 * (anchor.point if center is None else anchor.point - center)
    curvature = anchor.hessian.value(terms.root_unit**2).div_(divisor)
    sharp = anchor.sharp
    return _Model(
        gradient=(data + ridge).ravel(),
        curvature=curvature,
        sharp=None if sharp is None else sharp.value(terms.root_unit**2).div_(divisor),
        gradient_error=(
            terms.gradient_error * anchor.rows / divisor
            + 8 * UNIT * (_norm(data) + _norm(ridge))
        ) * OUTWARD,
        size=_norm(curvature),
    )  # fmt: skip


def _bound(model: _Model, step: Tensor, terms: RowTerms, *, intercept: bool) -> float:
    """The bound on the distance after this step."""
    loss, length = terms.loss, _norm(step)
    products = _roundings(len(step)) * model.size  # of the norm of curvature times step
    applied = model.curvature @ step
    left = model.gradient + applied + loss.l2 * step
    energy = _energy(step, applied, products)
    rho = _norm(left) + model.gradient_error + (products + 8 * UNIT * loss.l2) * length
    if isinstance(loss, Softmax):
        wrong = _block_error(terms)
        rho += wrong * length
        bent, along = 0.0, math.sqrt(energy + wrong * length**2) * OUTWARD
    else:
        delta = terms.root_error
        rho += delta * math.sqrt(energy)
        bent, along = delta * length, math.sqrt(energy) + delta * length
    moved = score_change(loss, step.reshape(loss.outputs, -1), intercept=intercept)
    if not isinstance(loss, Squared):
        bent += _bent(model, step, along, moved, terms)
    return distance_bound(
        rho * OUTWARD, bent * OUTWARD, moved=moved, steepness=steepness(loss), l2=loss.l2
    )


def _bent(model: _Model, step: Tensor, along: float, moved: float, terms: RowTerms) -> float:
    """phi(s) ||D||_A, or sharper (s/2) ||D||_A4 + (phi(s) - s/2) ||D||_A."""
    plain = excess_curvature(moved) * along
    if model.sharp is None:
        return plain
    products = _roundings(len(step)) * _norm(model.sharp)
    sharply = math.sqrt(_energy(step, model.sharp @ step, products))
    sharply += terms.root_error * _norm(step)
    return min(plain, moved / 2 * sharply + sharp_excess(moved) * along)


def score_change(loss: object, step: Tensor, *, intercept: bool) -> float:
    """sigma: the most that any row's score can change; of softmax, a difference of two scores."""
    if isinstance(loss, Squared):
        return 0.0
    assert isinstance(loss, Logistic | Softmax)
    if isinstance(loss, Logistic):
        widest = _longest(step, intercept=intercept)
    else:
        widest = max(_longest(step - row, intercept=intercept) for row in step)
    return min(loss.row_norm * widest, steepness(loss) * _norm(step)) * OUTWARD


def _longest(rows: Tensor, *, intercept: bool) -> float:
    """The most that a row of norm 1 can make of its product with one of these."""
    if not intercept:
        return float(rows.norm(dim=1).max())
    return float((rows[:, :-1].norm(dim=1) + rows[:, -1].abs()).max()) / math.sqrt(2)


def steepness(loss: object) -> float:
    """Q: B for logistic, sqrt 2 B for softmax, 0 for squared losses."""
    if isinstance(loss, Logistic):
        return loss.row_norm
    return math.sqrt(2) * loss.row_norm * OUTWARD if isinstance(loss, Softmax) else 0.0


def _block_error(terms: RowTerms) -> float:
    """A bound on the norm of the error in softmax's A, of its two kinds of roots together."""
    longest = terms.loss.row_norm
    errors = (terms.root_error, terms.shares_error)
    return sum(each * (2 * longest + each) for each in errors) * OUTWARD


def _energy(step: Tensor, applied: Tensor, products: float) -> float:
    """D'AD, rounded up."""
    length = _norm(step)
    return max(0.0, float(step @ applied)) * OUTWARD + 2 * products * length**2


def _roundings(dimension: int) -> float:
    """Relative error of a product with so many terms, that of its matrix included."""
    operations = dimension + 16
    return operations * UNIT / (1 - operations * UNIT)


def _norm(values: Tensor) -> float:
    """A norm, rounded up."""
    return float(values.norm()) * (1 + 1e-10)
