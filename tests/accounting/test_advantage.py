"""The paper's unlearn-or-retrain analysis, corrected: errata E14, E15 and E16."""

import math
import random

import pytest

from expunge.accounting import Assumptions, learn_unlearn
from expunge.accounting.advantage import PaperAdvantage
from expunge.accounting.bounds import log_sobolev_paper

# THEORY 2.9, Figure 2.
M_CONVEX, SMOOTH = 0.0119, 0.2619
STEP = 1 / SMOOTH


def random_advantage(seed: int) -> PaperAdvantage:
    rng = random.Random(seed)
    return PaperAdvantage(
        forget_share=rng.uniform(0.001, 0.5),
        strong_convexity=10 ** rng.uniform(-2, 0),
        step_size=10 ** rng.uniform(-2, 0),
        sigma=10 ** rng.uniform(-2, 0),
        lipschitz=10 ** rng.uniform(-1, 1),
        order=rng.choice((1.5, 2.0, 8.0)),
        level=10 ** rng.uniform(-2, 1),
    )


def condition(advantage: PaperAdvantage, learn_steps: int) -> bool:
    """[prop:sufficient_condition_retraining] with its prefactor (E14), as THEORY writes it."""
    m, eta, sigma = advantage.strong_convexity, advantage.step_size, advantage.sigma
    C = 2 * sigma**2 / m if advantage.log_sobolev is None else advantage.log_sobolev
    alpha, eps, M = advantage.order, advantage.level, advantage.lipschitz
    A = 4 * alpha * M**2 * advantage.forget_share**2 / (m * sigma**2 * eps)
    prefactor = C * alpha / (2 * sigma**2 * eta)
    steps = prefactor * (math.log(A) + math.log(1 - math.exp(-m * eta * learn_steps)))
    return math.ceil(steps) <= learn_steps


def test_the_unlearning_cost_is_where_the_papers_bound_meets_the_level() -> None:
    """K(T) steps bring the closed form to the level, and one step fewer does not."""
    visited = 0
    for seed in range(60):
        a = random_advantage(seed)
        if a.step_size > 2 / (2 * a.strong_convexity):
            continue
        loss = Assumptions(a.strong_convexity, a.strong_convexity, a.lipschitz)
        samples, learn_steps = 10_000, random.Random(seed).randint(1, 500)
        forgotten = max(1, round(a.forget_share * samples))
        exact = PaperAdvantage(
            forgotten / samples,
            a.strong_convexity,
            a.step_size,
            a.sigma,
            a.lipschitz,
            a.order,
            a.level,
        )
        steps = exact.unlearn_steps(learn_steps)

        def divergence(unlearn_steps: int, a=a, loss=loss, t=learn_steps, f=forgotten) -> float:
            history = learn_unlearn(
                learn_steps=t,
                unlearn_steps=unlearn_steps,
                step_size=a.step_size,
                sigma=a.sigma,
                samples=10_000,
                forgotten=f,
            )
            return log_sobolev_paper.bound(loss, history).renyi(a.order)

        assert divergence(steps) <= a.level * (1 + 1e-10)
        if steps:
            assert divergence(steps - 1) > a.level
            visited += 1
    assert visited > 20


def test_the_break_even_is_the_first_learning_length_that_meets_the_condition() -> None:
    """[prop:sufficient_condition_retraining], E14: T_min is the first T with K(T) <= T."""
    for seed in range(60):
        advantage = random_advantage(seed)
        if advantage.unlearn_steps(math.inf) > 20_000:
            continue
        found = advantage.break_even_learn_steps()
        assert condition(advantage, found)
        assert advantage.unlearn_steps(found) <= found
        assert not any(condition(advantage, earlier) for earlier in range(1, found))


def test_the_condition_is_not_monotone_in_the_learning_length() -> None:
    """E14: A = 20, eta m = .0454; T = 1 passes and T = 131 fails."""
    m, eta, sigma, alpha = 0.0119, 0.0454 / 0.0119, 0.3, 2.0
    share = math.sqrt(20 * m * sigma**2 / (4 * alpha))
    advantage = PaperAdvantage(share, m, eta, sigma, order=alpha)
    assert math.exp(advantage.log_initial) == pytest.approx(20, rel=1e-12)
    assert advantage.unlearn_steps(1) <= 1
    assert advantage.unlearn_steps(131) > 131
    assert advantage.break_even_learn_steps() == 1


def test_a_looser_log_sobolev_constant_costs_steps_in_proportion() -> None:
    m, eta, sigma = 0.05, 0.5, 0.2
    default = PaperAdvantage(0.2, m, eta, sigma)
    same = PaperAdvantage(0.2, m, eta, sigma, log_sobolev=2 * sigma**2 / m)
    looser = PaperAdvantage(0.2, m, eta, sigma, log_sobolev=6 * sigma**2 / m)
    assert same.steps_per_nat == pytest.approx(default.steps_per_nat, rel=1e-14)
    assert looser.steps_per_nat == pytest.approx(3 * default.steps_per_nat, rel=1e-14)


def printed_ratio(m: float, eta: float, sigma: float, learn_steps: int) -> float:
    """E15 as printed: 2 sqrt(a) M (m eta)^b/m T^b eps^(-1/2) c - 1, b = sigma^2 eta/(C a)."""
    b = sigma**2 * eta / (2 * sigma**2 / m * 2)
    return 2 * math.sqrt(2) * (m * eta) ** b / m * learn_steps**b * 0.5 - 1


def test_the_public_ratio_is_far_below_the_printed_one_on_figure_two() -> None:
    """E15: 113.7 printed, 8.0 needed (alpha = 2, eps = 1, M = 1, c = .5, sigma = .3, T = 1)."""
    advantage = PaperAdvantage(0.1, M_CONVEX, STEP, 0.3)
    assert printed_ratio(M_CONVEX, STEP, 0.3, 1) == pytest.approx(113.7, abs=0.05)
    assert advantage.public_ratio(1, 0.5) == pytest.approx(8.0, abs=0.05)


def test_the_public_ratio_is_above_the_printed_one_where_that_is_unsafe() -> None:
    """E15: 27.3 printed, 34.0 needed (m = .05, eta = .01, sigma = .1, T = 1000)."""
    advantage = PaperAdvantage(0.1, 0.05, 0.01, 0.1)
    assert printed_ratio(0.05, 0.01, 0.1, 1000) == pytest.approx(27.3, abs=0.05)
    assert advantage.public_ratio(1000, 0.5) == pytest.approx(34.0, abs=0.05)


def test_for_short_learning_the_public_ratio_grows_like_the_root_of_its_length() -> None:
    """E15: 2 sqrt(a) M c sqrt(eta T)/(sigma sqrt(eps)) - 1, exponent 1/2 and no b."""
    eta, sigma = 1e-6, 1e-4
    advantage = PaperAdvantage(0.1, 0.01, eta, sigma)
    for learn_steps in (1, 4, 100):
        small = 2 * math.sqrt(2) * 0.5 * math.sqrt(eta * learn_steps) / sigma - 1
        assert advantage.public_ratio(learn_steps, 0.5) == pytest.approx(small, rel=1e-5)


def test_the_public_ratio_is_where_unlearning_starts_to_pay() -> None:
    """At the returned ratio K(T) <= T; with a thousandth less public data it is not."""
    visited = 0
    for seed in range(80):
        rng, base = random.Random(seed), random_advantage(seed)
        learn_steps, fraction = rng.randint(1, 300), rng.uniform(0.05, 1.0)
        ratio = base.public_ratio(learn_steps, fraction)
        if ratio == 0:
            continue

        def nats(at: float, base=base, fraction=fraction, t=learn_steps) -> float:
            share = PaperAdvantage(
                fraction / (1 + at),
                base.strong_convexity,
                base.step_size,
                base.sigma,
                base.lipschitz,
                base.order,
                base.level,
            )
            x = base.strong_convexity * base.step_size * t
            return share.steps_per_nat * (share.log_initial + math.log(-math.expm1(-x)))

        assert nats(ratio) == pytest.approx(learn_steps, rel=1e-6, abs=1e-6)
        assert nats((1 + ratio) * 0.999 - 1) > learn_steps
        visited += 1
    assert visited > 20


def test_no_public_records_are_asked_for_where_unlearning_pays_anyway() -> None:
    assert PaperAdvantage(0.001, 0.5, 0.5, 1.0).public_ratio(100, 0.001) == 0.0
    assert PaperAdvantage(0.001, 0.5, 0.5, 1.0).unlearn_steps(100) == 0
