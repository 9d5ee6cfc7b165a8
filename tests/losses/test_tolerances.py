"""Tolerances: refused at fit by public constants alone; after that every data set gets there."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from expunge import CertifiedClassifier, CertifiedRegressor, Residual, Retrain
from expunge.losses import Declared, Logistic, Softmax, Squared, solver
from expunge.losses.objective import Objective
from expunge.losses.tolerances import Resolution, solution_norm
from expunge.unlearning.linear.linear_job import attainable
from expunge.unlearning.networks.head import Head
from tests.unlearning.problems import job_of, without


def huber(scores, targets):
    """Slope at most 1, bend at most 1, and no curvature at all away from the targets."""
    return torch.nn.functional.huber_loss(scores[:, 0], targets.double(), reduction="none")


LOSSES = {
    "logistic": Logistic(1e-2),
    "logistic, long rows": Logistic(1e-3, row_norm=30.0),
    "softmax": Softmax(3, 1e-3),
    "squared": Squared(1e-3, target_norm=50.0),
    "squared in a ball": Squared(1e-2, target_norm=5.0, radius=0.1),
    "declared": Declared(huber, slope=1.0, bend=1.0, l2=1e-3),
}


@pytest.fixture(params=LOSSES)
def loss(request):
    return LOSSES[request.param]


def odd_rows(loss, kind, rows=60, features=5):
    """Tables as an adversary would choose them, within the public bound on rows."""
    generator = torch.Generator().manual_seed(3)
    x = torch.randn(rows, features, generator=generator, dtype=torch.float64)
    if kind == "one direction":
        x = x[:, :1] * torch.ones(1, features, dtype=torch.float64)
    if kind == "scales apart":
        x = x * torch.logspace(0, -9, features, dtype=torch.float64)
    if kind == "nothing there":
        x = torch.zeros_like(x)
    norms = x.norm(dim=1, keepdim=True)
    x = torch.where(norms > 0, x * loss.row_norm / norms.clamp_min(1e-300), x)
    if kind == "tiny rows":
        x = x * 1e-12
    y = torch.arange(rows) % max(2, loss.outputs)
    if isinstance(loss, Squared | Declared):
        y = torch.where(torch.arange(rows) % 2 == 0, 1e9, -1e9).double()
    return x, y


def job_with(loss, kind):
    features, targets = odd_rows(loss, kind)
    return replace(job_of(loss, private=60, public=0), features=features, targets=targets)


KINDS = ("random", "one direction", "scales apart", "nothing there", "tiny rows")


@pytest.mark.parametrize("kind", KINDS)
def test_the_least_tolerance_is_reached_whatever_the_records_are(loss, kind):
    job = job_with(loss, kind)
    strategy = Residual(job.resolution.least_tolerance())
    base = strategy.fit(job)
    found = strategy.forget(without(job, list(range(0, 60, 3))), base)
    assert float(found.secret["theta"].norm()) <= solution_norm(loss)


@pytest.mark.parametrize("kind", KINDS)
def test_the_slow_solver_alone_reaches_it_too(loss, kind, monkeypatch):
    """Newton stands still, L-BFGS too: descent by 1/L is all there is."""
    loss = replace(loss, l2=0.1 * loss.curvature)
    monkeypatch.setattr(solver, "_newton_direction", lambda _, theta, *__: torch.zeros_like(theta))
    monkeypatch.setattr(solver, "_lbfgs", lambda _, theta, *__: theta)
    job = job_with(loss, kind)
    tolerance = job.resolution.least_tolerance()
    theta = solver.solve(job.objective, job.beginning, tolerance=tolerance / 2)
    assert float(job.objective.gradient(theta).norm()) <= tolerance / 2


def test_descent_gives_up_below_the_floor_instead_of_going_round_for_ever(monkeypatch):
    monkeypatch.setattr(solver, "_newton_direction", lambda _, theta, *__: torch.zeros_like(theta))
    monkeypatch.setattr(solver, "_lbfgs", lambda _, theta, *__: theta)
    job = job_with(Logistic(1e-2), "random")
    passes = []
    gradient = Objective.gradient
    monkeypatch.setattr(
        Objective, "gradient", lambda self, theta: passes.append(1) or gradient(self, theta)
    )
    with pytest.raises(solver.NotConverged):
        solver.solve(job.objective, job.beginning, tolerance=1e-25)
    assert len(passes) < 200  # line searches that find nothing


def test_a_smaller_tolerance_is_refused_at_fit_and_the_least_is_named(loss):
    job = job_with(loss, "random")
    least = job.resolution.least_tolerance()
    job.resolution.check(least)
    for strategy in (Residual(0.9 * least), Retrain(0.9 * least)):
        with pytest.raises(ValueError, match=r"^tolerance: ") as refused:
            strategy.fit(job)
        assert f"at least {least:.1e}" in str(refused.value)


def test_the_least_tolerance_is_at_least_twice_the_gradients_rounding(loss):
    resolution = job_with(loss, "random").resolution
    rounding = resolution.gradient_rounding(solution_norm(loss))
    assert resolution.least_tolerance() > 2 * rounding


def test_the_least_tolerance_looks_at_no_record(loss):
    """Counts, sizes and constants only: the same for any content of the same shape."""
    assert len({job_with(loss, kind).resolution.least_tolerance() for kind in KINDS}) == 1


def test_the_floor_grows_with_the_declared_bend():
    """A score's error moves the derivative by up to `bend` times as much."""
    flat, bent = (Declared(huber, slope=1.0, bend=bend) for bend in (1.0, 1000.0))
    assert Resolution(bent, 100, 5).floor(0.0) > 100 * Resolution(flat, 100, 5).floor(0.0)


def test_no_tolerance_will_do_where_rows_are_absurdly_long():
    loss = Logistic(1e-2, row_norm=1e15)
    job = job_with(loss, "random")
    assert job.resolution.least_tolerance() == math.inf
    with pytest.raises(ValueError, match="smaller row_norm or a larger l2"):
        Residual(1.0).fit(job)


def test_a_strategy_that_is_only_named_takes_the_least_where_that_is_more():
    long_rows = Logistic(1e-2, row_norm=1000.0)
    job = job_with(long_rows, "random")
    assert attainable(Residual(), job).tolerance == job.resolution.least_tolerance() > 1e-9
    short_rows = Logistic(1e-2)
    job = job_with(short_rows, "random")
    assert attainable(Residual(), job) == Residual()


@pytest.mark.parametrize("name", ["auto", "residual", "retrain"])
def test_estimators_with_large_numbers_forget_by_a_named_strategy(name):
    rng = np.random.default_rng(0)
    x, y = 1e3 * rng.normal(size=(80, 4)), 1e5 * rng.normal(size=80)
    given = {"row_norm": 4e3, "strategy": name, "released": False}
    for estimator in (
        CertifiedClassifier(**given).fit(x, y > 0),
        CertifiedRegressor(**given, target_norm=1e5).fit(x, y),
    ):
        assert estimator.forget([1, 2]).claim.epsilon <= 1.0


def test_estimators_refuse_a_record_of_theirs_whose_tolerance_is_too_small():
    x, y = np.eye(4), np.array([0, 1, 0, 1])
    with pytest.raises(ValueError, match="tolerance: 1e-15 is below what rounding allows"):
        CertifiedClassifier(strategy=Residual(1e-15)).fit(x, y)


def test_the_ball_of_noisy_descent_bounds_no_solution():
    """`residual` knows no ball: its solution may lie outside, and is bounded by the ridge."""
    loss = Squared(1e-2, target_norm=1.0, radius=1e-3)
    assert solution_norm(loss) >= math.sqrt(2 * loss.largest_at_zero / loss.l2) * 1.01
    center = torch.full((1, 4), 30.0, dtype=torch.float64)
    reach = float(center.norm())
    within = min(
        loss.gradient_bound(reach) / loss.l2,
        math.sqrt(2 * (0.5 + loss.gradient_bound(reach) * reach) / loss.l2),
    )
    assert solution_norm(loss, center) >= reach + within


def test_a_heads_tolerance_is_checked_like_any_other():
    with pytest.raises(ValueError, match="tolerance"):
        Head(l2=1e-4, tolerance=1e-17).residual(Logistic(1e-4)).fit(
            job_with(Logistic(1e-4), "random")
        )
