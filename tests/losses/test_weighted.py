"""Losses with a weight for each label: every row counts so much, and the constants know it."""

import math

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression

from expunge.losses import Logistic, Softmax, Weighted
from expunge.losses.objective import Objective, gradient_rounding
from expunge.losses.row_terms import has_terms
from expunge.losses.solver import solve

LOSSES = [
    Weighted(Logistic(0.05), (3.0, 0.25)),
    Weighted(Logistic(0.02, row_norm=2.0), (0.5, 0.01)),
    Weighted(Softmax(3, 0.05), (0.2, 7.0, 1.0)),
]


@pytest.fixture(params=LOSSES, ids=str)
def loss(request):
    return request.param


def records(loss, rows=60, features=4, seed=0):
    """Rows of norm B, and labels."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, features))
    X *= loss.row_norm / np.linalg.norm(X, axis=1)[:, None] * (1 - 1e-12)
    return torch.from_numpy(X), torch.from_numpy(rng.integers(0, max(2, loss.outputs), rows))


def test_a_row_of_weight_two_counts_as_two_rows(loss):
    """Whole weights: the same sums as those of a data set with copies."""
    X, y = records(loss)
    weights = torch.tensor([1, 2, 3][: max(2, loss.outputs)])
    copies = torch.arange(len(y)).repeat_interleave(weights[y])
    weighted = Objective(Weighted(loss.loss, tuple(weights.tolist())), X, y, divisor=1.0)
    copied = Objective(loss.loss, X[copies], y[copies], divisor=1.0)
    theta = torch.randn(*weighted.shape, dtype=torch.float64, generator=torch.Generator())
    for verb in ("gradient", "value_and_gradient"):
        torch.testing.assert_close(getattr(weighted, verb)(theta), getattr(copied, verb)(theta))
    moved = torch.ones_like(theta)
    torch.testing.assert_close(
        weighted.hessian_product(theta)(moved), copied.hessian_product(theta)(moved)
    )


def test_the_minimiser_is_scikit_learns(loss):
    X, y = records(loss, rows=200)
    objective = Objective(loss, X, y)
    theta = solve(objective, torch.zeros(*objective.shape, dtype=torch.float64), tolerance=1e-10)
    known = LogisticRegression(
        C=1 / (loss.l2 * len(y)),
        class_weight=dict(enumerate(loss.weights)),
        fit_intercept=False,
        tol=1e-10,
        max_iter=10_000,
    ).fit(X.numpy(), y.numpy())
    np.testing.assert_allclose(theta.numpy(), known.coef_, atol=1e-5)


def test_the_residual_is_the_derivative_of_the_value(loss):
    X, y = records(loss)
    scores = (X @ torch.randn(4, loss.outputs, dtype=torch.float64)).requires_grad_(True)
    (slopes,) = torch.autograd.grad(loss.value(scores, y).sum(), scores)
    torch.testing.assert_close(loss.residual(scores.detach(), y), slopes)
    moved = torch.randn_like(slopes)
    near = [loss.residual(scores.detach() + sign * 1e-6 * moved, y) for sign in (1, -1)]
    bent = loss.residual_derivative(scores.detach(), moved, y)
    torch.testing.assert_close(bent, (near[0] - near[1]) / 2e-6, atol=1e-7, rtol=1e-5)


def test_every_constant_holds_for_every_row_and_the_heaviest_comes_near(loss):
    X, y = records(loss, rows=4000)
    steep, bent = 0.0, 0.0
    for size in (0.0, 1.0, 30.0):
        theta = size * torch.randn(loss.outputs, 4, dtype=torch.float64)
        scores = X @ theta.T
        steep = max(steep, float((loss.residual(scores, y).norm(dim=1) * X.norm(dim=1)).max()))
        moved = torch.randn_like(scores)
        moved /= moved.norm(dim=1, keepdim=True)
        product = loss.residual_derivative(scores, moved, y).norm(dim=1)
        bent = max(bent, float((product * X.norm(dim=1) ** 2).max()))
    assert 0.9 * loss.lipschitz < steep <= loss.lipschitz
    assert 0.8 * loss.curvature < bent <= loss.curvature * (1 + 1e-12)
    at_zero = loss.value(torch.zeros(2, loss.outputs, dtype=torch.float64), y[:2])
    assert float(at_zero.max()) <= loss.largest_at_zero * (1 + 1e-12)
    assert loss.assumptions().smoothness == loss.curvature + loss.l2


def test_without_targets_the_derivative_is_that_of_the_heaviest_label(loss):
    X, _ = records(loss)
    scores = X @ torch.ones(4, loss.outputs, dtype=torch.float64)
    heaviest = torch.full((len(X),), int(np.argmax(loss.weights)))
    moved = torch.ones_like(scores)
    torch.testing.assert_close(
        loss.residual_derivative(scores, moved), loss.residual_derivative(scores, moved, heaviest)
    )


@pytest.mark.parametrize("large", [1.0, 1e4])
def test_the_arithmetic_error_of_a_gradient_is_within_its_bound(large):
    """Against 80 bits; the bound of the same loss without weights is too small for large ones."""
    loss = Weighted(Logistic(0.05), (large, 0.3))
    X, y = records(loss, rows=700)
    theta = torch.full((1, 4), 3.0, dtype=torch.float64)
    found = Objective(loss, X, y).gradient(theta)
    wide, labels = X.numpy().astype(np.longdouble), y.numpy()
    weight = np.where(labels > 0, np.longdouble(0.3), np.longdouble(large))
    share = 1 / (1 + np.exp(-(wide @ theta.numpy()[0].astype(np.longdouble))))
    exact = (weight * (share - (labels > 0))) @ wide / 700 + np.longdouble(0.05) * 3
    error = float(np.linalg.norm(found.numpy()[0] - exact))
    bound = gradient_rounding(loss, rows=700, features=4, divisor=700, theta_norm=6.0)
    assert error <= bound
    plain = gradient_rounding(loss.loss, rows=700, features=4, divisor=700, theta_norm=6.0)
    assert bound == pytest.approx(large * plain, rel=0.2)


def test_deletions_without_a_pass_are_not_offered(loss):
    """Their terms are those of the plain losses."""
    assert not has_terms(loss)
    assert math.isfinite(loss.gradient_bound(1.0))
