"""Reported numbers are never below the exact ones, and hardly above them.

The exact ones come from `oracle`, at 50 digits from the same doubles. Hardly: 1e-9 relative or
1e-12 absolute; a positive value below 1e-300 is reported as 1e-300.
"""

import math
import random
from dataclasses import dataclass

import pytest
from mpmath import mp, mpf

from expunge.accounting import Assumptions, History, Phase
from expunge.accounting import conversions as cv
from expunge.accounting.account import account
from expunge.accounting.bounds import GDP, Renyi, iteration, log_sobolev, log_sobolev_paper, shift
from expunge.accounting.moduli import Contraction, Run
from tests.accounting import oracle

RELATIVE, ABSOLUTE = mpf("1e-9"), mpf("1e-12")
ORDERS = (2.0, 8.0, 1e4)


def assert_outward(reported: float, exact: mpf, what: object) -> None:
    assert reported >= exact, f"{what}: {reported!r} is below {mp.nstr(exact, 25)}"
    most = max(exact * (1 + RELATIVE), exact + ABSOLUTE)
    assert reported <= most, f"{what}: {reported!r} is above {mp.nstr(exact, 25)}"
    assert (reported == 0) == (exact == 0), what


def assert_epsilon_outward(mu: mpf, delta: float, reported: float, what: object) -> None:
    not_below, not_above = oracle.gdp_epsilon_within(mu, delta, reported, RELATIVE, ABSOLUTE)
    assert not_below, f"{what}: epsilon {reported!r} is below the exact one at delta {delta!r}"
    assert not_above, f"{what}: epsilon {reported!r} is above the exact one at delta {delta!r}"


@dataclass(frozen=True)
class Case:
    loss: oracle.Loss
    phases: tuple[Phase, ...]
    fixed: bool
    delta: float

    @property
    def assumptions(self) -> Assumptions:
        return Assumptions(self.loss.m, self.loss.L, self.loss.M)

    @property
    def history(self) -> History:
        return History(self.phases, "fixed" if self.fixed else "mean")

    @property
    def steps(self) -> list[oracle.Steps]:
        count = self.phases[0].samples if self.fixed else None
        return [
            oracle.steps(self.loss, p.steps, p.step_size, p.sigma, p.samples, p.forgotten, count)
            for p in self.phases
        ]


def log_uniform(rng: random.Random, low: float, high: float) -> float:
    return math.exp(rng.uniform(math.log(low), math.log(high)))


def random_count(rng: random.Random, most: int) -> int:
    return max(1, min(most, round(log_uniform(rng, 0.6, most))))


def random_case(seed: int, *, most_steps: int, sequential: bool = False) -> Case:
    """eta m from 1e-12 to 1.9, sigma from 1e-6 to 1e3, delta from 1e-12 to 1e-2."""
    rng = random.Random(seed)
    m = log_uniform(rng, 1e-4, 1e2)
    eta = log_uniform(rng, 1e-12, 1.9) / m
    steepest = rng.choice((1.0, rng.uniform(1.0, 1.95 / (eta * m)), 1.0 / (eta * m)))
    loss = oracle.Loss(m, m * max(1.0, steepest), log_uniform(rng, 1e-2, 1e2))
    sigma, samples = log_uniform(rng, 1e-6, 1e3), rng.randint(20, 1_000_000)
    forgotten = max(1, round(log_uniform(rng, 1, samples / 4)))
    requests = [forgotten]
    if sequential:
        parts = rng.randint(2, 4)
        requests = [max(1, forgotten // parts)] * parts
    phases, left, pending = [], samples, sum(requests)
    for gone in (0, *requests):
        left, pending = left - gone, pending - gone
        if gone and not sequential and rng.random() < 0.15:
            continue  # K = 0
        step_size, noise = eta, sigma
        if sequential:
            step_size, noise = eta * rng.uniform(0.1, 1.0), sigma * log_uniform(rng, 0.1, 10)
        phases.append(Phase(random_count(rng, most_steps), step_size, noise, left, pending))
    return Case(loss, tuple(phases), rng.random() < 0.4, log_uniform(rng, 1e-12, 1e-2))


def subnormal(mu: mpf) -> bool:
    """Whether mu^2 has lost digits as a double; such a mu stands for 0 in every use."""
    return 0 < mu < mpf("1e-153")


def check_gdp(guarantee: GDP, mu: mpf, delta: float, what: object) -> None:
    if subnormal(mu):
        assert guarantee.mu > 0, what
        assert guarantee.mu < 1e-150, what
        return
    assert_outward(cv.outward(guarantee.mu, 0.0), mu, what)
    assert_epsilon_outward(mu, delta, guarantee.epsilon(delta), what)
    for order in ORDERS:
        assert_outward(guarantee.renyi(order), mpf(order) * mu**2 / 2, (what, order))


def check_renyi(guarantee: Renyi, exact: oracle.RenyiBound, delta: float, what: object) -> None:
    for order in ORDERS:
        assert_outward(guarantee.renyi(order), exact.at(order), (what, order))
    reported, epsilon = guarantee.epsilon(delta), oracle.renyi_epsilon(exact, delta)
    assert reported >= epsilon, (what, reported, mp.nstr(epsilon, 25))
    assert reported <= max(epsilon * (1 + RELATIVE), epsilon + ABSOLUTE), what


# ---- the shift bound --------------------------------------------------------------------------


@pytest.mark.parametrize("block", range(10))
def test_shift_is_outward_for_learn_and_unlearn(block: int) -> None:
    for seed in range(40 * block, 40 * block + 40):
        case = random_case(seed, most_steps=1_000_000)
        mu = oracle.shift_mu(case.steps)
        check_gdp(shift.bound(case.assumptions, case.history), mu, case.delta, (seed, case))


@pytest.mark.parametrize("block", range(5))
def test_shift_is_outward_for_sequential_requests_with_varying_steps_and_noise(block: int) -> None:
    for seed in range(10_000 + 40 * block, 10_000 + 40 * block + 40):
        case = random_case(seed, most_steps=100_000, sequential=True)
        mu = oracle.shift_mu(case.steps)
        check_gdp(shift.bound(case.assumptions, case.history), mu, case.delta, (seed, case))


def test_a_shift_account_with_a_radius_is_outward() -> None:
    for seed in range(20_000, 20_040):
        rng = random.Random(seed)
        loss = oracle.Loss(rng.choice((0.0, log_uniform(rng, 1e-3, 0.3))), 1.0)
        eta, sigma = rng.uniform(0.05, 1.5), log_uniform(rng, 0.1, 10)
        phases = (
            Phase(rng.randint(1, 40), eta, sigma, 1000, rng.randint(1, 300)),
            Phase(rng.randint(1, 20), eta * rng.uniform(0.5, 1), sigma, 700, 0),
        )
        radius = log_uniform(rng, 1e-2, 10)
        steps = Case(loss, phases, False, 1e-5).steps
        found = account(
            Assumptions(loss.m, loss.L, loss.M, radius=radius), History(phases), delta=1e-5
        ).bounds["shift"]
        mu = oracle.capped_shift_mu(steps, 2 * mpf(radius))
        assert found.mu is not None
        assert found.epsilon is not None
        assert_outward(found.mu, mu, seed)
        assert_epsilon_outward(mu, 1e-5, found.epsilon, seed)


def test_shift_is_outward_for_expanding_steps() -> None:
    """Nonconvex: c > 1 while data differ, where every step may be a corner."""
    for seed in range(30_000, 30_060):
        rng = random.Random(seed)
        L, eta, sigma = log_uniform(rng, 0.1, 10), log_uniform(rng, 1e-3, 0.5), rng.uniform(0.1, 2)
        phases = (
            Phase(rng.randint(1, 40), eta, sigma, 1000, rng.randint(1, 300)),
            Phase(rng.randint(1, 25), eta * rng.uniform(0.3, 2), sigma * rng.uniform(0.3, 3), 700),
        )
        steps = [
            oracle.Steps(
                1,
                1 + mpf(p.step_size) * mpf(L),
                2 * mpf(p.step_size) * p.forgotten / p.samples,
                mp.sqrt(2 * mpf(p.step_size)) * mpf(p.sigma),
            )
            for p in phases
            for _ in range(p.steps)
        ]
        found = shift.bound(Assumptions(smoothness=L, lipschitz=1.0), History(phases))
        check_gdp(found, oracle.shift_mu(steps), 1e-5, seed)


# ---- the Rényi bounds -------------------------------------------------------------------------


@pytest.mark.parametrize("sequential", [False, True])
def test_log_sobolev_is_outward(sequential: bool) -> None:
    for seed in range(40_000, 40_250):
        case = random_case(seed, most_steps=200, sequential=sequential)
        constant = 2 * mpf(case.phases[0].sigma) ** 2 / mpf(case.loss.m)
        exact = oracle.log_sobolev(case.steps, constant)
        check_renyi(
            log_sobolev.bound(case.assumptions, case.history), exact, case.delta, (seed, case)
        )


def test_log_sobolev_from_a_point_mass_is_outward() -> None:
    for seed in range(45_000, 45_080):
        case = random_case(seed, most_steps=120)
        assumptions = Assumptions(case.loss.m, case.loss.L, case.loss.M, initial_log_sobolev=0.0)
        exact = oracle.log_sobolev(case.steps, mpf(0))
        check_renyi(log_sobolev.bound(assumptions, case.history), exact, case.delta, (seed, case))


def test_log_sobolev_paper_is_outward() -> None:
    visited = 0
    for seed in range(50_000, 50_400):
        case = random_case(seed, most_steps=1_000_000)
        learn, *later = case.phases
        if learn.step_size > 2 / (case.loss.m + case.loss.L):
            continue
        exact = oracle.log_sobolev_paper(
            case.loss,
            learn=learn.steps,
            unlearn=later[0].steps if later else 0,
            eta=learn.step_size,
            sigma=learn.sigma,
            share=mpf(learn.forgotten) / learn.samples * (1 if case.fixed else 2),
        )
        if exact.at(2) < mpf("1e-300"):
            continue
        found = log_sobolev_paper.bound(case.assumptions, case.history)
        check_renyi(found, exact, case.delta, (seed, case))
        visited += 1
    assert visited > 200


@pytest.mark.parametrize("sequential", [False, True])
def test_iteration_is_outward(sequential: bool) -> None:
    for seed in range(60_000, 60_150):
        case = random_case(seed, most_steps=1_000_000, sequential=sequential)
        if len(case.phases) < 2:
            continue
        *before, last = case.steps
        exact = oracle.iteration(before, [last])
        check_renyi(
            iteration.bound(case.assumptions, case.history), exact, case.delta, (seed, case)
        )


def test_iteration_with_a_radius_is_outward() -> None:
    for seed in range(65_000, 65_040):
        rng = random.Random(seed)
        case = random_case(seed, most_steps=60)
        if len(case.phases) < 2:
            continue
        radius = float(log_uniform(rng, 0.01, 2) * case.steps[0].s * case.phases[0].steps)
        assumptions = Assumptions(case.loss.m, case.loss.L, case.loss.M, radius=radius)
        *before, last = case.steps
        exact = oracle.iteration(before, [last], 2 * mpf(radius))
        check_renyi(iteration.bound(assumptions, case.history), exact, case.delta, (seed, case))


# ---- the solver at extremes -------------------------------------------------------------------


@pytest.mark.parametrize("contraction", [1.0, 1 - 1e-12, 1 - 1e-6, 0.5, 1e-8])
@pytest.mark.parametrize("learn", [1, 10**6, 10**12, 2**53])
@pytest.mark.parametrize("unlearn", [1, 30, 10**6])
def test_runs_of_any_length_are_outward(contraction: float, learn: int, unlearn: int) -> None:
    runs = [
        Run(learn, Contraction.of(contraction), 0.125, 0.7, differs=True),
        Run(unlearn, Contraction.of(contraction), 0.0, 0.7),
    ]
    steps = [oracle.Steps(r.steps, mpf(contraction), mpf(r.shift), mpf(0.7)) for r in runs]
    mu = oracle.shift_mu(steps)
    found = GDP(shift.gdp_of_stretch(runs, 0.0, math.inf))
    check_gdp(found, mu, 1e-5, (contraction, learn, unlearn))


# ---- conversions ------------------------------------------------------------------------------


def random_delta(rng: random.Random) -> float:
    return log_uniform(rng, 1e-300, 0.5) if rng.random() < 0.6 else log_uniform(rng, 1e-12, 0.5)


def test_epsilon_from_gdp_is_outward_over_all_ranges() -> None:
    rng = random.Random(1)
    for _ in range(600):
        mu, delta = log_uniform(rng, 1e-8, 50), random_delta(rng)
        assert_epsilon_outward(mpf(mu), delta, cv.epsilon_from_gdp(mu, delta), (mu, delta))


def test_gdp_delta_is_outward_over_all_ranges() -> None:
    rng = random.Random(2)
    for _ in range(600):
        mu = log_uniform(rng, 1e-8, 50)
        epsilon = log_uniform(rng, 1e-10, 1e3)
        if rng.random() < 0.5:  # where delta is neither 1 nor vanishing
            epsilon = abs(mu * mu / 2 + mu * rng.uniform(-3, 37))
        exact = oracle.gdp_delta(mu, epsilon)
        reported = cv.gdp_delta(mu, epsilon)
        assert reported >= exact, (mu, epsilon)
        assert reported <= max(exact * (1 + RELATIVE), mpf(1e-300)), (mu, epsilon)


def test_gdp_for_epsilon_is_rounded_down_over_all_ranges() -> None:
    rng = random.Random(3)
    for _ in range(300):
        delta = random_delta(rng)
        epsilon = 0.0 if delta > 1e-30 and rng.random() < 0.1 else log_uniform(rng, 1e-8, 1e2)
        mu = cv.gdp_for_epsilon(epsilon, delta)
        assert oracle.gdp_delta(mu, epsilon) <= mpf(delta), (epsilon, delta)
        assert oracle.gdp_delta(mpf(mu) * (1 + RELATIVE), epsilon) > mpf(delta), (epsilon, delta)


def test_gdp_total_variation_and_renyi_are_outward_over_all_ranges() -> None:
    rng = random.Random(4)
    for _ in range(300):
        mu, order = log_uniform(rng, 1e-8, 50), 1 + log_uniform(rng, 1e-6, 1e6)
        exact = mp.erf(mpf(mu) / (2 * mp.sqrt(2)))
        reported = cv.gdp_total_variation(mu)
        assert exact <= reported <= exact * (1 + RELATIVE) or reported == 1.0, mu
        assert_outward(cv.gdp_renyi(mu, order), mpf(order) * mpf(mu) ** 2 / 2, (mu, order))


def test_epsilon_from_renyi_is_outward_over_all_ranges() -> None:
    rng = random.Random(5)
    for _ in range(400):
        slope, delta = log_uniform(rng, 1e-20, 1e4), random_delta(rng)
        decay = log_uniform(rng, 1e-6, 1e3) if rng.random() < 0.5 else 0.0

        def divergence(order: float, slope: float = slope, decay: float = decay) -> float:
            return order * slope * math.exp(-decay / order)

        exact = oracle.renyi_epsilon(oracle.RenyiBound(mpf(slope), mpf(decay)), delta)
        reported = cv.epsilon_from_renyi(divergence, delta)
        assert reported >= exact, (slope, decay, delta)
        assert reported <= max(exact * (1 + RELATIVE), exact + ABSOLUTE), (slope, decay, delta)


def test_an_exact_zero_stays_zero() -> None:
    assert cv.outward(0.0) == 0.0
    assert cv.gdp_delta(0.0, 1.0) == 0.0
    assert cv.epsilon_from_gdp(0.0, 1e-5) == 0.0
    assert cv.gdp_renyi(0.0, 2.0) == 0.0
    assert cv.gdp_total_variation(0.0) == 0.0
    assert cv.epsilon_from_renyi(lambda _: 0.0, 1e-5) == 0.0


def test_rounding_inward_would_be_caught() -> None:
    """A planted fault: the plain formula without its outward step fails the same checks."""
    misses = 0
    for seed in range(200):
        case = random_case(seed, most_steps=1_000_000)
        mu = oracle.shift_mu(case.steps)
        learn, *later = case.phases
        c = float(case.steps[0].c)
        K = later[0].steps if later else 0
        if not 0 < c < 1 or learn.sigma == 0:
            continue
        s, nu, T = float(case.steps[0].s), learn.noise_std, learn.steps
        plain = s / nu * c**K * math.sqrt((1 + c) / (1 - c)) * (1 - c**T)
        plain /= math.sqrt(1 - c ** (2 * (T + K)))
        misses += plain < mu
    assert misses > 20


def test_the_random_settings_are_as_wide_as_promised() -> None:
    cases = [random_case(seed, most_steps=1_000_000) for seed in range(400)]
    rates = [case.loss.m * case.phases[0].step_size for case in cases]
    sigmas = [case.phases[0].sigma for case in cases]
    lengths = [case.phases[0].steps for case in cases]
    assert min(rates) < 1e-11
    assert max(rates) > 1.5
    assert min(sigmas) < 1e-5
    assert max(sigmas) > 1e2
    assert min(lengths) == 1
    assert max(lengths) > 500_000
    assert {len(case.phases) for case in cases} == {1, 2}  # K = 0 occurs
