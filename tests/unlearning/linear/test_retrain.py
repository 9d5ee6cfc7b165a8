import math
from dataclasses import replace

import pytest
import torch

from expunge.accounting.account import account
from expunge.losses import Logistic, Softmax, Squared
from expunge.losses import objective as objective_module
from expunge.unlearning.linear.residual import Residual
from expunge.unlearning.linear.retrain import Retrain
from expunge.unlearning.model_file import SALT
from tests.unlearning.constants import contradicted, direction, even, falsified, worst_job
from tests.unlearning.problems import job_of, without

LOSSES = (Logistic(l2=0.1), Softmax(3, l2=0.1), Squared(l2=0.1))


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_epsilon_is_zero_and_the_gradient_of_the_rest_small(loss):
    job = job_of(loss)
    after = without(job, [45, 70])
    outcome = Retrain().forget(after, Retrain().fit(job))
    judged = account(outcome.assumptions, outcome.history, delta=1e-5)
    assert judged.epsilon == 0
    assert float(after.objective.gradient(outcome.theta).norm()) <= 1e-9


def test_from_a_sample_of_rows_it_is_bit_for_bit_as_if_the_forgotten_never_were(monkeypatch):
    monkeypatch.setattr(objective_module, "SAMPLE", 5)
    job = without(job_of(Logistic(l2=1e-3)), [45, 46, 70])
    never = replace(
        job,
        features=job.features[job.roster.present],
        targets=job.targets[job.roster.present],
        roster=job_of(private=57).roster,
    )
    assert torch.equal(Retrain().fit(job).theta, Retrain().fit(never).theta)


def test_the_model_is_a_function_of_the_retained_records_alone():
    """Neither what the old model was nor what the forgotten rows held changes one bit."""
    models = []
    for value, base in ((0.1, "retrain"), (-0.4, "residual")):
        job = job_of()
        job.features[[45, 70]] = value
        before = Retrain().fit(job) if base == "retrain" else Residual().fit(job)
        models.append(Retrain().forget(without(job, [45, 70]), before).theta)
    assert torch.equal(*models)


def test_nothing_secret_is_kept_and_nothing_is_random_but_the_salt_of_the_file():
    job = job_of()
    one, other = Retrain().fit(job), Retrain().fit(job)
    assert list(one.secret) == [SALT]
    assert one.salt != other.salt
    assert torch.equal(one.theta, other.theta)
    assert any("from scratch" in line for line in one.declared)


def test_the_phase_counts_what_remains():
    job = without(job_of(), [45, 70])
    (phase,) = Retrain().fit(job).history.phases
    assert (phase.samples, phase.forgotten, phase.sigma) == (98, 0, 0.0)


@pytest.mark.parametrize(
    "loss",
    [Logistic(l2=1e-2, row_norm=1.5), Softmax(3, l2=1e-2), Squared(l2=0.1, target_norm=2.0)],
    ids=lambda loss: type(loss).__name__,
)
def test_the_printed_constants_hold_wherever_the_solution_can_be(loss):
    """Within sqrt(2 F(0)/l2) of 0, F(0) the largest value that any records can give."""
    job = worst_job(loss)
    outcome = Retrain().fit(job)
    printed, reach = outcome.assumptions, math.sqrt(2 * loss.largest_at_zero / loss.l2)
    points = [outcome.theta, reach * direction(loss), -reach * direction(loss), even(job)]
    assert set(printed.marks.values()) == {"enforced"}
    assert contradicted(printed, job, *points) == set()
    for name, wrong in falsified(printed):
        assert contradicted(wrong, job, *points) == {name}


def test_gradients_at_the_solution_stay_within_the_bound_when_the_ridge_has_a_far_center():
    loss = Squared(l2=0.1, target_norm=0.5)
    job = worst_job(loss, center_norm=50.0)
    job.features[:, 0] = 1e-3  # too little to pull the solution away from the center
    job.features[0, 0] = 1.0
    outcome = Retrain().fit(job)
    assert float(outcome.theta.norm()) > 40
    assert contradicted(outcome.assumptions, job, outcome.theta) == set()
