"""Passes end at a point that is checked, and leave the Gram matrix of the rows still there."""

import math
from dataclasses import replace

import pytest
import torch

from expunge.errors import NoCertificate
from expunge.losses import Logistic
from expunge.losses import objective as objective_module
from expunge.losses.objective import Objective
from expunge.losses.tolerances import solution_norm
from expunge.unlearning.linear import by_passes as by_passes_module
from expunge.unlearning.model_file import SALT, add_salt
from tests.unlearning.linear.test_residual import forgotten, passes
from tests.unlearning.problems import job_of, without


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
    monkeypatch.setattr(by_passes_module, "solve", lambda _, start, **__: start + move)
    with pytest.raises(NoCertificate, match="does not satisfy its own check"):
        strategy.forget(without(job, [45]), base)


def test_a_point_far_out_where_it_is_flat_is_covered_and_not_refused(monkeypatch):
    """A loose tolerance lets the solver stop tolerance/l2 away; the rounding bound reaches there.

    Data decides where it stops, so a refusal there would tell of the data (THEORY 5.1 d).
    """
    job, strategy = job_of(Logistic(l2=1e-2)), passes(1e3)
    base = strategy.fit(job)
    monkeypatch.setattr(by_passes_module, "solve", lambda _, start, **__: start + 1e3)
    found = strategy.forget(without(job, [45]), base)
    norm = float(found.secret["theta"].norm())
    assert solution_norm(job.loss) < norm < solution_norm(job.loss, None, 1e3)
    assert strategy.separation(job) >= 2 * (1e3 + job.resolution.gradient_rounding(norm)) / 1e-2


def test_a_point_too_far_out_gives_no_certificate(monkeypatch):
    job, strategy = job_of(Logistic(l2=1e-2)), passes(1e3)
    base = strategy.fit(job)
    monkeypatch.setattr(by_passes_module, "solve", lambda _, start, **__: start + 1e7)
    with pytest.raises(NoCertificate, match="own check"):
        strategy.forget(without(job, [45]), base)
