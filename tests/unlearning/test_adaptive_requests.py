"""A requester who looks at a released model and asks by what it shows (THEORY 8).

The library's own certificate gives assumptions and history; the laws are those of the class's worst
loss, m/2 theta^2 - b theta with |b| <= M, run in one dimension through the same phases, for two
hundred thousand models at once. Records A and B pull to opposite sides; whoever asks reads the sign
of the model that was handed out and asks for A above zero, for B below. The claim is about A: the
unlearned models whose requester asked for A, against models retrained without A.
"""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from expunge.accounting.certificate import Certificate
from expunge.accounting.stated import UNSEEN
from expunge.audit.lower_bound import epsilon_lower_bound
from expunge.unlearning import (
    CertifiedClassifier,
    FullBatch,
    Langevin,
    NetworkLangevin,
    NoCertificate,
    NoiseFirst,
    PoissonBatch,
    Residual,
)
from tests.unlearning.networks.test_unlearner import fitted as fitted_network
from tests.unlearning.records import labelled

RESERVED = "requests must not depend on released models"
MODELS = 200_000
LEVEL = 1 - 1e-6


def certified(strategy, requests, **settings) -> Certificate:
    """Of the last of so many requests for one record each."""
    X, y = labelled(400)
    settings = {"l2": 0.01, "random_state": 0, "epsilon": 0.2} | settings
    model = CertifiedClassifier(strategy=strategy, **settings).fit(X, y)
    return [model.forget(record) for record in range(requests)][-1]


@dataclass(frozen=True)
class Chains:
    """Many models of one dimension going through a certificate's phases."""

    certificate: Certificate
    rng: np.random.Generator

    def run(self, theta: np.ndarray, pulls: np.ndarray, phases: range) -> np.ndarray:
        """Theta after these phases; `pulls` is the mean of b over the records of each model."""
        assumptions, history = self.certificate.records_of_history()
        for phase in history.phases[phases.start : phases.stop]:
            eta, c = phase.step_size, 1 - phase.step_size * assumptions.strong_convexity
            # Equal steps in one: theta <- c^n theta + eta b (1 + .. + c^(n-1)) + their noise.
            grown = (1 - c**phase.steps) / (1 - c)
            spread = (1 - c ** (2 * phase.steps)) / (1 - c**2)
            noise = phase.noise_std * np.sqrt(spread) * self.rng.standard_normal(len(theta))
            theta = c**phase.steps * theta + eta * grown * pulls + noise
        return theta


def rounds_of(certificate: Certificate) -> list[range]:
    """Phases of learning and of each request, which makes the records fewer or more."""
    samples = [phase.samples for phase in certificate.records_of_history()[1].phases]
    starts = [i for i, n in enumerate(samples) if i == 0 or n != samples[i - 1]]
    return [range(a, b) for a, b in zip(starts, [*starts[1:], len(samples)], strict=True)]


def attacked(certificate: Certificate, models: int = MODELS) -> tuple[np.ndarray, np.ndarray]:
    """Scores of unlearned models whose last requester asked for A, and of models without A.

    Requests before the last are for records that pull nowhere, and look at nothing.
    """
    chains = Chains(certificate, np.random.default_rng(7))
    assumptions, history = certificate.records_of_history()
    pull = assumptions.lipschitz
    n, last = history.phases[0].samples, rounds_of(certificate)[-1]
    before = range(last.start)
    zero = np.zeros(models)
    seen = chains.run(zero, zero, before)  # A and B balance
    asked = seen > 0
    unlearned = chains.run(seen[asked], np.full(asked.sum(), -pull / n), last)  # A left, B stays
    retrained = chains.run(zero, np.full(models, -pull / n), range(last.stop))
    return unlearned, retrained


def shown(certificate: Certificate) -> float:
    """The epsilon that the attack proves at a confidence of 1 - 1e-6."""
    unlearned, retrained = attacked(certificate)
    count = min(len(unlearned), len(retrained))
    return epsilon_lower_bound(
        of=unlearned[:count],
        against=retrained[:count],
        delta=certificate.delta,
        level=LEVEL,
        method="any test",
    ).value


LANGEVIN = Langevin(learn_steps=400, sigma=1.0)  # much noise: one step meets the target
NOISE_FIRST = NoiseFirst(learn_steps=400, unlearn_steps=2)


@pytest.mark.parametrize("requests", [1, 2])
def test_langevin_is_contradicted_by_such_a_requester_and_says_so_first(requests):
    certificate = certified(LANGEVIN, requests)
    assert shown(certificate) > certificate.epsilon
    assert certificate.reservations[0] == RESERVED
    assert certificate.claim.statement[0].startswith("REQUESTS MUST NOT DEPEND ON RELEASED MODELS")


def test_noise_first_is_contradicted_from_the_second_request_on_and_says_so():
    first, second = certified(NOISE_FIRST, 1), certified(NOISE_FIRST, 2)
    assert RESERVED not in first.reservations
    assert first.epsilon > 0
    assert second.reservations[0] == RESERVED
    assert shown(second) > second.epsilon


def test_noise_first_holds_at_the_first_request():
    """The model that was seen has no noise: the sign is the same for everybody."""
    certificate = certified(NOISE_FIRST, 1)
    chains = Chains(certificate, np.random.default_rng(8))
    assumptions, history = certificate.records_of_history()
    pull, n = assumptions.lipschitz, history.phases[0].samples
    learned, (request,) = rounds_of(certificate)[0], rounds_of(certificate)[1:]
    zero = np.zeros(MODELS)
    base = chains.run(zero, zero + 2 * pull / n, learned)  # A pulls up, so everybody asks for A
    assert (base == base[0]).all()
    unlearned = chains.run(base, zero, request)
    retrained = chains.run(chains.run(zero, zero, learned), zero, request)
    bound = epsilon_lower_bound(
        of=unlearned, against=retrained, delta=certificate.delta, level=LEVEL
    )
    assert bound.value <= certificate.epsilon


@pytest.mark.parametrize("requests", [1, 2])
@pytest.mark.parametrize("strategy", ["residual", Residual(fixed=True)], ids=["mean", "fixed"])
def test_residual_is_the_control_that_passes(strategy, requests):
    """Fresh noise around a point that is a function of the retained records: nothing was seen."""
    certificate = certified(strategy, requests, adaptive_requests=False)
    assert RESERVED not in certificate.reservations
    assumptions, history = certificate.records_of_history()
    rng = np.random.default_rng(9)
    (phase,) = history.phases
    # The worst case that is admitted: the two solutions as far apart as the tolerance allows.
    unlearned = assumptions.initial_distance + phase.noise_std * rng.standard_normal(MODELS)
    retrained = phase.noise_std * rng.standard_normal(MODELS)
    bound = epsilon_lower_bound(
        of=unlearned, against=retrained, delta=certificate.delta, level=LEVEL
    )
    assert 0 < bound.value <= certificate.epsilon


# Counting every model, within a capacity fixed at fit.

COUNTED = Langevin(learn_steps=400, capacity=0.02)  # eight of four hundred records


def joint_scores(certificate: Certificate, models: int) -> tuple[np.ndarray, np.ndarray]:
    """The log-likelihood ratio of everything that was handed out, with and without A.

    Whoever asks sees every model; A is asked for as soon as one lies above zero.
    """
    chains = Chains(certificate, np.random.default_rng(11))
    assumptions, history = certificate.records_of_history()
    pull, n = assumptions.lipschitz, history.phases[0].samples
    scores = []
    for has_a in (1.0, 0.0):
        theta, asked, score = np.zeros(models), np.zeros(models, dtype=bool), np.zeros(models)
        for phases in rounds_of(certificate):
            start = theta
            theta = chains.run(theta, np.where(asked, 0.0, has_a * 2 * pull / n), phases)
            score += _surprise(certificate, phases, start, theta, pull, n, asked)
            asked = asked | (theta > 0)  # A is gone from the next step on
        scores.append(score)
    return scores[0], scores[1]


def _surprise(certificate, phases, start, end, pull, n, asked, common=0.0):
    """log p_with(end | start) - log p_without(end | start); 0 once A was asked for.

    Args:
        common: The mean of b over the other records, with A and without.
    """
    assumptions, history = certificate.records_of_history()
    drift, spread = 0.0, 0.0
    mean = start.copy()
    for phase in history.phases[phases.start : phases.stop]:
        c = 1 - phase.step_size * assumptions.strong_convexity
        grown = (1 - c**phase.steps) / (1 - c)
        mean = c**phase.steps * mean + phase.step_size * grown * common
        drift = c**phase.steps * drift + phase.step_size * grown * 2 * pull / n
        spread = c ** (2 * phase.steps) * spread + phase.noise_std**2 * (
            1 - c ** (2 * phase.steps)
        ) / (1 - c**2)
    ratio = (drift * (end - mean) - drift**2 / 2) / spread
    return np.where(asked, 0.0, ratio)


@pytest.mark.parametrize("requests", [1, 2, 5])
def test_a_capacity_covers_a_requester_who_sees_every_model(requests):
    certificate = certified(COUNTED, requests, adaptive_requests=True)
    assert certificate.capacity == 8
    assert RESERVED not in certificate.reservations
    assert certificate.forgotten == requests
    assert certificate.epsilon <= 0.2
    unlearned, retrained = joint_scores(certificate, MODELS)
    bound = epsilon_lower_bound(
        of=unlearned, against=retrained, delta=certificate.delta, level=LEVEL
    )
    assert bound.value <= certificate.epsilon


def certified_with_newcomers(strategy, courses=(("add", 10), ("forget", 0)), **settings):
    """Of the last of these requests; newcomers have any values, for only counts matter."""
    X, y = labelled(400)
    settings = {"l2": 0.01, "random_state": 0, "epsilon": 0.2} | settings
    model = CertifiedClassifier(strategy=strategy, **settings).fit(X, y)
    for verb, what in courses:
        model.add(X[:what], y[:what]) if verb == "add" else model.forget(what)
    return model.certificate_


def scores_with_newcomers(certificate: Certificate, models: int) -> tuple[np.ndarray, np.ndarray]:
    """As `joint_scores`; whoever sees a model also sends records that pull further its way."""
    chains = Chains(certificate, np.random.default_rng(12))
    assumptions, history = certificate.records_of_history()
    pull, scores = assumptions.lipschitz, []
    for has_a in (1.0, 0.0):
        theta, asked, score = np.zeros(models), np.zeros(models, dtype=bool), np.zeros(models)
        newcomers, before = np.zeros(models), history.phases[0].samples
        for phases in rounds_of(certificate):
            n, start = history.phases[phases.start].samples, theta
            newcomers = newcomers + max(0, n - before) * np.sign(theta)
            common, before = newcomers * pull / n, n
            theta = chains.run(theta, common + np.where(asked, 0.0, has_a * 2 * pull / n), phases)
            score += _surprise(certificate, phases, start, theta, pull, n, asked, common)
            asked = asked | (theta > 0)
        scores.append(score)
    return scores[0], scores[1]


def shown_by(certificate, scores):
    return epsilon_lower_bound(
        of=scores[0], against=scores[1], delta=certificate.delta, level=LEVEL
    ).value


NEWCOMERS = (("add", 10), ("forget", 0), ("add", 20), ("forget", 400))


def test_a_capacity_covers_newcomers_that_were_chosen_by_looking_at_every_model():
    certificate = certified_with_newcomers(COUNTED, NEWCOMERS, adaptive_requests=True)
    assert (certificate.capacity, certificate.forgotten, certificate.records) == (8, 2, 430)
    assert [(phase.samples, phase.forgotten) for phase in certificate.history.phases] == [
        (400, 8), (400, 8), (410, 8), (409, 7), (429, 7), (428, 6),
    ]  # fmt: skip
    assert UNSEEN not in certificate.scope
    scores = scores_with_newcomers(certificate, MODELS)
    assert shown_by(certificate, scores) <= certificate.epsilon
    faint = [
        phase.model_copy(update={"sigma": phase.sigma / 30}) for phase in certificate.history.phases
    ]
    planted = certificate.model_copy(
        update={"history": certificate.history.model_copy(update={"phases": faint})}
    )
    assert shown_by(certificate, scores_with_newcomers(planted, MODELS)) > certificate.epsilon


def test_beyond_the_requests_that_noise_provides_for_additions_are_refused_too():
    """The filter: a model after an addition is handed out like any other."""
    courses = [("add", 1)] * 200
    strategy = replace(COUNTED, capacity=0.5, requests=2)
    with pytest.raises(NoCertificate, match="above the target"):
        certified_with_newcomers(strategy, courses, adaptive_requests=True)


def test_without_a_capacity_newcomers_chosen_by_a_model_contradict_and_certificates_say_so():
    """Whoever saw the sign of the learned model sends records that pull the same way."""
    certificate = certified_with_newcomers(replace(LANGEVIN, learn_steps=20))
    assert UNSEEN in certificate.scope
    assumptions, history = certificate.records_of_history()
    chains, pull = Chains(certificate, np.random.default_rng(13)), assumptions.lipschitz
    learned, joined, left = rounds_of(certificate)
    n, zero = history.phases[joined.start].samples, np.zeros(MODELS)
    seen = chains.run(zero, zero, learned)
    chosen = seen > 0  # of those, all sent the same ten records
    common = 10 * pull / n
    for_them = np.full(chosen.sum(), common)
    unlearned = chains.run(chains.run(seen[chosen], for_them, joined), for_them, left)
    retrained = chains.run(
        chains.run(chains.run(zero, zero, learned), common, joined), common, left
    )
    count = len(unlearned)
    assert shown_by(certificate, (unlearned, retrained[:count])) > certificate.epsilon


def test_the_same_attack_contradicts_a_tenth_of_the_noise():
    certificate = certified(COUNTED, 2, adaptive_requests=True)
    phases = [
        phase.model_copy(update={"sigma": phase.sigma / 30}) for phase in certificate.history.phases
    ]
    faint = certificate.model_copy(
        update={"history": certificate.history.model_copy(update={"phases": phases})}
    )
    unlearned, retrained = joint_scores(faint, MODELS)
    bound = epsilon_lower_bound(
        of=unlearned, against=retrained, delta=certificate.delta, level=LEVEL
    )
    assert bound.value > certificate.epsilon


def test_every_phase_counts_what_is_left_of_the_capacity():
    certificate = certified(COUNTED, 3, adaptive_requests=True)
    phases = certificate.history.phases
    assert [(phase.samples, phase.forgotten) for phase in phases] == [
        (400, 8), (400, 8), (399, 7), (398, 6), (397, 5),
    ]  # fmt: skip
    assert [phase.released for phase in phases] == [False, True, True, True, True]
    assert (certificate.observer, certificate.earlier_releases) == ("all", "covered")


def test_beyond_the_capacity_a_request_is_refused_and_nothing_changes():
    X, y = labelled(400)
    model = CertifiedClassifier(
        strategy=COUNTED, l2=0.01, epsilon=0.2, random_state=0, adaptive_requests=True
    ).fit(X, y)
    before = model.forget(range(7))
    weights = model.coef_
    with pytest.raises(NoCertificate, match="9 forgotten records are more than the 8"):
        model.forget([10, 11])
    assert model.certificate_ == before
    np.testing.assert_array_equal(model.coef_, weights)
    assert model.forget(10).forgotten == 8


def test_more_requests_than_the_noise_provides_for_are_refused():
    """The filter: every model handed out adds its mu^2, whoever asked for how little."""
    X, y = labelled(400)
    strategy = replace(COUNTED, capacity=0.5, requests=2)
    model = CertifiedClassifier(
        strategy=strategy, l2=0.01, epsilon=0.2, random_state=0, adaptive_requests=True
    ).fit(X, y)
    model.forget(0)
    model.forget(1)

    def ask_on():
        for record in range(2, 200):
            model.forget(record)

    with pytest.raises(NoCertificate, match="above the target"):
        ask_on()


def test_more_requests_to_provide_for_take_more_noise():
    sigmas = []
    for requests in (1, 20, 100):
        strategy = replace(COUNTED, requests=requests)
        certificate = certified(strategy, 1, adaptive_requests=True)
        sigmas.append(certificate.history.phases[0].sigma)
    assert sigmas == sorted(set(sigmas))


def test_noise_first_is_refused_by_name():
    with pytest.raises(ValueError, match="noise_first learns without noise"):
        certified("noise_first", 1, adaptive_requests=True)


def test_batches_are_refused_by_name():
    strategy = Langevin(learn_steps=20, scheme=PoissonBatch(0.5))
    with pytest.raises(ValueError, match=r"scheme: adaptive_requests=True needs FullBatch\(\)"):
        certified(strategy, 1, adaptive_requests=True)
    fixed = replace(COUNTED, scheme=FullBatch(fixed=True))
    assert certified(fixed, 1, adaptive_requests=True).capacity == 8


@pytest.mark.parametrize("strategy", ["residual", "retrain"])
def test_strategies_with_fresh_noise_need_no_capacity(strategy):
    certificate = certified(strategy, 2, adaptive_requests=True)
    assert certificate.capacity is None
    assert RESERVED not in certificate.reservations
    assert certificate.earlier_releases == "not covered"


def test_a_model_that_nobody_has_seen_needs_no_reservation_until_one_is_handed_out():
    assert RESERVED not in certified(LANGEVIN, 1, released=False).reservations
    assert certified(LANGEVIN, 2, released=False).reservations[0] == RESERVED


def test_networks_have_the_same_two_answers():
    strategy = NetworkLangevin(
        learn_steps=4, step_size=0.2, sigma=40.0, smoothness=1.0, gradient_error=0.0, capacity=0.2
    )
    reserved = fitted_network(strategy, random_state=2).forget("p1")
    assert RESERVED in reserved.reservations
    unlearner = fitted_network(strategy, random_state=2, adaptive_requests=True)
    first, second = unlearner.forget("p1"), unlearner.forget("p2")
    for certificate, forgotten in ((first, 1), (second, 2)):
        assert RESERVED not in certificate.reservations
        assert (certificate.capacity, certificate.forgotten) == (12, forgotten)
    assert first.epsilon == second.epsilon == 1.0  # the budget: whoever asks may also stop
    with pytest.raises(NoCertificate, match="more than the 12"):
        unlearner.forget([f"p{i}" for i in range(10, 22)])
