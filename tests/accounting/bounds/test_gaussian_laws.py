"""Every bound against exact Gaussian laws: what holds across all of them."""

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from expunge.accounting import Assumptions, History, Phase, Refused, account, learn_unlearn
from expunge.accounting.bounds import BOUNDS
from tests import scenarios
from tests.scenarios import DELTA, Quadratic

SETTINGS = 12_000
RENYI_BOUNDS = ("shift", "log_sobolev", "log_sobolev_paper", "iteration")


@pytest.fixture(scope="module")
def sweep() -> tuple[list[Quadratic], np.ndarray]:
    rng = np.random.default_rng(20240614)
    drawn = [scenarios.random_quadratic(rng) for _ in range(SETTINGS)]
    return drawn, scenarios.exact_mu(drawn)


def check(
    name: str, drawn: list[Quadratic], mus: np.ndarray, *, faulty: bool = False
) -> tuple[int, list[tuple[int, list[str]]]]:
    """How many settings a bound answered, and where it claimed less than the truth."""
    answered, wrong = 0, []
    for i, (setting, mu) in enumerate(zip(drawn, mus, strict=True)):
        declared = setting.assumptions
        if faulty:
            declared = scenarios.with_squared_step_size(setting)
        try:
            guarantee = BOUNDS[name](declared, setting.history)
            found = scenarios.shortfalls(guarantee, float(mu))
        except Refused:
            continue
        answered += 1
        if found:
            wrong.append((i, found))
    return answered, wrong


# The least number of settings each bound must answer, so that no test passes by refusing.
@pytest.mark.parametrize(
    ("name", "least_answered"),
    [
        ("shift", SETTINGS),
        pytest.param("log_sobolev", SETTINGS, marks=pytest.mark.slow),
        ("log_sobolev_paper", 2_000),
        pytest.param("iteration", 9_000, marks=pytest.mark.slow),
    ],
)
def test_no_bound_is_below_the_exact_law_in_either_direction(sweep, name, least_answered):
    answered, wrong = check(name, *sweep)
    assert wrong == []
    assert answered >= least_answered


def test_the_sweep_reaches_what_it_claims_to_reach(sweep):
    drawn, _ = sweep
    histories = [setting.history for setting in drawn]
    assert {len(setting.eigenvalues) for setting in drawn} == {1, 2, 3, 4}
    assert {setting.assumptions.regime for setting in drawn} == {
        "strongly convex",
        "convex",
        "nonconvex",
    }
    assert {history.normaliser for history in histories} == {"mean", "fixed"}
    assert sum(len(history.phases) >= 3 for history in histories) > 2_000
    varying = [h for h in histories if len({(p.step_size, p.sigma) for p in h.phases}) > 1]
    assert len(varying) > 2_000
    assert sum(setting.initial_variance > 0 for setting in drawn) > 2_000


@pytest.mark.parametrize("name", RENYI_BOUNDS)
def test_the_sweep_catches_a_squared_step_size_in_the_sensitivity(sweep, name):
    drawn, mus = sweep
    _, wrong = check(name, drawn[:3_000], mus[:3_000], faulty=True)
    assert wrong


def test_the_vectorised_law_agrees_with_one_setting_at_a_time_and_with_full_matrices(sweep):
    drawn, mus = sweep
    rng = np.random.default_rng(7)
    for setting, mu in list(zip(drawn, mus, strict=True))[:400]:
        assert setting.mu() == pytest.approx(mu, rel=1e-12)
        d = len(setting.eigenvalues)
        rotation, _ = np.linalg.qr(rng.standard_normal((d, d)))
        # A rotation mixes directions: errors are relative to the largest gap and variance.
        gap, variance = setting.mean_gap_and_variance()
        if np.abs(gap).min() > 1e-3 * np.abs(gap).max() and variance.max() < 1e3 * variance.min():
            assert scenarios.rotated_mu(setting, rotation) == pytest.approx(mu, rel=1e-7)


def test_rotated_curvature_meets_the_bounds_too():
    rng = np.random.default_rng(11)
    for _ in range(200):
        setting = scenarios.random_quadratic(rng, most_steps=10)
        d = len(setting.eigenvalues)
        rotation, _ = np.linalg.qr(rng.standard_normal((d, d)))
        mu = scenarios.rotated_mu(setting, rotation)
        guarantee = BOUNDS["shift"](setting.assumptions, setting.history)
        _, variance = setting.mean_gap_and_variance()
        # Absolute rounding of the full-matrix recursion, in units of the smallest std.
        rounding = 1e-13 * (1 + np.abs(setting.gaps).max()) / math.sqrt(variance.min())
        assert guarantee.renyi(2.0) >= (mu * (1 - 1e-9) - rounding) ** 2


@st.composite
def quadratics(draw) -> Quadratic:
    """Learning, up to two more requests, unlearning; c below, at or above 1."""
    L = draw(st.floats(0.01, 10))
    regime = draw(st.sampled_from(["strongly convex", "convex", "nonconvex"]))
    m = {"strongly convex": L * draw(st.floats(1e-6, 1)), "convex": 0.0, "nonconvex": None}[regime]
    low = -L if m is None else m
    top = 0.5 / L if m is None else 2 / L
    d = draw(st.integers(1, 4))
    position = st.one_of(st.just(0.0), st.just(1.0), st.floats(0, 1))
    eigenvalues = np.array([low + draw(position) * (L - low) for _ in range(d)])
    eigenvalues = np.clip(eigenvalues, low, L)
    M = draw(st.floats(0.01, 100))
    cohorts = draw(st.lists(st.integers(1, 1000), min_size=1, max_size=3))
    retained = draw(st.integers(1, 10**6))
    fixed = draw(st.booleans())
    total = retained + sum(cohorts)
    direction = np.array([draw(st.floats(-1, 1)) for _ in range(d)])
    norm = float(np.linalg.norm(direction))
    direction = direction / norm if norm > 1e-3 else np.eye(d)[0]
    reach = draw(st.one_of(st.just(1.0), st.floats(-1, 1)))  # of the forgotten gradients
    phases, gaps = [], []
    left = sum(cohorts)
    for gone in [0, *cohorts][: len(cohorts) + draw(st.integers(0, 1))]:
        left -= gone
        eta = top * draw(st.floats(1e-3, 1))
        sigma = draw(st.floats(1e-3, 10))
        phases.append(Phase(draw(st.integers(1, 30)), eta, sigma, retained + left, left))
        # The rest points the other way under the mean normaliser, and drops out under fixed.
        share = reach * left / total if fixed else (1 + reach) * left / (retained + left)
        gaps.append(M * share * direction)
    history = History(tuple(phases), "fixed" if fixed else "mean")
    variance = draw(st.one_of(st.just(0.0), st.floats(1e-6, 10)))
    declared = Assumptions(
        strong_convexity=m, smoothness=L, lipschitz=M, initial_log_sobolev=variance
    )
    return Quadratic(declared, history, eigenvalues, np.array(gaps), variance)


@settings(max_examples=400, deadline=None, derandomize=True, database=None)
@given(quadratics())
def test_no_quadratic_that_hypothesis_finds_breaks_a_bound(setting):
    mu = setting.mu()
    for name in RENYI_BOUNDS:
        try:
            guarantee = BOUNDS[name](setting.assumptions, setting.history)
            assert scenarios.shortfalls(guarantee, mu) == [], name
        except Refused:
            assert name != "shift"


def test_cyclic_batches_stay_above_their_exact_law():
    """One dimension, curvature m, every batch's forgotten gradients opposite to its rest."""
    rng = np.random.default_rng(13)
    answered = dict.fromkeys(("shift", "log_sobolev", "iteration"), 0)
    for _ in range(400):
        m = float(rng.choice([0.0, rng.uniform(0.01, 0.5)]))
        batches = tuple(int(f) for f in rng.integers(0, 4, int(rng.integers(1, 6))))
        if not any(batches):
            continue
        eta, sigma = float(rng.uniform(0.05, 1.2)), float(rng.uniform(0.1, 1))
        rows, gone = 8 * len(batches), sum(batches)
        learn = Phase(
            int(rng.integers(1, 60)), eta, sigma, rows, gone, batches=batches, batch_size=8
        )
        history = History((learn, Phase(int(rng.integers(1, 20)), eta, sigma, rows - gone)))
        gap = variance = 0.0
        for phase, forgotten in zip(history.phases, (batches, (0,)), strict=True):
            for k in range(phase.steps):
                gap = (1 - eta * m) * gap + 2 * eta * forgotten[k % len(forgotten)] / 8
                variance = (1 - eta * m) ** 2 * variance + phase.noise_std**2
        declared = Assumptions(
            strong_convexity=m, smoothness=1.0, lipschitz=1.0, initial_log_sobolev=0.0
        )
        for name in answered:
            guarantee = BOUNDS[name](declared, history)
            assert scenarios.shortfalls(guarantee, gap / math.sqrt(variance)) == []
            answered[name] += 1
    assert min(answered.values()) > 300


# Monotonicity and limits.

LOSS = Assumptions(strong_convexity=0.05, smoothness=1.0, lipschitz=1.0, radius=1.5)


def epsilons(
    loss: Assumptions = LOSS,
    *,
    learn: int = 60,
    unlearn: int = 20,
    eta: float = 0.4,
    sigma: float = 0.8,
    private: int = 1000,
    public: int = 0,
    forgotten: int = 50,
) -> dict[str, float | None]:
    history = learn_unlearn(
        learn_steps=learn,
        unlearn_steps=unlearn,
        step_size=eta,
        sigma=sigma,
        samples=private + public,
        forgotten=forgotten,
    )
    judged = account(loss, history, delta=DELTA)
    return {name: figures.epsilon for name, figures in judged.bounds.items()}


@pytest.mark.parametrize("name", BOUNDS)
@pytest.mark.parametrize(
    ("varied", "values"),
    [
        ("sigma", [0.2, 0.4, 0.8, 1.6, 3.2]),
        ("public", [0, 10, 1000, 30_000]),
        ("unlearn", [1, 2, 5, 20, 50]),
        ("forgotten", [50, 20, 10, 1]),
    ],
)
def test_epsilon_falls_in_sigma_in_public_data_in_unlearning_steps_and_in_retained_records(
    name, varied, values
):
    found = [epsilons(**{varied: value})[name] for value in values]
    assert all(epsilon is not None for epsilon in found)
    for larger, smaller in pairwise(found):
        assert smaller < larger or smaller == larger == 0


@pytest.mark.parametrize("normaliser", ["mean", "fixed"])
def test_without_forgotten_records_every_bound_is_exactly_zero(normaliser):
    phases = (Phase(10, 0.3, 0.5, 100), Phase(5, 0.2, 0.1, 100))
    for declared in (
        LOSS,
        Assumptions(strong_convexity=0.0, smoothness=1.0, lipschitz=1.0),
        Assumptions(smoothness=1.0, lipschitz=1.0),
        Assumptions(clip=1.0, weight_decay=0.1),
    ):
        judged = account(declared, History(phases, normaliser), delta=DELTA)
        assert {figures.epsilon for figures in judged.bounds.values()} == {0.0}
        assert judged.bounds["shift"].mu == 0.0


@pytest.mark.parametrize("name", ["shift", "log_sobolev", "iteration", "contraction"])
def test_vanishing_strong_convexity_meets_the_convex_bound(name):
    convex = replace(LOSS, strong_convexity=0.0, initial_log_sobolev=0.0)
    nearly = replace(convex, strong_convexity=1e-13)
    # 80 steps with c = 1 - 4e-14: at most 80 * 4e-14 * a few, and outward roundings.
    assert epsilons(nearly)[name] == pytest.approx(epsilons(convex)[name], rel=1e-10)


def test_no_public_data_is_plain_langevin_unlearning():
    m, eta, sigma, T, K, n, n_f = 0.05, 0.4, 0.8, 60, 20, 1000, 50
    c, s, nu = 1 - eta * m, 2 * eta * n_f / n, math.sqrt(2 * eta) * sigma
    mu = (
        s
        / nu
        * c**K
        * math.sqrt((1 + c) / (1 - c))
        * (1 - c**T)
        / math.sqrt(1 - c ** (2 * T + 2 * K))
    )
    plain = learn_unlearn(
        learn_steps=T, unlearn_steps=K, step_size=eta, sigma=sigma, samples=n, forgotten=n_f
    )
    loss = replace(LOSS, radius=None)
    assert account(loss, plain, delta=DELTA).bounds["shift"].mu == pytest.approx(mu, rel=1e-11)
    assert epsilons(loss, public=0) == epsilons(loss)


def test_public_data_divides_mu_by_the_growth_of_the_data_set():
    mus = [
        BOUNDS["shift"](
            replace(LOSS, radius=None),
            learn_unlearn(
                learn_steps=60,
                unlearn_steps=20,
                step_size=0.4,
                sigma=0.8,
                samples=1000 * times,
                forgotten=50,
            ),
        ).mu
        for times in (1, 2, 31)
    ]
    assert mus[0] / mus[1] == pytest.approx(2, rel=1e-12)
    assert mus[0] / mus[2] == pytest.approx(31, rel=1e-12)
