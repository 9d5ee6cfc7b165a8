"""The contract of every linear loss: exact derivatives, and constants that hold and are attained.

Constants are attacked by random points and by optimisation over rows of norm at most B, targets
and theta. A constant that an attack exceeds is unsound; one it cannot come within 1 % of is silly.
"""

import math

import numpy as np
import pytest
import torch
from scipy.optimize import minimize

from expunge.losses.logistic import Logistic
from expunge.losses.objective import Objective
from expunge.losses.softmax import Softmax
from expunge.losses.squared import Squared

FEATURES = 3
LOSSES = [
    Logistic(0.1),
    Logistic(0.01, row_norm=2.5),
    Softmax(2, 0.1),
    Softmax(3, 0.1, row_norm=0.4),
    Softmax(10, 0.01, row_norm=3.0),
    Squared(0.1, radius=2.0),
    Squared(0.02, row_norm=1.5, target_norm=4.0, radius=0.7),
]
ROUNDING = 1 + 1e-12


@pytest.fixture(params=LOSSES, ids=str)
def loss(request):
    return request.param


def some_targets(loss, rows, generator):
    if isinstance(loss, Squared):
        return 3 * loss.target_norm * torch.randn(rows, generator=generator, dtype=torch.float64)
    return torch.randint(0, max(2, loss.outputs), (rows,), generator=generator)


def some_scores(loss, *shape, scale=3.0, seed=0):
    generator = torch.Generator().manual_seed(seed)
    scores = scale * torch.randn(*shape, loss.outputs, generator=generator, dtype=torch.float64)
    return scores, some_targets(loss, shape[-1], generator)


def curvature_matrices(loss, scores):
    """Derivative of the residual by the scores: (rows, outputs, outputs)."""
    columns = torch.eye(loss.outputs, dtype=torch.float64)
    return torch.stack([loss.residual_derivative(scores, c.expand_as(scores)) for c in columns], -1)


# ---- derivatives ------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(11,), (4, 11), (2, 3, 11)], ids=["single", "stacked", "twice"])
def test_residual_is_the_derivative_of_value(loss, shape):
    scores, targets = some_scores(loss, *shape)
    value = loss.value(scores.requires_grad_(), targets)
    assert value.shape == shape
    (expected,) = torch.autograd.grad(value.sum(), scores)
    with torch.no_grad():
        torch.testing.assert_close(loss.residual(scores, targets), expected, rtol=1e-12, atol=1e-14)


def test_stacked_models_are_as_each_model_alone(loss):
    scores, targets = some_scores(loss, 4, 11)
    for name in ("value", "residual"):
        method = getattr(loss, name)
        alone = torch.stack([method(each, targets) for each in scores])
        torch.testing.assert_close(method(scores, targets), alone, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("shape", [(11,), (4, 11)], ids=["single", "stacked"])
def test_residual_derivative_is_the_derivative_of_residual(loss, shape):
    scores, targets = some_scores(loss, *shape)
    moved, _ = some_scores(loss, *shape, seed=1)
    value = loss.value(scores.requires_grad_(), targets).sum()
    (residual,) = torch.autograd.grad(value, scores, create_graph=True)
    (expected,) = torch.autograd.grad((residual * moved).sum(), scores)
    with torch.no_grad():
        torch.testing.assert_close(
            loss.residual_derivative(scores, moved), expected, rtol=1e-11, atol=1e-13
        )


def test_residual_matches_finite_differences(loss):
    """Central differences of step h err by h^2 f'''/6 + u f/h: below 1e-7 at h = 1e-5."""
    scores, targets = some_scores(loss, 11, scale=1.0)
    residual, step = loss.residual(scores, targets), 1e-5
    for output in range(loss.outputs):
        shift = torch.zeros_like(scores)
        shift[:, output] = step
        ahead, behind = (loss.value(scores + sign * shift, targets) for sign in (1, -1))
        slope = (ahead - behind) / (2 * step)
        torch.testing.assert_close(slope, residual[:, output], rtol=0, atol=1e-7)


def test_extreme_scores_stay_finite(loss):
    scores, targets = some_scores(loss, 11, scale=1e4)
    for result in (loss.value(scores, targets), loss.residual(scores, targets)):
        assert torch.isfinite(result).all()
    assert torch.isfinite(loss.residual_derivative(scores, torch.ones_like(scores))).all()


def test_no_method_changes_its_input(loss):
    scores, targets = some_scores(loss, 11)
    before = scores.clone()
    loss.value(scores, targets)
    loss.residual(scores, targets)
    loss.residual_derivative(scores, scores)
    assert torch.equal(scores, before)


# ---- constants --------------------------------------------------------------------------------


def placed(loss, flat):
    """A row of norm at most B and a theta, in the ball if there is one, from free parameters."""
    row, theta = flat[:FEATURES], flat[FEATURES:].reshape(loss.outputs, FEATURES)
    row = row * (loss.row_norm / torch.clamp(row.norm(), min=1.0))
    radius = getattr(loss, "radius", math.inf)
    if math.isfinite(radius):
        theta = theta * (radius / torch.clamp(theta.norm(), min=radius))
    return row[None], theta


def gradient_norm(loss, flat, target):
    row, theta = placed(loss, flat)
    scores = row @ theta.T
    (residual,) = torch.autograd.grad(loss.value(scores, target).sum(), scores, create_graph=True)
    return (residual.T @ row).norm()


def largest_curvature(loss, flat, target):
    row, theta = placed(loss, flat)
    matrix = curvature_matrices(loss, row @ theta.T)[0]
    return torch.linalg.eigvalsh((matrix + matrix.T) / 2)[-1] * (row * row).sum()


def extreme_targets(loss):
    if isinstance(loss, Squared):
        values = [-10 * loss.target_norm, -loss.target_norm, 0.0, 5.0 * loss.target_norm]
        return [torch.tensor([v], dtype=torch.float64) for v in values]
    return [torch.tensor([0]), torch.tensor([1])]


def attacked(quantity, loss):
    """The largest value that random points and L-BFGS ascent find."""
    rng, best = np.random.default_rng(0), 0.0
    size = FEATURES + loss.outputs * FEATURES
    for target in extreme_targets(loss):

        def descent(flat, target=target):
            at = torch.from_numpy(flat).requires_grad_()
            value = -quantity(loss, at, target)
            (slope,) = torch.autograd.grad(value, at)
            return float(value.detach()), slope.numpy()

        starts = [scale * rng.normal(size=size) for scale in (0.1, 1.0, 30.0) for _ in range(30)]
        values = [-descent(start)[0] for start in starts]
        best = max(best, *values)
        for index in np.argsort(values)[-3:]:
            for start in (starts[index], 0.3 * rng.normal(size=size)):
                best = max(best, -minimize(descent, start, jac=True, method="L-BFGS-B").fun)
    return best


def test_no_gradient_exceeds_lipschitz_and_some_come_close(loss):
    found = attacked(gradient_norm, loss)
    assert found <= loss.lipschitz * ROUNDING
    assert found >= 0.99 * loss.lipschitz


def test_no_curvature_exceeds_the_bound_and_some_come_close(loss):
    found = attacked(largest_curvature, loss)
    assert found <= loss.curvature * ROUNDING
    assert found >= 0.99 * loss.curvature


def test_every_loss_is_convex_in_its_scores(loss):
    for scale in (0.1, 1.0, 10.0, 100.0):
        scores, _ = some_scores(loss, 200, scale=scale)
        matrices = curvature_matrices(loss, scores)
        torch.testing.assert_close(matrices, matrices.mT, rtol=0, atol=1e-15)
        assert float(torch.linalg.eigvalsh(matrices).min()) >= -1e-15


def test_the_gradient_map_is_smooth_and_strongly_monotone_along_segments(loss):
    """m |v|^2 <= <grad(a) - grad(b), v> <= L |v|^2 for the whole objective, ridge included."""
    generator = torch.Generator().manual_seed(2)
    assumed = loss.assumptions(getattr(loss, "radius", None))
    rows = torch.randn(40, FEATURES, generator=generator, dtype=torch.float64)
    rows *= loss.row_norm / rows.norm(dim=1, keepdim=True)
    objective = Objective(loss, rows, some_targets(loss, 40, generator))
    for scale in (0.01, 1.0, 20.0):
        a, b = (
            scale * torch.randn(loss.outputs, FEATURES, generator=generator, dtype=torch.float64)
            for _ in range(2)
        )
        along = float(((objective.gradient(a) - objective.gradient(b)) * (a - b)).sum())
        squared = float(((a - b) ** 2).sum())
        assert assumed.strong_convexity * squared <= along * ROUNDING
        assert along <= assumed.smoothness * squared * ROUNDING


def test_strong_convexity_is_attained_in_a_direction_no_row_has(loss):
    rows = torch.zeros(5, FEATURES, dtype=torch.float64)
    rows[:, 0] = loss.row_norm
    targets = some_targets(loss, 5, torch.Generator().manual_seed(0))
    product = Objective(loss, rows, targets).hessian_product(
        torch.zeros(loss.outputs, FEATURES, dtype=torch.float64)
    )
    direction = torch.zeros(loss.outputs, FEATURES, dtype=torch.float64)
    direction[0, 1] = 1.0
    curvature = float((product(direction) * direction).sum())
    assert curvature == loss.assumptions(1.0).strong_convexity


@pytest.mark.parametrize("loss", [each for each in LOSSES if each.outputs <= 2], ids=str)
def test_smoothness_is_attained_by_equal_rows_at_the_origin(loss):
    """Two balanced classes, or any row of the squared loss."""
    rows = torch.zeros(5, FEATURES, dtype=torch.float64)
    rows[:, 0] = loss.row_norm
    origin = torch.zeros(loss.outputs, FEATURES, dtype=torch.float64)
    targets = some_targets(loss, 5, torch.Generator().manual_seed(0))
    direction = origin.clone()
    direction[:, 0] = torch.tensor([1.0, -1.0]).double()[: loss.outputs]
    direction /= direction.norm()
    product = Objective(loss, rows, targets).hessian_product(origin)(direction)
    assert float(product.norm()) == pytest.approx(loss.assumptions(1.0).smoothness, rel=1e-12)


def test_assumptions_are_enforced_and_follow_the_safe_rule(loss):
    """THEORY E34, 2.6: m = lambda, L = curvature + lambda, M without the ridge."""
    assumed = loss.assumptions(0.5)
    assert assumed.strong_convexity == loss.l2
    assert assumed.smoothness == loss.curvature + loss.l2
    assert assumed.lipschitz == loss.lipschitz
    assert assumed.weight_decay == loss.l2
    assert assumed.radius == 0.5
    assert assumed.regime == "strongly convex"
    for name in ("strong_convexity", "smoothness", "lipschitz", "weight_decay", "radius"):
        assert assumed.mark(name) == "enforced"


def test_the_gradient_bound_of_a_ball_is_at_most_the_lipschitz_constant(loss):
    assert loss.gradient_bound(min(1e9, getattr(loss, "radius", 1e9))) <= loss.lipschitz
    row = torch.full((1, FEATURES), loss.row_norm / math.sqrt(FEATURES), dtype=torch.float64)
    for theta_norm in (0.0, 0.1, 0.6):
        theta = torch.full((loss.outputs, FEATURES), 1.0, dtype=torch.float64)
        theta *= theta_norm / theta.norm()
        for target in extreme_targets(loss):
            residual = loss.residual(row @ theta.T, target)
            assert float((residual.T @ row).norm()) <= loss.gradient_bound(theta_norm) * ROUNDING
