"""Whether a certificate bought anything, in numbers and in words."""

from dataclasses import replace

import pytest
import torch

from expunge.errors import InvalidInput
from expunge.unlearning.networks.comparison import Arm, Comparison, compared, correct
from expunge.unlearning.networks.head import Head
from expunge.unlearning.networks.retrain import RetrainNetwork
from expunge.unlearning.networks.training import Training
from tests.unlearning.networks.problems import job_of, network, rows, without


def comparison(placebo, warm_start, strategy="head"):
    arms = [Arm(0.9 - gain, 1e6, gain, 0.004) for gain in (placebo, warm_start)]
    return Comparison(strategy, Arm(0.9, 1e6), *arms, retraining=1e8, rows=1000)


def test_a_clear_gain_over_both_arms_was_bought():
    found = comparison(0.05, 0.02)
    assert found.bought
    assert found.sentence.startswith("the certificate bought 2.0 points")


@pytest.mark.parametrize("gains", [(0.007, 0.05), (0.05, 0.0), (-0.02, -0.03)], ids=str)
def test_anything_else_bought_nothing_and_the_sentence_says_so(gains):
    found = comparison(*gains)
    assert not found.bought
    assert "bought nothing measurable" in found.sentence
    best = "placebo" if gains[0] <= gains[1] else "warm start"
    assert f"the {best}, an exact deletion" in found.sentence


def test_equal_networks_bought_nothing_even_with_no_error():
    arms = Arm(0.9, 1e6, 0.0, 0.0)
    assert not Comparison("head", arms, arms, arms, retraining=1e8, rows=10).bought


def test_the_line_tells_accuracy_and_cost_of_every_arm():
    line = comparison(0.05, 0.02).line
    for part in ("0.9000", "0.8500", "0.8800", "1e+06 FLOPs", "1 % of retraining", "placebo"):
        assert part in line


def test_retraining_has_no_certificate_to_pay_for():
    assert "exact deletion" in comparison(0.0, 0.0, "retrain").sentence


def test_hits_are_counted_record_by_record():
    job, (inputs, targets) = job_of(), rows(30, seed=5)
    scores = job.module(inputs).detach()
    hits = correct(job, {}, (inputs, targets))
    assert hits.tolist() == (scores.argmax(1) == targets).tolist()
    one = job_of(network(classes=1))
    hits = correct(one, {}, (inputs, (targets > 0).float()))
    assert hits.tolist() == ((one.module(inputs)[:, 0] > 0) == (targets > 0)).tolist()
    with pytest.raises(InvalidInput, match="evaluate: accuracy needs classes"):
        correct(one, {}, (inputs, torch.linspace(0, 2, 30)))


def test_arms_cost_what_the_request_costs_and_gains_are_paired():
    job, strategy = without(job_of(), [0, 1, 2]), Head()
    before = strategy.fit(job_of())
    outcome = strategy.forget(job, before)
    held_out = rows(200, seed=9)
    yardstick = RetrainNetwork("scratch", Training(epochs=10, batch_size=4))
    found = compared(job, strategy, outcome, before, held_out, yardstick)
    assert found.placebo.flops == found.certified.flops == strategy.cost(job)
    assert found.warm_start.flops == pytest.approx(strategy.cost(job), rel=1e-9)
    assert found.retraining == yardstick.cost(job)
    for arm in (found.placebo, found.warm_start):
        assert arm.gain == pytest.approx(found.certified.accuracy - arm.accuracy, abs=1e-12)
    hits = correct(job, outcome.state, held_out)
    assert found.certified.accuracy == float(hits.double().mean())


def test_a_worthless_certificate_is_told_apart_from_a_good_one():
    """The planted fault: a released head of noise alone must not be said to buy anything."""
    job, strategy = without(job_of(), [0]), Head()
    before = strategy.fit(job_of())
    outcome = strategy.forget(job, before)
    noise = torch.randn(3, 6, generator=torch.Generator().manual_seed(0))
    ruined = replace(outcome, state=outcome.state | {"fc.weight": noise})
    found = compared(job, strategy, ruined, before, rows(200, seed=9), RetrainNetwork())
    assert found.placebo.gain < -5 * found.placebo.error
    assert not found.bought
