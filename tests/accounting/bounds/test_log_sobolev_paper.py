"""The paper's closed form, corrected: its value, its hypotheses, and exact laws below it."""

import math
from dataclasses import replace

import numpy as np
import pytest

from expunge.accounting import Assumptions, History, Phase, Refused, learn_unlearn
from expunge.accounting.bounds import log_sobolev, log_sobolev_paper
from tests import scenarios

LOSS = Assumptions(strong_convexity=0.05, smoothness=1.0, lipschitz=2.0)
LEARN, UNLEARN = Phase(30, 0.5, 0.4, 100, 10), Phase(20, 0.5, 0.4, 90)


@pytest.mark.parametrize("order", [1.5, 2.0, 8.0, 100.0])
@pytest.mark.parametrize("normaliser", ["mean", "fixed"])
@pytest.mark.parametrize("unlearn", [0, 1, 20])
def test_the_bound_is_the_closed_form(order, normaliser, unlearn):
    phases = (LEARN, replace(UNLEARN, steps=unlearn)) if unlearn else (LEARN,)
    m, eta, T, sigma = 0.05, 0.5, 30, 0.4
    rho = 0.1 if normaliser == "mean" else 0.05
    expected = (
        order
        * (4 * 2.0**2 * rho**2 / (m * sigma**2))
        * (1 - math.exp(-m * eta * T))
        * math.exp(-unlearn * eta * m / order)
    )
    found = log_sobolev_paper.bound(LOSS, History(phases, normaliser)).renyi(order)
    assert found == pytest.approx(expected, rel=1e-11)


def test_squares_that_underflow_leave_the_divergence_as_it_is():
    """gap^2 is 0 and sigma^2 3e-323 as doubles; (gap/sigma)^2/m is 0.0064."""
    found = log_sobolev_paper.learning_divergence(
        gradient_gap=4e-163, strong_convexity=1.0, step_size=1.0, sigma=5e-162, learn_steps=100
    )
    assert found == pytest.approx(0.0064, rel=1e-9)


def test_a_divergence_far_above_one_survives_a_decay_below_every_double():
    """About 1e300 e^(-720) at order 2: 1e-12, although e^(-745) is the least double."""
    declared = Assumptions(1.0, 1.0, 1e60, initial_log_sobolev=0.0)
    history = History((replace(LEARN, step_size=1.0, sigma=1e-90), Phase(1_500, 1.0, 1e-90, 90)))
    found = log_sobolev_paper.bound(declared, history).divergence(2.0)
    expected = math.log(2) + 2 * math.log(2 * 1e60 * 0.1 / 1e-90) - 750
    assert math.log(found) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(("unlearn", "renyi"), [(0, 0.067227), (20, 0.042679)])
def test_table_d_of_the_theory_is_reproduced(unlearn, renyi):
    declared = Assumptions(strong_convexity=0.0119, smoothness=0.2619, lipschitz=1.0)
    history = learn_unlearn(
        learn_steps=10_000,
        unlearn_steps=unlearn,
        step_size=3.81825124,
        sigma=1.0,
        samples=3000,
        forgotten=30,
    )
    found = log_sobolev_paper.bound(declared, history).renyi(2.0)
    assert found == pytest.approx(renyi, rel=2e-5)  # printed to five digits


def cases(seed: int, count: int) -> list[scenarios.Quadratic]:
    rng = np.random.default_rng(seed)
    drawn = []
    for _ in range(count):
        m = float(np.exp(rng.uniform(-4, 0)))
        L = m + float(rng.uniform(0, 1))
        sigma = float(np.exp(rng.uniform(-3, 1)))
        history = learn_unlearn(
            learn_steps=int(rng.integers(1, 100)),
            unlearn_steps=int(rng.integers(0, 100)),
            step_size=2 / (m + L) * float(rng.uniform(0.005, 1)) * (1 - 1e-15),
            sigma=sigma,
            samples=100,
            forgotten=int(rng.integers(1, 90)),
            normaliser=rng.choice(["mean", "fixed"]),
        )
        drawn.append(
            scenarios.worst_case(
                strong_convexity=m,
                smoothness=L,
                lipschitz=1.0,
                history=history,
                initial_variance=float(rng.choice([0.0, sigma**2 / m, 2 * sigma**2 / m])),
            )
        )
    return drawn


def test_opposite_gradients_on_the_slowest_direction_stay_below():
    for case in cases(seed=1, count=500):
        guarantee = log_sobolev_paper.bound(case.assumptions, case.history)
        assert scenarios.shortfalls(guarantee, case.mu()) == []


def test_opposite_gradients_expose_a_squared_step_size_and_a_rate_without_the_order():
    caught = {"eta squared": 0, "rate": 0}
    for case in cases(seed=2, count=500):
        squared = log_sobolev_paper.bound(scenarios.with_squared_step_size(case), case.history)
        caught["eta squared"] += bool(scenarios.shortfalls(squared, case.mu()))
        m, eta = case.assumptions.strong_convexity, case.history.phases[0].step_size
        learned = log_sobolev_paper.bound(
            case.assumptions, History(case.history.phases[:1], case.history.normaliser)
        )
        steps = sum(phase.steps for phase in case.history.phases[1:])
        # 4 eta m is beyond the true rate 2 log(1/c) for small steps.
        decay = math.exp(-4 * steps * eta * m)
        faulty = log_sobolev_paper.Renyi.linear(learned.renyi(2.0) / 2 * decay)
        caught["rate"] += bool(scenarios.shortfalls(faulty, case.mu()))
    assert min(caught.values()) > 5


def test_the_yardstick_is_never_below_the_bound_in_its_best_form():
    for case in cases(seed=3, count=300):
        declared = replace(case.assumptions, initial_log_sobolev=None)
        best = log_sobolev.bound(declared, case.history)
        yardstick = log_sobolev_paper.bound(declared, case.history)
        for order in (2.0, 8.0):
            assert best.renyi(order) <= yardstick.renyi(order) * (1 + 1e-11)


@pytest.mark.parametrize(
    ("declared", "phases", "reason"),
    [
        (replace(LOSS, strong_convexity=0.0), (LEARN, UNLEARN), "strongly convex"),
        (replace(LOSS, strong_convexity=None), (LEARN, UNLEARN), "strongly convex"),
        (LOSS, (replace(LEARN, step_size=1.95),), "2/\\(m\\+L\\)"),
        (replace(LOSS, initial_log_sobolev=6.5), (LEARN, UNLEARN), "initial log-Sobolev"),
        (LOSS, (LEARN, replace(UNLEARN, sigma=0.5)), "same step size and sigma"),
        (LOSS, (LEARN, replace(UNLEARN, step_size=0.4)), "same step size and sigma"),
        (LOSS, (LEARN, replace(UNLEARN, forgotten=1), UNLEARN), "one learning phase"),
        (LOSS, (UNLEARN, LEARN), "one learning phase"),
        (LOSS, (replace(LEARN, sigma=0.0),), "noise"),
        (LOSS, (replace(LEARN, released=True), UNLEARN), "released"),
        (LOSS, (replace(LEARN, rounding=1e-9), UNLEARN), "rounding"),
        (LOSS, (replace(LEARN, batches=(4, 6), batch_size=50), UNLEARN), "full batches"),
        (replace(LOSS, initial_distance=1.0), (LEARN, UNLEARN), "initial"),
    ],
)
def test_each_missing_hypothesis_is_refused_by_name(declared, phases, reason):
    with pytest.raises(Refused, match=reason):
        log_sobolev_paper.bound(declared, History(phases))
