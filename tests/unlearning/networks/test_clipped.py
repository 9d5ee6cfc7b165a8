"""The published baselines: their formulas, their noise, and the placebo that they do not beat."""

import math
from dataclasses import replace

import pytest
import torch
from torch import nn

from expunge.accounting.bounds import contraction, shift
from expunge.accounting.issue import issue
from expunge.accounting.stated import Stated
from expunge.accounting.verification import differences
from expunge.core.randomness import normal_source
from expunge.errors import InvalidInput, RecordsWarning
from expunge.unlearning.networks.clipped import Clipped
from expunge.unlearning.networks.network_strategy import NetworkStrategy
from expunge.unlearning.networks.noisy_descent import Descent
from expunge.unlearning.networks.training import Training
from expunge.unlearning.schemes import Cyclic, FullBatch, PoissonBatch
from expunge.unlearning.strategy import strategy_of
from tests.unlearning.networks.noisy_jobs import flat, judged, with_row, without
from tests.unlearning.networks.problems import bits, job_of, network

QUICK = Training(epochs=2, step_size=1e-2)
NAMED = {
    name: replace(strategy_of("network", name), training=QUICK)
    for name in ("gradient clipping", "model clipping", "hybrid")
}
EACH = pytest.mark.parametrize("strategy", NAMED.values(), ids=NAMED.keys())


def forgotten(strategy, job):
    return strategy.forget(without(job, [3, 8]), strategy.fit(job))


@EACH
def test_it_is_a_strategy_for_the_final_observer(strategy):
    accepted: NetworkStrategy = strategy
    assert (accepted.name, accepted.observers) == ("clipped", ("final",))


@EACH
@pytest.mark.parametrize("seed", [3, None])
def test_the_target_is_met_with_no_more_noise_than_needed(strategy, seed):
    job = job_of(seed=seed)
    outcome = forgotten(strategy, job)
    found = judged(outcome, job)
    assert found.epsilon <= 1.0
    assert not found.vacuous
    assert found.epsilon == strategy.foreseen(without(job, [3, 8]), 2).epsilon
    phases = tuple(replace(phase, sigma=0.99 * phase.sigma) for phase in outcome.history.phases)
    less = replace(outcome, history=replace(outcome.history, phases=phases))
    assert judged(less, job).epsilon > 1.0


def test_gradient_clipping_is_koloskovas_formula():
    strategy = replace(NAMED["gradient clipping"], weight_decay=0.4, unlearn_steps=7, radius=0.6)
    outcome = forgotten(strategy, job_of())
    noise_std, c, K = outcome.history.phases[0].noise_std, 1 - 0.5 * 0.4, 7
    S = c**K * 2 * 0.6 + 2 * 0.5 * 1.0 * (1 - c**K) / (1 - c)
    V = noise_std**2 * (1 - c ** (2 * K)) / (1 - c**2)
    mu = shift.bound(outcome.assumptions, outcome.history).mu
    assert mu == pytest.approx(S / math.sqrt(V), rel=1e-3)  # the rest pays for rounding
    assert mu >= S / math.sqrt(V)


def test_model_clipping_and_the_hybrid_need_less_noise_than_gradient_clipping():
    sigmas = {n: forgotten(s, job_of()).history.phases[0].sigma for n, s in NAMED.items()}
    assert sigmas["hybrid"] < sigmas["model clipping"] < sigmas["gradient clipping"] / 2


def test_model_clipping_is_certified_by_the_recursion():
    job = job_of()
    outcome = forgotten(NAMED["model clipping"], job)
    assert judged(outcome, job).best == "contraction"
    found = contraction.bound(outcome.assumptions, outcome.history).epsilon(job.target.delta)
    assert found == judged(outcome, job).epsilon


@EACH
@pytest.mark.parametrize("around", ["start", "zero"])
def test_the_model_is_clipped_to_the_ball_before_the_first_step(strategy, around, monkeypatch):
    starts, run = [], Descent.run

    def spy(descent, job, gradient, offset, **given):
        starts.append(offset.clone())
        return run(descent, job, gradient, offset, **given)

    monkeypatch.setattr(Descent, "run", spy)
    strategy, job = replace(strategy, around=around, radius=0.05), job_of()
    before = strategy.fit(job)
    outcome = strategy.forget(without(job, [3]), before)
    center = flat(dict(job.module.named_parameters())) * (around == "start")
    trained = flat({name: before.state[name] for name, _ in job.module.named_parameters()})
    expected = trained - center
    assert float(expected.norm()) > 0.05
    torch.testing.assert_close(starts[0], expected * 0.05 / expected.norm(), rtol=1e-9, atol=0)
    assert float(starts[0].norm()) <= 0.05
    assert outcome.assumptions.initial_distance == 0.1
    inside = replace(strategy, radius=100.0)
    inside.forget(without(job, [3]), before)
    torch.testing.assert_close(starts[1], expected, rtol=0, atol=0)


def test_a_step_is_the_formula_with_the_whole_gradient_clipped():
    strategy = Clipped(
        training=QUICK, radius=0.5, unlearn_steps=3, clip=0.1, weight_decay=0.2, project=True
    )
    job = without(job_of(seed=4), [3, 8])
    before = strategy.fit(job)
    outcome = strategy.forget(job, before)
    sigma = outcome.history.phases[0].sigma
    center, module = flat(dict(job.module.named_parameters())), network()
    normal = normal_source(4, "request 1")
    offset = flat({n: before.state[n] for n, _ in module.named_parameters()}) - center
    offset = (offset * min(1, 0.5 / float(offset.norm())))[None]
    inputs, targets = job.batch(job.present)
    for _ in range(3):
        nn.utils.vector_to_parameters((center + offset[0]).float(), module.parameters())
        found = torch.autograd.grad(job.loss(module(inputs), targets), list(module.parameters()))
        gradient = torch.cat([g.double().flatten() for g in found])
        gradient *= min(1, 0.1 / float(gradient.norm()))
        offset = offset - 0.5 * (gradient + 0.2 * offset)
        offset = offset + sigma * normal(offset)
        offset = offset * min(1, 0.5 / float(offset.norm()))
    torch.testing.assert_close(flat(outcome.state), center + offset[0], rtol=0, atol=1e-5)


@pytest.mark.parametrize("scheme", [FullBatch(), Cyclic(3), PoissonBatch(0.4)], ids=repr)
def test_no_step_is_longer_than_its_clip_whatever_the_batches(scheme, monkeypatch):
    lengths, run = [], Descent.run

    def spy(descent, job, gradient, offset, **given):
        def measured(at, index):
            found = gradient(at, index)
            lengths.append(float(found.norm()))
            return found

        return run(descent, job, measured, offset, **given)

    monkeypatch.setattr(Descent, "run", spy)
    strategy = replace(NAMED["gradient clipping"], scheme=scheme, clip=0.03)
    outcome = forgotten(strategy, job_of())
    assert len(lengths) == 10
    assert 0 < max(lengths) <= 0.03
    assert all(phase.forgotten == 0 for phase in outcome.history.phases)


@EACH
def test_fit_is_clean_and_says_nothing_before_a_deletion(strategy):
    outcome = strategy.fit(job_of())
    assert outcome.noise_free
    assert outcome.history is None


def test_a_second_request_starts_again_from_the_ball():
    strategy, job = NAMED["hybrid"], job_of()
    first = strategy.forget(without(job, [3]), strategy.fit(job))
    second = strategy.forget(without(without(job, [3]), [9, 11]), first)
    assert [(p.samples, p.forgotten) for p in second.history.phases] == [(97, 0), (97, 0)]
    assert judged(second, job).epsilon <= 1.0


@EACH
def test_the_placebo_starts_at_the_center_with_the_same_noise(strategy, monkeypatch):
    starts, sigmas, run = [], [], Descent.run

    def spy(descent, job, gradient, offset, **given):
        starts.append(float(offset.norm()))
        sigmas.append(given["sigma"])
        return run(descent, job, gradient, offset, **given)

    monkeypatch.setattr(Descent, "run", spy)
    job = job_of()
    before = strategy.fit(job)
    asked = without(job, [3])
    outcome, placebo = strategy.forget(asked, before), strategy.placebo(asked, before)
    assert starts[0] > 0
    assert starts[1] == 0
    assert sigmas[0] == sigmas[1]
    assert placebo.flops == outcome.flops == strategy.cost(asked)
    assert judged(placebo, job).epsilon == 0
    other = replace(before, state={name: value + 1 for name, value in before.state.items()})
    assert bits(strategy.placebo(asked, other).state) == bits(placebo.state)


def test_fine_tuning_after_the_release_is_declared_and_costs():
    strategy = replace(NAMED["hybrid"], finetune=Training(epochs=1))
    job = job_of()
    outcome, plain = forgotten(strategy, job), forgotten(NAMED["hybrid"], job)
    assert outcome.history == plain.history
    assert outcome.flops > plain.flops
    assert any("post-processing" in line for line in outcome.declared)


@EACH
def test_the_certificate_names_its_comparator_and_can_be_recomputed(strategy):
    job = job_of()
    outcome = forgotten(strategy, job)
    certificate = issue(
        outcome.assumptions,
        outcome.history,
        delta=job.target.delta,
        stated=Stated(
            strategy=strategy.name,
            records=job.roster.records,
            forgotten=2,
            declared=outcome.declared,
        ),
    )
    assert "clipped to the same ball" in certificate.comparator
    assert certificate.regime == "clipped"
    assert differences(certificate) == []


# Refusals.


@EACH
def test_a_request_is_honoured_whatever_one_records_gradient_is(strategy):
    """A refusal would tell something of that record; the certificate is what it is without it."""
    job = job_of()
    before, asked = strategy.fit(job), without(job, [3])
    expected = strategy.forget(asked, before)
    with pytest.warns(RecordsWarning, match="1 of 100 records"):
        found = strategy.forget(with_row(asked, 7, math.nan), before)
    assert (found.history, found.assumptions) == (expected.history, expected.assumptions)
    assert found.declared == expected.declared
    # The noise is the same: what is apart is the record's share, and no more than K clips.
    apart = float((flat(found.state) - flat(expected.state)).norm())
    assert 0 < apart <= 2 * strategy.unlearn_steps * strategy.step_size * strategy.clip


def test_a_layer_that_mixes_records_is_named():
    with pytest.raises(InvalidInput, match=r"'body.1'.*BatchNorm1d"):
        NAMED["hybrid"].fit(job_of(network(extra=nn.BatchNorm1d(6))))


@pytest.mark.parametrize(
    ("setting", "name"),
    [
        ({"unlearn_steps": 0}, "unlearn_steps"),
        ({"unlearn_steps": 1, "project": True}, "unlearn_steps"),
        ({"radius": 0.0}, "radius"),
        ({"clip": -1.0}, "clip"),
        ({"step_size": math.nan}, "step_size"),
        ({"weight_decay": 5.0}, "weight_decay"),
    ],
)
def test_settings_that_make_no_sense_are_named(setting, name):
    with pytest.raises(ValueError, match=name):
        Clipped(**setting)
