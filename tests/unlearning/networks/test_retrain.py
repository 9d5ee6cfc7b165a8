"""Retraining is exact: the model is the one that never saw the forgotten records."""

from dataclasses import replace

import pytest
import torch
from torch import nn

from expunge.accounting.issue import issue
from expunge.accounting.stated import Stated
from expunge.accounting.verification import differences
from expunge.core.module_state import fresh_state
from expunge.unlearning.networks.retrain import RetrainNetwork, exact_records
from expunge.unlearning.networks.training import Training
from tests.unlearning.networks.problems import bits, job_of, network, without

SHORT = Training(epochs=2, batch_size=16)


@pytest.mark.parametrize("start", ["public", "scratch"])
def test_it_is_bit_for_bit_the_model_without_the_forgotten_records(start):
    job, gone = job_of(), [0, 17, 59]
    rest = [i for i in range(60) if i not in gone]
    never = replace(
        job,
        inputs=job.inputs[rest],
        targets=job.targets[rest],
        roster=job_of(private=57).roster,
    )
    strategy = RetrainNetwork(start, SHORT)
    before = strategy.fit(job)
    assert bits(strategy.forget(without(job, gone), before).state) == bits(
        strategy.fit(never).state
    )
    assert bits(before.state) != bits(strategy.fit(never).state)


def test_the_starts_differ_and_only_one_rests_on_the_users_word():
    job = job_of()
    public, scratch = (RetrainNetwork(s, SHORT).fit(job) for s in ("public", "scratch"))
    assert bits(public.state) != bits(scratch.state)
    assert any("declared by the user" in line for line in public.declared)
    assert not any("declared by the user" in line for line in scratch.declared)


def test_its_record_is_epsilon_zero_and_recomputes():
    assumptions, history = exact_records(job_of())
    certificate = issue(
        assumptions,
        history,
        delta=1e-5,
        stated=Stated(strategy="retrain", records=job_of().roster.retained),
    )
    assert certificate.claim.epsilon == 0
    assert not differences(certificate)
    assert not any("assumed" in line for line in certificate.claim.statement)


def test_it_is_its_own_placebo():
    job, strategy = job_of(), RetrainNetwork(training=SHORT)
    outcome = strategy.fit(job)
    assert bits(strategy.placebo(job, outcome).state) == bits(outcome.state)


def test_another_start_is_refused():
    with pytest.raises(ValueError, match="'public' or 'scratch'"):
        RetrainNetwork("private")


def test_a_start_from_scratch_owes_nothing_to_the_model_in_hand():
    class Center(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("mean", torch.full((6,), 7.0))

        def forward(self, x):
            return x - self.mean

    module = network(extra=nn.Sequential(nn.BatchNorm1d(6), Center()))
    with torch.no_grad():
        for value in (*module.parameters(), module.body[1][0].running_mean):
            value.fill_(1e6)
    job = job_of(module)
    state, kept = fresh_state(job.module)
    assert kept == ["body.1.1.mean"]
    assert max(float(v.abs().max()) for v in state.values()) < 10
    outcome = RetrainNetwork("scratch", SHORT).fit(job)
    assert any("body.1.1.mean" in line for line in outcome.declared)


def test_a_loss_that_remembers_begins_anew_in_every_run():
    """Otherwise the records of an earlier run, forgotten ones too, would act on this one."""

    class Running(nn.CrossEntropyLoss):
        seen = 0.0

        def forward(self, outputs, targets):
            self.seen = self.seen + float(targets.float().mean())
            return super().forward(outputs, targets) * (1 + self.seen)

    job, strategy = job_of(loss=Running()), RetrainNetwork(training=SHORT)
    assert bits(strategy.fit(job).state) == bits(strategy.fit(job).state)
    assert job.loss.seen == 0
