"""The placebo is an exact deletion of the request's nominal cost."""

from dataclasses import replace

import pytest
import torch

from expunge.errors import NoCertificate
from expunge.losses import Logistic
from expunge.losses.objective import Objective
from expunge.unlearning.linear.budget import (
    metered,
    nominal_cost,
    within_budget,
)
from expunge.unlearning.linear.estimator import CertifiedClassifier
from expunge.unlearning.linear.langevin import Langevin, NoiseFirst
from expunge.unlearning.linear.residual import Residual
from expunge.unlearning.linear.retrain import Retrain
from tests.unlearning.problems import job_of, without
from tests.unlearning.records import labelled

STRATEGIES = [
    Residual(),
    Langevin(learn_steps=20, sigma=0.5),
    NoiseFirst(learn_steps=20, unlearn_steps=3),
    Retrain(),
]
GONE = [50, 51, 99]
PASS = 4 * 97 * 5


@pytest.fixture(params=STRATEGIES, ids=lambda s: s.name)
def strategy(request):
    return request.param


def problem(seed=1):
    return job_of(Logistic(l2=0.1), seed=seed)


def test_nothing_of_the_forgotten_records_is_in_it(strategy):
    """Planted: forgotten rows of infinities, and an old model of NaN."""
    job = without(problem(), GONE)
    before = strategy.fit(problem())
    expected = strategy.placebo(job, before).theta
    poisoned = replace(job, features=job.features.clone())
    poisoned.features[GONE] = torch.inf
    nothing = {
        name: torch.full_like(v, torch.nan if v.is_floating_point() else 0)
        for name, v in before.secret.items()
    }
    nan = {"theta": torch.full_like(before.theta, torch.nan)}
    ruined = replace(before, state=nan, secret=nothing)
    assert torch.equal(strategy.placebo(poisoned, ruined).theta, expected)


def test_noisy_strategies_run_the_requests_own_phases_from_the_beginning():
    for strategy in STRATEGIES[1:3]:
        job = without(problem(), GONE)
        before = strategy.fit(problem())
        request, arm = strategy.forget(job, before), strategy.placebo(job, before)
        assert arm.history == request.history
        assert not torch.equal(arm.theta, request.theta)


def test_retraining_is_its_own_placebo():
    job = without(problem(), GONE)
    assert torch.equal(Retrain().placebo(job, Retrain().fit(job)).theta, Retrain().fit(job).theta)


def test_a_meter_counts_products_as_on_paper():
    counted, meter = metered(without(problem(), GONE))
    objective, theta = counted.objective, torch.zeros(1, 5, dtype=torch.float64)
    objective.gradient(theta)
    assert meter.flops == PASS
    product = objective.hessian_product(theta)
    assert meter.flops == 1.5 * PASS
    product(theta)
    objective.value_and_gradient(theta)
    assert meter.flops == 3.5 * PASS
    gram = objective.gram()
    assert meter.flops == 3.5 * PASS + 2 * 97 * 25
    inverse = objective.approximate_inverse(gram, 0.2)
    inverse(theta)
    assert meter.flops == pytest.approx(3.5 * PASS + 2 * 97 * 25 + 125 / 3 + 4 * 25)


def test_metering_changes_no_result():
    job = without(problem(), GONE)
    counted, meter = metered(job)
    assert torch.equal(Residual().fit(counted).theta, Residual().fit(job).theta)
    assert meter.flops > PASS


def test_a_spent_budget_stops_at_the_best_point_seen():
    job = replace(without(problem(), GONE), loss=Logistic(l2=1e-4))
    norms = []
    for passes in (0, 1, 6, 12, 60):
        theta = within_budget(job, tolerance=1e-9, passes=passes)
        norms.append(float(job.objective.gradient(theta).norm()))
    assert norms == sorted(norms, reverse=True)
    assert norms[0] == float(job.objective.gradient(job.beginning).norm())
    assert 1e-9 < norms[2] < norms[0]
    assert norms[-1] <= 1e-9


def test_nominal_costs_depend_on_counts_and_settings_alone():
    one, other = (without(problem(), gone) for gone in (GONE, [40, 41, 42]))
    assert nominal_cost(one) == nominal_cost(other)
    through = PASS + 4 * 25  # and the preconditioner
    gram = 2 * len(GONE) * 25 + 125 / 3
    assert nominal_cost(one) == pytest.approx(16 * through + gram)
    flatter = replace(one, loss=Logistic(l2=1e-5))
    assert nominal_cost(flatter) - gram == pytest.approx(4 * 16 * through)


def test_a_nominal_cost_counts_the_last_request_alone():
    job = without(without(problem(), GONE), [70])
    other = without(without(problem(), [70]), GONE)
    of_rows = 2 * (len(GONE) - 1) * 25  # taken out of the Gram matrix
    assert nominal_cost(other) - nominal_cost(job) == pytest.approx(of_rows)


@pytest.mark.parametrize("l2", [1e-2, 1e-4])
def test_a_real_warm_start_stays_within_twice_its_nominal_cost(l2):
    job = replace(problem(), loss=Logistic(l2=l2))
    before = Residual().fit(job)
    counted, meter = metered(without(job, GONE))
    Residual().forget(counted, before)
    assert meter.flops < 2 * nominal_cost(counted)


def test_a_metered_job_keeps_its_meter_when_it_is_changed():
    counted, meter = metered(problem())
    assert replace(counted, seed=5).meter is meter
    assert isinstance(counted.objective, Objective)


def classifier(strategy, seed=0):
    rows, labels = labelled(80, seed=seed)
    made = CertifiedClassifier(strategy=strategy, l2=0.1, random_state=5)
    return made.fit(rows[:60], labels[:60], public=(rows[60:], labels[60:])), rows, labels


def test_an_estimator_shows_the_placebo_of_a_request_before_it_is_made(strategy):
    made, rows, labels = classifier(strategy)
    expected = strategy.placebo(without(made.fitted_.job, [20, 21]), made.fitted_.outcome).theta
    before = made.coef_.copy()
    found = made.placebo([0, 1])
    assert torch.equal(found.theta, expected)
    assert found.predict(rows).shape == labels.shape
    assert (made.coef_ == before).all()
    assert made.forget([0, 1]).forgotten == 2


def test_a_placebo_is_refused_as_the_request_would_be():
    made, _, _ = classifier(Residual())
    made.forget(3)
    with pytest.raises(ValueError, match="already forgotten"):
        made.placebo(3)
    made.fitted_.job.features[5] += 1
    with pytest.raises(NoCertificate, match="stored records changed"):
        made.placebo(4)
