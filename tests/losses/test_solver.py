"""The solver: it reaches its tolerance or says that it did not; the path may vary, not the point.

Any two points with gradients of at most tol lie within 2 tol/m of each other.
"""

from dataclasses import replace

import pytest
import torch

from expunge.errors import NotConverged
from expunge.losses import solver
from expunge.losses.logistic import Logistic
from expunge.losses.objective import Objective
from expunge.losses.softmax import Softmax
from expunge.losses.solver import solve
from expunge.losses.squared import Squared

FEATURES = 12
LOSSES = [Logistic(1e-5), Softmax(4, 1e-5), Squared(1e-5)]


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(params=LOSSES, ids=["logistic", "softmax", "squared"])
def loss(request):
    return request.param


def problem(loss, *, spread=3.0, rows=600, seed=0, dtype=torch.float64, keep=None):
    """Feature scales from 1 down to 10^-spread: the Gram matrix has condition 10^(2 spread)."""
    generator = torch.Generator().manual_seed(seed)
    features = torch.randn(rows, FEATURES, generator=generator, dtype=torch.float64)
    mixing = torch.linalg.qr(torch.randn(FEATURES, FEATURES, generator=generator).double())[0]
    features = features * torch.logspace(0, -spread, FEATURES, dtype=torch.float64) @ mixing
    features /= features.norm(dim=1).max()
    scores = 20 * features[:, :4] + torch.randn(rows, 4, generator=generator, dtype=torch.float64)
    if isinstance(loss, Squared):
        targets = scores[:, 0]
    else:
        targets = scores[:, : max(2, loss.outputs)].argmax(1)
    return Objective(loss, features.to(dtype), targets, keep)


def start_of(objective):
    return torch.zeros(*objective.shape, dtype=torch.float64)


@pytest.fixture
def passes(monkeypatch):
    """How often the data were gone through."""
    counted = []
    over_parts = Objective.over_parts

    def counting(self, compute):
        counted.append(1)
        return over_parts(self, compute)

    monkeypatch.setattr(Objective, "over_parts", counting)
    return counted


# ---- the tolerance ----------------------------------------------------------------------------


@pytest.mark.parametrize("preconditioned", [False, True])
@pytest.mark.parametrize("tolerance", [1e-6, 1e-10])
def test_it_reaches_the_tolerance_on_ill_conditioned_problems(loss, tolerance, preconditioned):
    objective = problem(loss)
    eigenvalues = torch.linalg.eigvalsh(objective.features.T @ objective.features)
    assert eigenvalues[-1] / eigenvalues[0] > 1e4
    gram = objective.gram() if preconditioned else None
    theta = solve(objective, start_of(objective), tolerance=tolerance, gram=gram)
    assert float(objective.gradient(theta).norm()) <= tolerance


def test_float32_rows_reach_a_tolerance_far_below_their_precision(loss):
    """float32 rows only make the direction coarser; the check is on the float64 gradient."""
    objective = problem(loss, spread=1.0, dtype=torch.float32)
    gram = objective.gram()
    theta = solve(objective, start_of(objective), tolerance=1e-10, gram=gram)
    assert float(objective.gradient(theta).norm()) <= 1e-10


def test_it_finds_the_closed_form_of_ridge_regression():
    loss = Squared(1e-3, target_norm=100.0)
    objective = problem(loss, spread=2.0)
    theta = solve(objective, start_of(objective), tolerance=1e-11)
    features, n = objective.features, objective.rows
    ridge = loss.l2 * torch.eye(FEATURES, dtype=torch.float64)
    expected = torch.linalg.solve(
        features.T @ features / n + ridge, features.T @ objective.targets / n
    )
    assert float((theta[0] - expected).norm()) <= 2 * 1e-11 / loss.l2


def test_it_needs_no_work_at_the_minimum(loss, passes):
    objective = problem(loss)
    theta = solve(objective, start_of(objective), tolerance=1e-8)
    passes.clear()
    assert torch.equal(solve(objective, theta, tolerance=1e-8), theta)
    assert len(passes) == 1


def test_a_far_start_reaches_the_same_point(loss):
    objective = problem(loss, spread=1.0)
    tolerance, reached = 1e-9, []
    for start in (start_of(objective), start_of(objective) + 30.0):
        reached.append(solve(objective, start, tolerance=tolerance))
    assert float((reached[0] - reached[1]).norm()) <= 2 * tolerance / loss.l2


def test_the_start_is_left_alone(loss):
    objective = problem(loss)
    start = start_of(objective)
    solve(objective, start, tolerance=1e-6)
    assert torch.equal(start, start_of(objective))


# ---- the path ---------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES[:2], ids=["logistic", "softmax"])
def test_a_warm_start_needs_fewer_passes_than_a_cold_one(loss, passes):
    """Six records of 600 are deleted. A quadratic takes one Newton step from anywhere."""
    whole = problem(loss, spread=1.0)
    before = solve(whole, start_of(whole), tolerance=1e-9)
    keep = torch.arange(whole.rows) % 100 != 0
    retained = problem(loss, spread=1.0, keep=keep)
    gram = retained.gram()
    passes.clear()
    solve(retained, before, tolerance=1e-9, gram=gram)
    warm = len(passes)
    passes.clear()
    solve(retained, start_of(retained), tolerance=1e-9, gram=gram)
    assert warm < len(passes)


def test_a_preconditioner_changes_the_path_and_not_the_solution(loss, passes):
    objective = problem(loss)
    tolerance, start = 1e-9, start_of(objective)
    strange = problem(loss, seed=9).gram()
    reached, work = [], []
    for gram in (None, objective.gram(), strange):
        passes.clear()
        reached.append(solve(objective, start, tolerance=tolerance, gram=gram))
        work.append(len(passes))
    assert len(set(work)) > 1
    for theta in reached[1:]:
        assert float((theta - reached[0]).norm()) <= 2 * tolerance / loss.l2


# ---- when Newton fails ------------------------------------------------------------------------


def idle(objective, theta, *_):
    return torch.zeros_like(theta)


def uphill(objective, theta, gradient, *_):
    return gradient


@pytest.mark.parametrize("sabotage", [idle, uphill])
def test_without_newton_it_falls_back_to_lbfgs(loss, sabotage, monkeypatch):
    objective = problem(loss, spread=0.3)
    used = []
    lbfgs = solver._lbfgs
    monkeypatch.setattr(solver, "_newton_direction", sabotage)
    monkeypatch.setattr(solver, "_lbfgs", lambda *args: used.append(1) or lbfgs(*args))
    theta = solve(objective, start_of(objective), tolerance=1e-7)
    assert used
    assert float(objective.gradient(theta).norm()) <= 1e-7


def test_newton_alone_is_enough_when_nothing_is_wrong(loss, monkeypatch):
    monkeypatch.setattr(solver, "_lbfgs", lambda *_: pytest.fail("L-BFGS was needed"))
    objective = problem(loss, spread=1.0)
    gram = objective.gram()
    solve(objective, start_of(objective), tolerance=1e-9, gram=gram)


def test_a_bad_point_is_never_returned(loss, monkeypatch):
    objective = problem(loss)
    monkeypatch.setattr(solver, "_newton_direction", idle)
    monkeypatch.setattr(solver, "_lbfgs", lambda _, theta, *__: theta)
    monkeypatch.setattr(solver, "_descend", lambda _, theta, *__: (theta, 1.0))
    with pytest.raises(NotConverged, match="tolerance"):
        solve(objective, start_of(objective), tolerance=1e-7)


def test_newton_in_full_precision_helps_out_where_both_others_fail(loss, monkeypatch):
    """Rows in float32, a condition of 1e8; the quick Newton and L-BFGS stand still."""
    objective = problem(replace(loss, l2=1e-8), spread=1.0, dtype=torch.float32)
    newton, tried = solver._newton, []

    def slow_only(objective, theta, tolerance, apply, effort):
        tried.append(effort)
        if effort.dtype is None:
            return theta, float(objective.gradient(theta).norm())
        return newton(objective, theta, tolerance, apply, effort)

    monkeypatch.setattr(solver, "_newton", slow_only)
    monkeypatch.setattr(solver, "_lbfgs", lambda _, theta, *__: theta)
    monkeypatch.setattr(solver, "_descend", lambda *_: pytest.fail("descent was needed"))
    theta = solve(objective, start_of(objective), tolerance=1e-11)
    assert float(objective.gradient(theta).norm()) <= 1e-11
    assert tried[-1].dtype is torch.float64


@pytest.mark.parametrize("sabotage", [idle, uphill])
def test_without_newton_and_lbfgs_descent_gets_there(loss, sabotage, monkeypatch):
    objective = problem(replace(loss, l2=1e-2), spread=1.0)
    monkeypatch.setattr(solver, "_newton_direction", sabotage)
    monkeypatch.setattr(solver, "_lbfgs", lambda _, theta, *__: theta)
    theta = solve(objective, start_of(objective), tolerance=1e-10)
    assert float(objective.gradient(theta).norm()) <= 1e-10


def test_a_tolerance_below_rounding_is_refused(loss):
    objective = problem(loss, spread=0.3)
    with pytest.raises(NotConverged):
        solve(objective, start_of(objective), tolerance=1e-25)


def test_a_start_that_is_not_finite_is_refused(loss):
    objective = problem(loss)
    with pytest.raises(NotConverged):
        solve(objective, start_of(objective) + float("nan"), tolerance=1e-6)
