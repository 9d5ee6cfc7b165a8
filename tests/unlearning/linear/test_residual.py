import math
from dataclasses import replace

import mpmath
import numpy as np
import pytest
import torch

from expunge.accounting.bounds import shift
from expunge.losses import Logistic, Softmax, Squared
from expunge.losses.objective import gradient_rounding
from expunge.losses.tolerances import solution_norm
from expunge.unlearning.linear import residual as residual_module
from expunge.unlearning.linear.residual import Residual
from tests.unlearning.constants import contradicted, direction, falsified, worst_job
from tests.unlearning.problems import job_of, without

LOSSES = (
    Logistic(l2=1e-2),
    Softmax(3, l2=0.3),
    Squared(l2=1e-3, target_norm=2.0),
    Logistic(l2=10.0, row_norm=1.5),
)
TARGETS = ((1.0, 1e-5), (0.01, 1e-9), (8.0, 1e-3), (1e-4, 1e-12))


def passes(tolerance=1e-9):
    """The strategy with passes only: noise for no more than the tolerance needs."""
    return Residual(tolerance, distance=0)


def forgotten(job, strategy=None, rows=(45, 70)):
    strategy = strategy or passes()
    return strategy.forget(without(job, list(rows)), strategy.fit(job))


def delta_of(mu, epsilon):
    """Of N(mu, 1) against N(0, 1), in 60 digits."""
    with mpmath.workdps(60):
        mu, epsilon = mpmath.mpf(mu), mpmath.mpf(epsilon)
        first = mpmath.ncdf(-epsilon / mu + mu / 2)
        return first - mpmath.exp(epsilon) * mpmath.ncdf(-epsilon / mu - mu / 2)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
@pytest.mark.parametrize("target", TARGETS)
def test_twice_the_ball_and_the_grid_over_the_noise_meet_the_target(loss, target):
    """mu = (2 z + h sqrt(d))/noise_std, recomputed; delta(epsilon) in high precision."""
    job, strategy = job_of(loss, target=target), passes(1e-9)
    noise_std, grid = strategy.noise(job)
    rounding = gradient_rounding(
        loss, rows=100, features=5, divisor=100, theta_norm=solution_norm(loss)
    )
    ball = (strategy.tolerance + rounding) / loss.l2
    mu = (2 * ball + grid * math.sqrt(job.dimension)) / noise_std
    assert delta_of(mu, target[0]) <= target[1]
    certified = shift.bound(*strategy.record(job, noise_std, grid))
    assert mu <= certified.mu * (1 + 1e-12)
    assert certified.epsilon(target[1]) <= target[0]
    assert delta_of(certified.mu * 1.05, target[0]) > target[1]  # and little is wasted


@pytest.mark.parametrize("target", TARGETS)
def test_the_grid_is_a_power_of_two_and_costs_a_256th(target):
    job = job_of(target=target)
    noise_std, grid = passes().noise(job)
    assert math.frexp(grid)[0] == 0.5
    spent = grid * math.sqrt(job.dimension)
    mu = passes().separation(job) / noise_std
    assert spent <= mu * 1.05 * noise_std / 256


def test_noise_too_small_to_be_exact_is_refused_at_fit_before_any_record_is_looked_at(monkeypatch):
    """By public constants: a tiny tolerance beside a solution that could be large."""
    monkeypatch.setattr(residual_module, "MARGIN", 1e9)
    job = job_of()
    blank = replace(job, features=job.features * math.nan)
    with pytest.raises(ValueError, match=r"tolerance: noise of .* is too small to be exact"):
        passes().fit(blank)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_the_noised_point_has_a_gradient_within_the_tolerance(loss):
    job = job_of(loss)
    after, strategy = without(job, [45, 70]), passes(1e-8)
    outcome = strategy.forget(after, strategy.fit(job))
    point = outcome.secret["theta"]
    gradient = after.objective.gradient(point)
    assert float(gradient.norm()) <= strategy.tolerance
    noise_std, grid = strategy.noise(after)
    drawn = outcome.theta - point
    # Six standard deviations in norm beyond the typical one; half a grid step of rounding each.
    reach = noise_std * (math.sqrt(job.dimension) + 6) + grid * math.sqrt(job.dimension)
    assert 0 < float(drawn.norm()) <= reach
    assert torch.equal(outcome.theta / grid, (outcome.theta / grid).round())


def test_the_fitted_model_is_the_minimiser_without_noise_or_certificate():
    job = job_of()
    one, other = passes().fit(job), passes().fit(job)
    assert torch.equal(one.theta, other.theta)
    assert one.history is None
    assert one.assumptions is None
    assert float(job.objective.gradient(one.theta).norm()) <= 1e-9


def test_noise_and_record_depend_on_counts_and_constants_only():
    job = job_of()
    other = job_of()
    other.features[40:] = 0.3
    other.targets[40:] = 0
    assert passes().noise(job) == passes().noise(other)
    assert passes().separation(job) == passes().separation(other)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_every_minimiser_is_within_the_stated_norm(loss):
    """||theta*|| <= sqrt(2 F(0)/l2), on data that push as hard as they can."""
    job = job_of(loss)
    job.features[:] = 0
    job.features[:, 0] = loss.row_norm
    job.targets[:] = 1
    if isinstance(loss, Squared):
        job = job_of(loss)
        job.targets[:] = 5  # beyond the clip
    assert float(passes().fit(job).theta.norm()) <= solution_norm(loss)


def test_a_released_phase_is_one_noisy_identity_step_from_the_stated_distance():
    job = job_of()
    outcome = forgotten(job)
    (phase,) = outcome.history.phases
    noise_std, _ = passes().noise(job)
    assert (phase.steps, phase.samples, phase.forgotten) == (1, 98, 0)
    assert phase.noise_std == noise_std
    assert outcome.assumptions.initial_distance == passes().separation(job)
    assert outcome.assumptions.mark("initial_distance") == "enforced"


def test_two_runs_draw_different_noise_around_the_same_point():
    job, strategy = job_of(), passes()
    base, after = strategy.fit(job), without(job, [45])
    one, other = strategy.forget(after, base), strategy.forget(after, base)
    assert torch.equal(one.secret["theta"], other.secret["theta"])
    assert not np.array_equal(one.theta.numpy(), other.theta.numpy())


@pytest.mark.parametrize("center_norm", [0.0, 50.0])
@pytest.mark.parametrize(
    "loss", [*LOSSES, Squared(l2=0.1, target_norm=0.5)], ids=lambda loss: type(loss).__name__
)
def test_the_printed_constants_hold_at_the_point_that_is_noised(loss, center_norm):
    job = worst_job(loss, center_norm)
    if center_norm:
        job.features[1:, 0] = 1e-3  # too little to pull the solution away from the center
    outcome = forgotten(job)
    printed, point = outcome.assumptions, outcome.secret["theta"]
    names = ("strong_convexity", "smoothness", "lipschitz", "initial_distance")
    assert printed.marks == dict.fromkeys(names, "enforced")
    assert "lipschitz" not in contradicted(printed, job, point)
    assert (printed.strong_convexity, printed.smoothness) == (0, 0)  # of the identity
    rounding = gradient_rounding(
        loss,
        rows=100,
        features=5,
        divisor=100,
        theta_norm=float(point.norm()),
        center_norm=center_norm,
    )
    assert printed.initial_distance >= 2 * (passes().tolerance + rounding) / loss.l2


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_a_bound_on_gradients_that_is_a_tenth_too_good_is_contradicted(loss):
    job = worst_job(loss)
    printed, reach = forgotten(job).assumptions, math.sqrt(2 * loss.largest_at_zero / loss.l2)
    # Only squares have longer gradients farther out; of the others' bound, all of space is part.
    reach = reach if isinstance(loss, Squared) else 5.0
    points = [sign * reach * direction(loss) for sign in (1, -1)]
    wrong = dict(falsified(printed))["lipschitz"]
    assert "lipschitz" not in contradicted(printed, job, *points)
    assert "lipschitz" in contradicted(wrong, job, *points)
