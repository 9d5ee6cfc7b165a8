import math
from dataclasses import replace

import mpmath
import numpy as np
import pytest
import torch

from expunge.accounting.bounds import shift
from expunge.errors import NoCertificate
from expunge.losses import Logistic, Softmax, Squared
from expunge.losses import objective as objective_module
from expunge.losses.objective import Objective, gradient_rounding
from expunge.losses.tolerances import solution_norm
from expunge.unlearning.linear import residual as residual_module
from expunge.unlearning.linear.residual import Residual
from expunge.unlearning.model_file import SALT, add_salt
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


def test_the_secret_state_after_a_request_knows_the_retained_rows_only():
    job = job_of()
    after = without(job, [45, 70])
    outcome = forgotten(job)
    left = after.objective.gram()
    assert torch.equal(outcome.secret["gram"], left.total)
    assert left.rows == 98
    assert set(outcome.secret) == {"theta", "gram", "gram_of"}
    assert "the un-noised solution" in outcome.retained
    assert any("Gram matrix" in line for line in outcome.retained)


def test_requests_in_a_row_leave_the_gram_matrix_of_what_is_left(monkeypatch):
    """Of a sample, one row in three; rows that are gone are zeroed, as an operator does."""
    monkeypatch.setattr(objective_module, "SAMPLE", 33)
    job, strategy = job_of(), passes()
    outcome = strategy.fit(job)
    for gone in ([45, 70], [46, 72, 90]):
        job = without(job, gone)
        outcome = strategy.forget(job, outcome)
        job.features[gone] = 0
    assert 0 < job.objective.gram(job.roster.present).rows < 40
    assert_the_gram_is_of_what_is_left(job, outcome)


def assert_the_gram_is_of_what_is_left(job, outcome):
    fresh = job.objective.gram(job.roster.present)
    assert outcome.secret["gram_of"].tolist()[:2] == [fresh.rows, fresh.places]
    assert torch.equal(outcome.secret["gram"], fresh.total)


def test_a_request_reads_its_own_rows_for_the_gram_matrix_and_no_others(monkeypatch):
    job, strategy, seen = job_of(), passes(), []
    before, after = strategy.fit(job), without(job, [45, 70])
    gram = Objective.gram

    def watched(self, among=None):
        seen.append(among)
        return gram(self, among)

    monkeypatch.setattr(Objective, "gram", watched)
    strategy.forget(after, before)
    assert [one.nonzero()[:, 0].tolist() for one in seen] == [[45, 70]]


def test_two_requests_at_once_leave_nothing_of_the_first():
    job, strategy = job_of(), passes()
    after = without(without(job, [45]), [70])
    assert_the_gram_is_of_what_is_left(after, strategy.forget(after, strategy.fit(job)))


def test_a_state_of_other_rows_leaves_nothing_of_them():
    """As many rows, and not the same: the state forgot 45, the job 46 and then 47."""
    job, strategy = job_of(), passes()
    before = strategy.forget(without(job, [45]), strategy.fit(job))
    after = without(without(job, [46]), [47])
    assert_the_gram_is_of_what_is_left(after, strategy.forget(after, before))


def test_a_state_by_another_rule_is_not_subtracted_from(monkeypatch):
    job, strategy = job_of(), passes()
    before = strategy.fit(job)
    monkeypatch.setattr(objective_module, "STEPS", 2.0**15)
    after = without(job, [45, 70])
    assert_the_gram_is_of_what_is_left(after, strategy.forget(after, before))


@pytest.mark.parametrize("known", [False, True])
def test_a_sample_of_part_of_the_rows_is_never_carried_on(known, monkeypatch):
    monkeypatch.setattr(objective_module, "SAMPLE", 45)  # one row in two
    job, strategy = job_of(), passes()
    if known:
        before = strategy.fit(job)
        job = without(job, [45])
        before = strategy.forget(job, replace(before, secret=add_salt({"theta": before.theta})))
    else:
        job = without(job, [45])
        before = strategy.fit(job)
    for gone in ([50], [61], [72, 73]):
        job = without(job, gone)
        before = strategy.forget(job, before)
        assert_the_gram_is_of_what_is_left(job, before)


def test_what_an_older_version_knew_does_not_survive_a_request():
    job, strategy = job_of(), passes()
    before = strategy.fit(job)
    old = {"theta": before.theta, "values": torch.ones(5), "vectors": torch.eye(5)}
    after = strategy.forget(without(job, [45]), replace(before, secret=add_salt(old)))
    assert set(after.secret) == set(before.secret) - {SALT}


def test_rows_that_are_blank_already_leave_nothing_of_what_they_held():
    job, strategy = job_of(), passes()
    before, after = strategy.fit(job), without(job, [45, 70])
    after.features[[45, 70]] = 0
    assert_the_gram_is_of_what_is_left(after, strategy.forget(after, before))


def test_the_secret_state_does_not_depend_on_what_the_forgotten_rows_held():
    """The un-noised point may differ within its ball; the Gram matrix not at all."""
    states = []
    for value in (0.1, -0.4):
        job = job_of()
        job.features[[45, 70]] = value
        states.append(forgotten(job))
    one, other = states
    assert torch.equal(one.secret["gram"], other.secret["gram"])
    gap = float((one.secret["theta"] - other.secret["theta"]).norm())
    assert gap <= one.assumptions.initial_distance
    assert one.history == other.history
    assert one.assumptions == other.assumptions


@pytest.mark.parametrize("move", [2e-8, 1.0, math.nan, math.inf])
def test_a_solver_that_lies_gives_no_certificate(monkeypatch, move):
    job, strategy = job_of(), passes(1e-9)
    base = strategy.fit(job)
    monkeypatch.setattr(residual_module, "solve", lambda _, start, **__: start + move)
    with pytest.raises(NoCertificate, match="does not satisfy its own check"):
        strategy.forget(without(job, [45]), base)


def test_a_point_far_out_where_it_is_flat_is_covered_and_not_refused(monkeypatch):
    """A loose tolerance lets the solver stop tolerance/l2 away; the rounding bound reaches there.

    Data decides where it stops, so a refusal there would tell of the data (THEORY 5.1 d).
    """
    job, strategy = job_of(Logistic(l2=1e-2)), passes(1e3)
    base = strategy.fit(job)
    monkeypatch.setattr(residual_module, "solve", lambda _, start, **__: start + 1e3)
    found = strategy.forget(without(job, [45]), base)
    norm = float(found.secret["theta"].norm())
    assert solution_norm(job.loss) < norm < solution_norm(job.loss, None, 1e3)
    assert strategy.separation(job) >= 2 * (1e3 + job.resolution.gradient_rounding(norm)) / 1e-2


def test_a_point_too_far_out_gives_no_certificate(monkeypatch):
    job, strategy = job_of(Logistic(l2=1e-2)), passes(1e3)
    base = strategy.fit(job)
    monkeypatch.setattr(residual_module, "solve", lambda _, start, **__: start + 1e7)
    with pytest.raises(NoCertificate, match="own check"):
        strategy.forget(without(job, [45]), base)


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
