"""The corrected log-Sobolev recursion: exact laws, an independent loop, and its hypotheses."""

import math
from dataclasses import replace

import numpy as np
import pytest
from mpmath import mpf

from expunge.accounting import Assumptions, History, Phase, Poisson, Refused, learn_unlearn
from expunge.accounting.bounds import log_sobolev
from expunge.accounting.bounds.log_sobolev import LogSobolev, advance, compact_constant
from expunge.accounting.moduli import Contraction, Run
from tests import scenarios
from tests.scenarios import Step

LOSS = Assumptions(strong_convexity=0.05, smoothness=1.0, lipschitz=1.0)


def by_hand(steps: list[Step], constant: float, *, first_term: bool = True) -> float:
    """THEORY 2.12, one step at a time; without the first term it is the printed theorem (E2)."""
    D = 0.0
    for k, step in enumerate(steps):
        pushed, v = step.c**2 * constant, step.nu**2
        if step.s > 0:
            gained = step.s**2 / v if k or first_term else 0.0
            D = (D + gained) / (1 + (v / 2) / (pushed + v / 2))
        elif D:
            D = D * pushed / (pushed + v)
        constant = pushed + v
    return D


def slope(declared: Assumptions, history: History) -> float:
    return log_sobolev.bound(declared, history).renyi(2.0) / 2


def random_histories(seed: int, count: int) -> list[tuple[Assumptions, History]]:
    rng = np.random.default_rng(seed)
    drawn = [scenarios.random_quadratic(rng) for _ in range(count)]
    return [(setting.assumptions, setting.history) for setting in drawn]


def test_the_bound_is_the_recursion_one_step_at_a_time():
    for declared, history in random_histories(seed=1, count=400):
        steps = scenarios.steps_of(declared, history)
        start = log_sobolev.initial_constant(declared, history)
        # 1e-13 sqrt(steps) + 1e-12 of outward rounding, and 200 steps of a few ulps each.
        assert slope(declared, history) == pytest.approx(by_hand(steps, start), rel=1e-11)


@pytest.mark.parametrize(
    "declared",
    [
        LOSS,
        replace(LOSS, strong_convexity=0.0),
        replace(LOSS, strong_convexity=None),
        replace(LOSS, radius=1.0),
        replace(LOSS, radius=0.2, strong_convexity=None),
    ],
)
@pytest.mark.parametrize("unlearn", [0, 1, 30])
def test_a_phase_of_equal_steps_is_as_many_phases_of_one_step(declared, unlearn):
    phases = (Phase(30, 0.5, 0.4, 100, 10), Phase(9, 0.2, 0.9, 96, 6))
    if unlearn:
        phases += (Phase(unlearn, 0.5, 0.4, 90),)
    single = tuple(replace(phase, steps=1) for phase in phases for _ in range(phase.steps))
    whole = slope(declared, History(phases))
    assert slope(declared, History(single)) == pytest.approx(whole, rel=1e-9)


def test_the_constant_continues_through_unlearning():
    """THEORY 2.12: D_2 = 0.0051162 at the second setting of table D, 0.0087063 restarted."""
    declared = Assumptions(strong_convexity=0.0119, smoothness=0.2619, lipschitz=1.0)
    history = learn_unlearn(
        learn_steps=10_000,
        unlearn_steps=20,
        step_size=3.8183,
        sigma=1.0,
        samples=3000,
        forgotten=30,
    )
    found = log_sobolev.bound(declared, history).renyi(2.0)
    assert found == pytest.approx(0.0051162, rel=1e-4)  # printed to five digits


@pytest.mark.parametrize("shift", [0.0, 0.3])
@pytest.mark.parametrize("constant", [0.0, 0.01, 50.0])
def test_phases_beyond_a_million_steps_are_held_above_the_recursion(monkeypatch, shift, constant):
    run = Run(4_000, Contraction.of(0.999), shift, 0.2)
    start = LogSobolev(0.7, constant)
    exact = advance(start, run)
    monkeypatch.setattr(log_sobolev, "MOST_STEPS", 1_000)
    held = advance(start, run)
    assert held.divergence >= exact.divergence * (1 - 1e-11)
    assert held.constant >= exact.constant * (1 - 1e-11)


def test_a_power_below_every_double_still_meets_a_constant_above_most():
    """c^(2n) = 0.25^600 is 6e-362, C is 1e300: their product is of the noise's size."""
    run = Run(600, Contraction.of(0.5), 0.0, 1e-30)
    after = advance(LogSobolev(1.0, 1e300), run)
    pushed = mpf(0.25) ** 600 * mpf(1e300)
    constant = pushed + mpf(1e-30) ** 2 * (1 - mpf(0.25) ** 600) / (1 - mpf(0.25))
    assert after.divergence == pytest.approx(float(pushed / constant), rel=1e-12)
    assert after.constant == pytest.approx(float(constant), rel=1e-12, abs=0)


@pytest.mark.parametrize("steps", [1, 2, 10**7])
@pytest.mark.parametrize("radius", [math.inf, 1e-10])
def test_a_constant_that_underflows_is_no_point_mass(steps, radius):
    """c^2 C is 1e-330, no double; D would be erased if it were 0."""
    run = Run(steps, Contraction.of(1e-15), 0.0, 1e-10, image_radius=radius)
    assert advance(LogSobolev(1e300, 1e-300), run).divergence > 0
    assert advance(LogSobolev(1e300, 0.0), run).divergence <= 5e-324  # a point mass


def test_a_divergence_far_above_one_survives_a_factor_below_every_double(monkeypatch):
    """1e300 (1 - 3/8)^1600 is about 1e-27, while the power alone is 1e-327."""
    monkeypatch.setattr(log_sobolev, "MOST_STEPS", 1_000)
    run = Run(1_600, Contraction.of(0.5), 1e-30, 1.0)
    exact = mpf(1e300) * mpf(0.625) ** 1_600
    assert advance(LogSobolev(1e300, 0.0), run).divergence == pytest.approx(
        float(exact), rel=1e-9, abs=0
    )


def test_noise_whose_variance_is_no_double_is_refused():
    """s/nu is 1.2 a step, but s^2 and nu^2 underflow: D was 5e-324, and epsilon 0."""
    declared = Assumptions(1.0, 1.0, 5e-162, initial_log_sobolev=0.0)
    history = History((Phase(3, 1.0, 1.2e-162, 100, 40),))
    with pytest.raises(Refused, match="variance"):
        log_sobolev.bound(declared, history)


def test_a_shift_whose_square_is_no_double_counts():
    """s^2 = 1e-340 is 0 as a double; (s/nu)^2 = 1e-40 is not."""
    run = Run(1, Contraction.of(1.0), 1e-170, 1e-150)
    assert advance(LogSobolev(0.0, 0.0), run).divergence == pytest.approx(5e-41, rel=1e-12, abs=0)


def test_long_phases_without_contraction_are_refused():
    convex = replace(LOSS, strong_convexity=0.0)
    history = History((Phase(10**7, 0.5, 0.4, 100, 10),))
    with pytest.raises(Refused, match="without contraction"):
        log_sobolev.bound(convex, history)


def test_the_compact_constant_is_that_of_a_ball_convolved_with_noise():
    assert compact_constant(0.0, 0.3) == pytest.approx(6 * 0.3)
    assert compact_constant(0.5, 0.25) == pytest.approx(6 * 1.25 * math.exp(4))
    assert compact_constant(1.0, 0.0) == math.inf
    assert compact_constant(1.0, 1e-9) == math.inf
    small = replace(LOSS, strong_convexity=0.0, initial_log_sobolev=0.0, radius=0.05)
    wide = History((Phase(400, 0.05, 2.0, 100, 10), Phase(20, 0.05, 2.0, 90)))
    assert slope(small, wide) < slope(replace(small, radius=None), wide)


def test_a_larger_initial_constant_never_helps():
    history = History((Phase(10, 0.5, 0.4, 100, 10), Phase(5, 0.5, 0.4, 90)))
    found = [slope(replace(LOSS, initial_log_sobolev=C), history) for C in (0.0, 0.1, 1.0, 100.0)]
    assert found == sorted(found)


@pytest.mark.parametrize(
    ("declared", "phase"),
    [
        (replace(LOSS, initial_distance=0.1), Phase(3, 0.5, 0.4, 100, 10)),
        (LOSS, Phase(3, 0.5, 0.4, 100, 10, rounding=1e-9)),
        (LOSS, Phase(3, 0.5, 0.4, 100, 10, released=True)),
        (LOSS, Phase(3, 0.5, 0.0, 100, 10)),
        (Assumptions(clip=1.0), Phase(3, 0.5, 0.4, 100, 10)),
    ],
)
def test_what_the_theorem_does_not_cover_is_refused(declared, phase):
    with pytest.raises(Refused):
        log_sobolev.bound(declared, History((phase, Phase(3, 0.5, 0.4, 90))))


def test_poisson_batches_are_refused_because_only_one_chain_is_known_to_contract():
    phase = Phase(2, 0.5, 0.4, 10, 2, poisson=Poisson(0.5, ((3, 1), (4, 0))))
    with pytest.raises(Refused, match="Poisson"):
        log_sobolev.bound(LOSS, History((phase,), "fixed"))


def test_opposite_gradients_on_the_slowest_direction_stay_below():
    rng = np.random.default_rng(2)
    caught = {"the first term lost": 0, "eta squared": 0}
    for _ in range(200):
        eta, sigma = float(rng.uniform(0.01, 1.9)), float(rng.uniform(0.1, 2))
        history = learn_unlearn(
            learn_steps=int(rng.integers(1, 20)),
            unlearn_steps=int(rng.integers(0, 30)),
            step_size=eta,
            sigma=sigma,
            samples=100,
            forgotten=int(rng.integers(1, 50)),
        )
        case = scenarios.worst_case(
            strong_convexity=0.05, smoothness=1.0, lipschitz=1.0, history=history
        )
        guarantee = log_sobolev.bound(case.assumptions, history)
        assert scenarios.shortfalls(guarantee, case.mu()) == []
        lost = log_sobolev.Renyi.linear(
            by_hand(scenarios.steps_of(case.assumptions, history), 0.0, first_term=False)
        )
        squared = log_sobolev.bound(scenarios.with_squared_step_size(case), history)
        caught["the first term lost"] += bool(scenarios.shortfalls(lost, case.mu()))
        caught["eta squared"] += bool(scenarios.shortfalls(squared, case.mu()))
    assert min(caught.values()) > 5


def test_the_printed_theorem_is_774_times_too_small_and_the_correction_is_not():
    """THEORY 3: a linear loss, point-mass start, eta = 1e-3, T = 20, rho = 2/7, sigma = 0.01."""
    history = History((Phase(20, 1e-3, 0.01, 42_000, 12_000),))
    declared = Assumptions(
        strong_convexity=0.0, smoothness=0.0, lipschitz=1.0, initial_log_sobolev=0.0
    )
    case = scenarios.worst_case(
        strong_convexity=0.0, smoothness=0.0, lipschitz=1.0, history=history
    )
    assert case.mu() ** 2 == pytest.approx(32.65, rel=1e-3)  # printed to four digits
    assert log_sobolev.bound(declared, history).renyi(2.0) == pytest.approx(42.6, rel=2e-3)
    printed = 2 * 1e-3 * by_hand(scenarios.steps_of(declared, history), 0.0, first_term=False)
    assert case.mu() ** 2 / printed > 700
