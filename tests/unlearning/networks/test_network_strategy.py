"""What strategies for networks answer beside the verbs."""

from dataclasses import replace

import pytest

from expunge.accounting import Assumptions, History, Phase, account
from expunge.accounting.target import EpsilonDelta
from expunge.core.flops import training_flops
from expunge.unlearning.networks.network_strategy import (
    Foreseen,
    foreseen_words,
    passes,
    rows_of_a_step,
)
from expunge.unlearning.networks.retrain import RetrainNetwork
from expunge.unlearning.networks.training import Training
from expunge.unlearning.schemes import Cyclic, FullBatch, PoissonBatch
from expunge.unlearning.strategy import registered_strategies
from tests.unlearning.networks.problems import job_of, without


def judged(sigma):
    loss = Assumptions(strong_convexity=0.1, smoothness=1.0, lipschitz=1.0)
    return account(loss, History((Phase(10, 0.5, sigma, 100, 5),)), delta=1e-5)


def test_passes_are_over_the_records_that_are_there():
    job = job_of()
    one = 100 * training_flops(job.module, job.inputs)
    assert passes(job, 3 * one) == pytest.approx(3)
    assert passes(without(job, range(50)), one) == pytest.approx(2)
    assert passes(job, RetrainNetwork(training=Training(epochs=7)).cost(job)) == pytest.approx(7)


def priced(account, target):
    class Told(Foreseen, RetrainNetwork):
        def foreseen(self, job, forget):
            return account

    job = replace(job_of(), target=EpsilonDelta(target, 1e-5))
    return Told(training=Training(epochs=7)).price(job, 5)


def test_a_price_says_what_the_certificate_would():
    good, poor = judged(1.0), judged(0.05)
    row = priced(good, good.epsilon)
    assert (row.epsilon, row.guarantee, row.excluded) == (good.epsilon, good.best, None)
    assert (row.name, row.steps) == ("retrain", pytest.approx(7))
    row = priced(poor, 0.1)
    assert row.excluded == foreseen_words(poor, 0.1)[0]
    assert "misses the target" in row.excluded or "vacuous" in row.excluded


def test_a_vacuous_account_has_no_epsilon():
    row = priced(judged(1e-6), 1.0)
    assert row.epsilon is None
    assert row.excluded.startswith("vacuous")


def test_a_step_sees_its_scheme_s_share_of_the_records():
    job = without(job_of(), range(50))
    seen = [rows_of_a_step(job, s) for s in (FullBatch(), Cyclic(5), PoissonBatch(0.1))]
    assert seen == [50, 10, 5]


def test_which_strategies_leave_the_backbone_as_it_was_and_which_draw_it_anew():
    known = registered_strategies("network")
    assert {n for n, s in known.items() if s.keeps_backbone} == {"head", "head+finetune"}
    assert {n for n, s in known.items() if not s.runs_the_loss} == {"head"}
    assert not any(strategy.starts_anew for strategy in known.values())
    assert RetrainNetwork(start="scratch").starts_anew
