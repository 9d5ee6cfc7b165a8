"""Privacy amplification by iteration: its closed form, and exact laws below it."""

import math
from dataclasses import replace

import numpy as np
import pytest

from expunge.accounting import Assumptions, History, Phase, Refused, learn_unlearn
from expunge.accounting.bounds import iteration, shift
from tests import scenarios

LOSS = Assumptions(strong_convexity=0.05, smoothness=1.0, lipschitz=1.0)


def history(**changed) -> History:
    settings = {
        "learn_steps": 40,
        "unlearn_steps": 15,
        "step_size": 0.5,
        "sigma": 0.4,
        "samples": 100,
        "forgotten": 10,
    }
    return learn_unlearn(**(settings | changed))


@pytest.mark.parametrize("radius", [None, 0.2, 5.0])
@pytest.mark.parametrize("unlearn", [1, 15, 200])
def test_the_bound_is_the_closed_form(radius, unlearn):
    c, s, T, eta, sigma = 1 - 0.5 * 0.05, 2 * 0.5 * 0.1, 40, 0.5, 0.4
    Z = min(2 * radius if radius else math.inf, s * (1 - c**T) / (1 - c))
    expected = 2 * Z**2 / (2 * eta * sigma**2) * (1 - c**2) * c ** (2 * unlearn)
    expected /= 1 - c ** (2 * unlearn)
    found = iteration.bound(replace(LOSS, radius=radius), history(unlearn_steps=unlearn))
    assert found.renyi(2.0) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize(
    "declared",
    [
        LOSS,
        replace(LOSS, strong_convexity=0.0),
        replace(LOSS, strong_convexity=None),
        replace(LOSS, strong_convexity=None, radius=0.4),
        Assumptions(clip=1.0, smoothness=1.0, weight_decay=0.2),
    ],
)
def test_a_phase_of_equal_steps_is_as_many_phases_of_one_step(declared):
    phases = (Phase(20, 0.5, 0.4, 100, 10), Phase(6, 0.2, 0.9, 96, 6), Phase(11, 0.4, 0.3, 90))
    single = tuple(replace(phase, steps=1) for phase in phases for _ in range(phase.steps))
    whole = iteration.bound(declared, History(phases)).renyi(2.0)
    assert iteration.bound(declared, History(single)).renyi(2.0) == pytest.approx(whole, rel=1e-9)


def test_it_is_at_least_twice_the_exact_law_and_the_shift_bound():
    rng = np.random.default_rng(1)
    squared_caught = 0
    for _ in range(300):
        run = history(
            learn_steps=int(rng.integers(1, 60)),
            unlearn_steps=int(rng.integers(1, 60)),
            step_size=float(rng.uniform(0.01, 1.9)),
            sigma=float(np.exp(rng.uniform(-2, 1))),
            forgotten=int(rng.integers(1, 60)),
            normaliser=rng.choice(["mean", "fixed"]),
        )
        case = scenarios.worst_case(
            strong_convexity=0.05, smoothness=1.0, lipschitz=1.0, history=run
        )
        guarantee = iteration.bound(case.assumptions, run)
        assert scenarios.shortfalls(guarantee, case.mu()) == []
        assert guarantee.renyi(2.0) >= 2 * case.mu() ** 2 * (1 - 1e-11)
        assert guarantee.renyi(2.0) >= 2 * shift.bound(case.assumptions, run).renyi(2.0) * (
            1 - 1e-10
        )
        squared = iteration.bound(scenarios.with_squared_step_size(case), run)
        squared_caught += bool(scenarios.shortfalls(squared, case.mu()))
    assert squared_caught > 20


def test_from_a_distance_it_is_twice_the_exact_law_of_two_points():
    z, K, eta = 1.5, 12, 0.5
    phase = Phase(K, eta, 0.4, 90)
    c = 1 - eta * 0.05
    mu = z * c**K / (phase.noise_std * math.sqrt((1 - c ** (2 * K)) / (1 - c * c)))
    guarantee = iteration.bound(replace(LOSS, initial_distance=z), History((phase,)))
    assert guarantee.renyi(2.0) == pytest.approx(2 * mu**2, rel=1e-10)


def test_after_a_noiseless_past_only_its_half_of_the_noise_is_lost():
    """All noise in the trailing steps: the exact law is half of the bound."""
    phases = (Phase(40, 0.5, 0.0, 100, 10), Phase(15, 0.5, 0.4, 90))
    case = scenarios.worst_case(
        strong_convexity=0.05, smoothness=1.0, lipschitz=1.0, history=History(phases)
    )
    found = iteration.bound(case.assumptions, case.history).renyi(2.0)
    assert found == pytest.approx(2 * case.mu() ** 2, rel=1e-10)
    unhalved = iteration.Renyi.linear(found / 4 / 1.01)
    assert scenarios.shortfalls(unhalved, case.mu())


@pytest.mark.parametrize(
    ("declared", "run", "reason"),
    [
        (LOSS, history(unlearn_steps=0), "infinite without"),
        (LOSS, History((Phase(4, 0.5, 0.4, 100, 10), Phase(4, 0.5, 0.0, 90))), "infinite without"),
        (LOSS, history(learned_model_released=True), "released"),
        (LOSS, History((Phase(4, 0.5, 0.4, 100, 10, rounding=1e-9),)), "rounding"),
        (Assumptions(clip=1.0), history(), "clipped"),
    ],
)
def test_what_the_theorem_does_not_cover_is_refused(declared, run, reason):
    with pytest.raises(Refused, match=reason):
        iteration.bound(declared, run)
