"""PNGD on all parameters of a network: what is run, what is recorded, what that certifies."""

import math
from dataclasses import replace

import pytest
import torch
from torch import nn

from expunge.accounting.bounds import shift
from expunge.accounting.issue import issue
from expunge.accounting.stated import Stated
from expunge.accounting.verification import differences
from expunge.core.randomness import normal_source
from expunge.errors import InvalidInput, NoCertificate, RecordsWarning
from expunge.sampling.clipped_gradients import clipped_gradients
from expunge.sampling.networks import Network
from expunge.sampling.recurrent import LSTMClassifier
from expunge.unlearning.networks import langevin as module_under_test
from expunge.unlearning.networks.langevin import NetworkLangevin
from expunge.unlearning.networks.network_strategy import NetworkStrategy
from expunge.unlearning.schemes import Cyclic, FullBatch, PoissonBatch
from tests.unlearning.networks.noisy_jobs import flat, judged, with_row, without
from tests.unlearning.networks.problems import bits, job_of, network

RUN = NetworkLangevin(learn_steps=6, unlearn_steps=3, sigma=0.05, step_size=0.3)
FAINT = replace(RUN, sigma=5e-4)  # far too little noise
SMOOTH = NetworkLangevin(learn_steps=4, step_size=0.2, smoothness=4.0, gradient_error=1e-6)
SCHEMES = (FullBatch(), FullBatch(fixed=True), Cyclic(4), PoissonBatch(0.3))
ANY_SCHEME = pytest.mark.parametrize("scheme", SCHEMES, ids=repr)


def spied(monkeypatch):
    """(rows, divisor) of every step from now on."""
    seen = []

    def spy(network, weights, batch, rows, *, divisor, **given):
        seen.append((rows.tolist(), divisor))
        return clipped_gradients(network, weights, batch, rows, divisor=divisor, **given)

    monkeypatch.setattr(module_under_test, "clipped_gradients", spy)
    return seen


def test_it_is_a_strategy():
    strategy: NetworkStrategy = RUN
    assert (strategy.name, strategy.observers) == ("langevin", ("final", "all"))
    job = job_of()
    assert RUN.cost(job) == 3 * 100 * module_under_test.training_flops(job.module, job.inputs)
    assert replace(RUN, scheme=Cyclic(4)).cost(job) == RUN.cost(job) / 4
    asked = without(job, [3, 8, 9])
    outcome = SMOOTH.forget(asked, SMOOTH.fit(job))
    assert SMOOTH.cost(asked) >= outcome.flops > 0


# What is run.


def test_learning_is_the_papers_step_with_clipped_gradients():
    strategy = replace(RUN, weight_decay=0.3, radius=0.9, clip=0.2)
    job = job_of(seed=5)
    found = strategy.fit(job).secret["weights"]
    net, normal = Network(job.module, job.loss), normal_source(5, "fit 0")
    center = flat(dict(job.module.named_parameters()))
    offset, everyone = torch.zeros_like(center)[None], torch.arange(100)
    for _ in range(6):
        gradient = clipped_gradients(net, center + offset[0], job.batch, everyone, clip=0.2)
        offset = offset - 0.3 * (gradient + 0.3 * offset)
        offset = offset + math.sqrt(0.6) * 0.05 * normal(offset)
        offset = offset * min(1.0, 0.9 / float(offset.norm()))
    torch.testing.assert_close(found, offset[0], rtol=0, atol=1e-12)


@ANY_SCHEME
def test_the_history_counts_what_the_steps_saw(scheme, monkeypatch):
    """Every step's forgotten records over its divisor, as run and as recorded by now."""
    seen = spied(monkeypatch)
    strategy, job = replace(RUN, scheme=scheme), job_of()
    outcome = strategy.fit(job)
    gone = [3, 8, 20, 41]
    job = without(job, gone)
    outcome = strategy.forget(job, outcome)
    recorded = []
    for phase in outcome.history.phases:
        for k in range(phase.steps):
            if phase.poisson is not None:
                retained, forgotten = phase.poisson.counts[k]
                recorded.append((retained, forgotten, phase.poisson.rate * 100))
            elif phase.batches is not None:
                batch = k % len(phase.batches)
                recorded.append((None, phase.batches[batch], phase.batch_sizes[batch]))
            else:
                divisor = 100 if scheme.normaliser == "fixed" else phase.samples
                recorded.append((phase.samples - phase.forgotten, phase.forgotten, divisor))
    assert len(recorded) == len(seen) == 9
    for (rows, divisor), (retained, forgotten, expected) in zip(seen, recorded, strict=True):
        deleted = [row for row in rows if row - 40 in gone]
        assert len(deleted) == forgotten
        assert divisor == pytest.approx(expected)
        assert retained is None or len(rows) - len(deleted) == retained
    assert not any(row - 40 in gone for rows, _ in seen[6:] for row in rows)


@ANY_SCHEME
def test_retraining_draws_the_same_batches_with_the_forgotten_masked(scheme, monkeypatch):
    seen, job, strategy = spied(monkeypatch), job_of(), replace(RUN, scheme=scheme)
    strategy.fit(job)
    learned = list(seen)
    seen.clear()
    gone = [3, 8, 20]
    strategy.fit(without(job, gone))
    for (rows, divisor), (masked, other) in zip(learned, seen, strict=True):
        assert masked == [row for row in rows if row - 40 not in gone]
        if scheme.normaliser == "fixed":
            assert divisor == other


def test_dropout_is_off_in_a_noisy_phase():
    job = job_of(network(extra=nn.Dropout(0.9)))
    first, second = RUN.fit(job), RUN.fit(job)
    assert torch.equal(first.secret["weights"], second.secret["weights"])
    assert any("evaluation mode (no dropout)" in line for line in first.declared)


def test_the_papers_lstm_learns_and_forgets():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        module = LSTMClassifier(20, embedding=4, hidden=5)
        tokens = torch.randint(2, 20, (16, 6))
    job = job_of(module, private=16, public=0, inputs=tokens, targets=(tokens[:, 0] > 9).long())
    job = replace(job, target=replace(job.target, delta=1e-3))
    outcome = RUN.forget(without(job, [2]), RUN.fit(job))
    assert set(outcome.state) == {name for name, _ in module.named_parameters()}
    assert not judged(outcome, job).vacuous or any("vacuous" in x for x in outcome.declared)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64])
def test_other_precisions_keep_their_own(dtype):
    module = network().to(dtype)
    job = job_of(module)
    job = replace(job, inputs=job.inputs.to(dtype), public_inputs=job.public_inputs.to(dtype))
    outcome = RUN.fit(job)
    assert {value.dtype for value in outcome.state.values()} == {dtype}
    assert outcome.secret["weights"].dtype == torch.float64


# What is recorded.


def test_every_phase_knows_how_many_of_its_records_are_gone_by_now():
    job, outcome = job_of(), RUN.fit(job_of())
    first = outcome.history
    for rows in ([3], [4, 5]):
        job = without(job, rows)
        outcome = RUN.forget(job, outcome)
    assert [(p.steps, p.samples, p.forgotten) for p in outcome.history.phases] == [
        (5, 100, 3),
        (1, 100, 3),
        (2, 99, 2),
        (1, 99, 2),
        (2, 97, 0),
        (1, 97, 0),
    ]
    assert outcome.rounds == (0, 0, 1, 1, 2, 2)
    assert [phase.forgotten for phase in first.phases] == [0, 0]


def test_requests_continue_from_the_model_and_never_with_the_same_noise():
    job, before = job_of(), RUN.fit(job_of())
    kept = before.secret["weights"].clone()
    once = RUN.forget(without(job, [3]), before)
    twice = RUN.forget(without(without(job, [3]), [5]), once)
    assert torch.equal(before.secret["weights"], kept)
    moves = [b.secret["weights"] - a.secret["weights"] for a, b in ((before, once), (once, twice))]
    correlation = float(torch.corrcoef(torch.stack(moves))[0, 1])
    assert abs(correlation) < 0.9
    assert not torch.equal(moves[0], moves[1])


# What it certifies.


@pytest.mark.parametrize("observer", ["final", "all"])
@pytest.mark.parametrize("scheme", [FullBatch(), FullBatch(fixed=True), Cyclic(2)], ids=repr)
def test_a_short_private_phase_of_a_smooth_network_is_certified(observer, scheme):
    """THEORY 5.4: only the private steps count, and few of them expand little."""
    job = job_of(observer=observer, seed=None)
    strategy = replace(SMOOTH, scheme=scheme, capacity=0.2)
    outcome = strategy.forget(without(job, [3, 8]), strategy.fit(job))
    found = judged(outcome, job)
    assert 0 < found.epsilon <= 1.0
    assert not found.vacuous
    assert found.observer == observer
    assert outcome.assumptions.mark("smoothness") == "assumed"
    assert any("declared, not checked: smoothness" in line for line in outcome.declared)


def test_clipping_alone_is_certified_with_the_noise_that_it_takes():
    """c = |1 - eta lam|, s = 2 eta C in unlearning also, whatever share is forgotten."""
    strategy, job = NetworkLangevin(learn_steps=3, step_size=0.2, weight_decay=0.5), job_of()
    before = strategy.fit(job)
    outcome = strategy.forget(without(job, [3]), before)
    found = judged(outcome, job)
    assert 0 < found.epsilon <= 1.0
    sigma = before.history.phases[0].sigma
    c, N, noise_std = 0.9, 4, math.sqrt(0.4) * sigma
    S, V = 2 * 0.2 * (1 - c**N) / (1 - c), noise_std**2 * (1 - c ** (2 * N)) / (1 - c**2)
    mu = shift.bound(outcome.assumptions, outcome.history).mu
    assert 0 < mu <= S / math.sqrt(V) * 1.01  # the rest pays for rounding


def test_a_history_that_certifies_nothing_says_vacuous():
    job = job_of()
    outcome = FAINT.forget(without(job, [3]), FAINT.fit(job))
    assert judged(outcome, job).vacuous
    assert any(line.startswith("vacuous") for line in outcome.declared)
    assert FAINT.foreseen(job, 1).vacuous
    assert FAINT.foreseen(job, 1).epsilon == pytest.approx(judged(outcome, job).epsilon, rel=1e-9)
    certificate = issue(
        outcome.assumptions,
        outcome.history,
        delta=job.target.delta,
        stated=Stated(strategy=FAINT.name, declared=outcome.declared),
    )
    assert certificate.claim.vacuous
    assert "vacuous" in " ".join(certificate.claim.statement).lower()
    assert differences(certificate) == []


def test_a_plan_looks_at_counts_only():
    few, many = (SMOOTH.foreseen(job_of(), forget) for forget in (1, 12))
    assert few.epsilon < many.epsilon
    other = with_row(job_of(), 5, 1e6)
    assert SMOOTH.foreseen(other, 12).epsilon == many.epsilon


def test_a_target_that_steps_of_ours_miss_is_refused():
    strategy = replace(FAINT, unlearn_steps=None)
    job = job_of()
    before = strategy.fit(job)
    with pytest.raises(NoCertificate, match="do not meet the target"):
        strategy.forget(without(job, [3]), before)
    released = replace(job, observer="all")
    with pytest.raises(NoCertificate, match="vacuous"):
        strategy.forget(without(released, [3]), strategy.fit(released))


def test_a_projection_lets_the_contraction_certify_with_less_noise():
    strategy = NetworkLangevin(learn_steps=40, step_size=0.2, radius=0.5, capacity=1.0)
    job = job_of()
    alone = replace(strategy, radius=None).fit(job).history.phases[0].sigma
    assert strategy.fit(job).history.phases[0].sigma < alone / 2
    outcome = strategy.forget(without(job, [3]), strategy.fit(job))
    found = judged(outcome, job)
    assert (found.best, found.vacuous) == ("contraction", False)
    assert found.epsilon <= 1.0
    assert float(outcome.secret["weights"].norm()) <= 0.5 * (1 + 1e-12)


def test_an_observer_of_all_models_is_covered_at_every_release():
    job = job_of(observer="all", seed=None)
    outcome = SMOOTH.forget(without(job, [3]), SMOOTH.fit(job))
    assert [phase.released for phase in outcome.history.phases] == [False, True, True]


# The placebo.


def test_the_placebo_starts_where_no_private_record_was_and_ignores_the_model():
    job, before = job_of(), RUN.fit(job_of())
    asked = without(job, [3])
    first = RUN.placebo(asked, before)
    elsewhere = replace(before, secret={"weights": before.secret["weights"] + 1}, state={})
    second = RUN.placebo(asked, elsewhere)
    assert bits(first.state) == bits(second.state)
    assert judged(first, job).epsilon == 0
    assert first.flops == RUN.forget(asked, before).flops
    still = replace(RUN, sigma=1e-9)
    quiet = still.placebo(asked, still.fit(job))
    moved = float((flat(quiet.state) - flat(dict(job.module.named_parameters()))).norm())
    assert 0 < moved <= 3 * 0.3 * 1.0 + 1e-5  # three steps of at most eta C from the start


# Refusals.


@pytest.mark.parametrize("radius", [None, 3.0])
@pytest.mark.parametrize("size", [1e-12, 1.0])
def test_noise_too_small_to_be_exact_is_refused_at_fit_whatever_the_records_are(size, radius):
    job = job_of(seed=None)
    faint = replace(RUN, sigma=1e-16, radius=radius)
    with pytest.raises(ValueError, match="too small to be exact"):
        faint.fit(replace(job, inputs=size * job.inputs))


@pytest.mark.parametrize("raising", [False, True], ids=["not finite", "raises"])
def test_a_request_is_honoured_whatever_one_records_gradient_is(raising):
    """A refusal would tell something of that record; the certificate is what it is without it."""

    def loss(outputs, targets):
        if raising and bool((targets == 99).any()):
            raise ValueError("no such class")
        return nn.functional.cross_entropy(outputs, targets % 3)

    job = job_of(loss=loss)
    before, asked = RUN.fit(job), without(job, [3])
    spoilt = with_row(asked, 7, math.nan)
    if raising:
        spoilt = replace(asked, targets=asked.targets.clone())
        spoilt.targets[7] = 99
    expected = RUN.forget(asked, before)
    with pytest.warns(RecordsWarning, match="1 of 100 records"):
        found = RUN.forget(spoilt, before)
    assert (found.history, found.assumptions) == (expected.history, expected.assumptions)
    assert found.declared == expected.declared
    assert all(bool(torch.isfinite(part).all()) for part in found.state.values())
    assert bits(found.state) != bits(expected.state)  # the record had a share


def test_at_fit_too_one_record_decides_nothing_and_all_of_them_do():
    job = job_of()
    with pytest.warns(RecordsWarning, match="1 of 100 records"):
        outcome = RUN.fit(with_row(job, 7, math.nan))
    assert outcome.history == RUN.fit(job).history
    nan_loss = replace(job, loss=lambda outputs, _: outputs.sum() * math.nan)
    with pytest.raises(NoCertificate, match="no record has"):
        RUN.fit(nan_loss)


def test_a_declared_smoothness_is_not_certified_where_fit_sees_that_it_is_wrong():
    spoilt = with_row(job_of(), 7, math.nan)
    with pytest.raises(NoCertificate, match="smoothness: declared of every record"):
        SMOOTH.fit(spoilt)


def test_a_layer_that_mixes_records_is_named():
    with pytest.raises(InvalidInput, match=r"'body.1'.*BatchNorm1d"):
        RUN.fit(job_of(network(extra=nn.BatchNorm1d(6))))


@pytest.mark.parametrize(
    ("setting", "name"),
    [
        ({"learn_steps": 0}, "learn_steps"),
        ({"unlearn_steps": 0}, "unlearn_steps"),
        ({"sigma": 0.0}, "sigma"),
        ({"sigma": math.inf}, "sigma"),
        ({"capacity": 0.0}, "capacity"),
        ({"clip": 0.0}, "clip"),
        ({"smoothness": 1.0}, "gradient_error"),
        ({"gradient_error": 1e-6}, "smoothness"),
        ({"smoothness": 1.0, "gradient_error": -1.0}, "gradient_error"),
    ],
)
def test_settings_that_make_no_sense_are_named(setting, name):
    with pytest.raises(ValueError, match=name):
        NetworkLangevin(**setting)


def test_there_is_no_momentum_and_no_adaptive_optimiser():
    for name in ("momentum", "optimiser", "betas"):
        with pytest.raises(TypeError, match=name):
            NetworkLangevin(**{name: 0.9})


@pytest.mark.gpu
def test_a_gpu_takes_the_same_steps():
    here, there = (RUN.fit(job_of(device=device)).secret["weights"] for device in ("cpu", "cuda"))
    torch.testing.assert_close(there, here, rtol=0, atol=1e-4)


@pytest.mark.parametrize("around", ["start", "zero"])
def test_the_printed_constants_are_those_of_the_run(around, monkeypatch):
    """No gradient is longer than the printed clip, no model farther out than the radius."""
    lengths = []

    def spy(*given, **named):
        found = clipped_gradients(*given, **named)
        lengths.append(float(found.norm()))
        return found

    monkeypatch.setattr(module_under_test, "clipped_gradients", spy)
    strategy = replace(RUN, clip=0.01, radius=0.4, weight_decay=0.2, around=around, sigma=5.0)
    # One record alone, so that its gradient's length is the step's.
    outcome = strategy.fit(without(job_of(public=0), range(59)))
    printed = outcome.assumptions
    assert printed.marks == dict.fromkeys(("clip", "weight_decay", "radius"), "enforced")
    assert max(lengths) == pytest.approx(printed.clip, rel=1e-6)
    assert float(outcome.secret["weights"].norm()) == pytest.approx(printed.radius, rel=1e-9)
    assert printed.weight_decay == 0.2
    assert printed.initial_distance == 0


@ANY_SCHEME
def test_a_gradients_declared_error_is_counted_as_often_as_a_step_can_weigh_it(scheme):
    """A Poisson step divides by the rows expected and may draw all: errors enter 1/rate times."""
    given = {"sigma": 0.05, "unlearn_steps": 1, "scheme": scheme}
    exact, rough = (
        replace(SMOOTH, gradient_error=error, **given).fit(job_of()).history.phases[0].rounding
        for error in (0.0, 1e-3)
    )
    assert rough - exact == pytest.approx(SMOOTH.step_size * 1e-3 * scheme.load, rel=1e-5)
