"""What calibration returns meets its target, and nothing noticeably less would."""

import math
import random
from dataclasses import replace
from typing import Any

import pytest

from expunge.accounting import Assumptions, History, Phase, Refused, checker
from expunge.accounting.bounds import GDP, shift
from expunge.accounting.calibration import (
    achieved,
    reported,
    sigma_for_requests,
    smallest_public,
    smallest_sigma,
    smallest_unlearn_steps,
)
from expunge.accounting.conversions import epsilon_from_gdp
from expunge.accounting.setting import Setting
from expunge.accounting.target import EpsilonDelta, RenyiWithin, Target

SLACK = 1e-6  # of the optimum
RENYI_BOUNDS = ("log_sobolev", "log_sobolev_paper", "iteration")


def log_uniform(rng: random.Random, low: float, high: float) -> float:
    return math.exp(rng.uniform(math.log(low), math.log(high)))


def random_setting(seed: int, *, most_learn: int = 100_000, radius: bool | None = None) -> Setting:
    rng = random.Random(seed)
    m = log_uniform(rng, 1e-3, 1.0)
    L = m * log_uniform(rng, 1.0, 100.0)
    step_size = rng.uniform(0.05, 1.0) * 2 / (m + L)
    with_radius = rng.random() < 0.4 if radius is None else radius
    private = rng.randint(50, 50_000)
    return Setting(
        Assumptions(m, L, 1.0, radius=log_uniform(rng, 0.1, 10) if with_radius else None),
        private=private,
        public=rng.choice((0, rng.randint(1, 100_000))),
        forget=max(1, round(log_uniform(rng, 1, private / 2))),
        step_size=step_size,
        learn_steps=max(1, round(log_uniform(rng, 1, most_learn))),
        normaliser=rng.choice(("mean", "fixed")),
    )


def random_target(seed: int) -> Target:
    rng = random.Random(-seed - 1)
    if rng.random() < 0.7:
        return EpsilonDelta(log_uniform(rng, 0.05, 10), log_uniform(rng, 1e-10, 1e-3))
    return RenyiWithin(log_uniform(rng, 0.01, 10), rng.choice((1.5, 2.0, 8.0)))


def check_sigma(setting: Setting, target: Target, steps: int, bound: str) -> None:
    sigma = smallest_sigma(setting, target, unlearn_steps=steps, bound=bound)

    def value(at: float) -> float:
        return achieved(setting, target, sigma=at, unlearn_steps=steps, bound=bound)

    assert value(sigma) <= target.level
    floor = sigma < 1e-290  # after very many steps the search stops short of the optimum
    assert floor or value(sigma * (1 - SLACK)) > target.level


def check_steps(setting: Setting, target: Target, sigma: float, bound: str) -> int:
    steps = smallest_unlearn_steps(setting, target, sigma=sigma, bound=bound)

    def value(at: int) -> float:
        try:
            return achieved(setting, target, sigma=sigma, unlearn_steps=at, bound=bound)
        except Refused:
            return math.inf

    assert value(steps) <= target.level
    assert steps == 0 or value(steps - 1) > target.level
    return steps


def check_public(setting: Setting, target: Target, sigma: float, steps: int, bound: str) -> int:
    public = smallest_public(setting, target, sigma=sigma, unlearn_steps=steps, bound=bound)

    def value(at: int) -> float:
        trial = replace(setting, public=at)
        return achieved(trial, target, sigma=sigma, unlearn_steps=steps, bound=bound)

    assert value(public) <= target.level
    assert public == 0 or value(public - 1) > target.level
    return public


# ---- the shift bound --------------------------------------------------------------------------


@pytest.mark.parametrize("block", range(8))
def test_sigma_meets_its_target_and_a_millionth_less_misses(block: int) -> None:
    for seed in range(30 * block, 30 * block + 30):
        setting, target = random_setting(seed), random_target(seed)
        check_sigma(setting, target, random.Random(seed).choice((0, 1, 20, 500)), "shift")


@pytest.mark.parametrize("block", range(8))
def test_unlearn_steps_meet_their_target_and_one_less_misses(block: int) -> None:
    needed = []
    for seed in range(1000 + 30 * block, 1000 + 30 * block + 30):
        setting, target = random_setting(seed), random_target(seed)
        sigma = smallest_sigma(setting, target, unlearn_steps=random.Random(seed).randint(0, 40))
        needed.append(check_steps(setting, target, sigma * 0.999, "shift"))
    assert max(needed) > 5


@pytest.mark.parametrize("block", range(4))
def test_public_records_meet_their_target_and_one_less_misses(block: int) -> None:
    needed = []
    for seed in range(2000 + 50 * block, 2000 + 50 * block + 50):
        setting, target = random_setting(seed), random_target(seed)
        sigma = smallest_sigma(setting, target, unlearn_steps=3)
        needed.append(check_public(setting, target, sigma, 3, "shift"))
    assert max(needed) > 1000
    assert min(needed) == 0


def test_both_normalisers_and_both_geometries_were_tried() -> None:
    settings = [random_setting(seed) for seed in range(240)]
    kinds = {(s.normaliser, s.assumptions.radius is None) for s in settings}
    assert len(kinds) == 4


def test_the_fixed_normaliser_needs_half_the_noise() -> None:
    setting = replace(random_setting(5, radius=False), normaliser="mean")
    target = EpsilonDelta(1.0, 1e-5)
    mean = smallest_sigma(setting, target, unlearn_steps=7)
    fixed = smallest_sigma(replace(setting, normaliser="fixed"), target, unlearn_steps=7)
    assert mean / fixed == pytest.approx(2, rel=1e-10)


def test_a_radius_never_costs_noise() -> None:
    for seed in range(40):
        free = random_setting(seed, radius=False)
        caged = replace(free, assumptions=replace(free.assumptions, radius=0.05))
        target = random_target(seed)
        more = smallest_sigma(free, target, unlearn_steps=5)
        less = smallest_sigma(caged, target, unlearn_steps=5)
        assert less <= more * (1 + SLACK)


# ---- the other bounds -------------------------------------------------------------------------


@pytest.mark.parametrize("bound", RENYI_BOUNDS)
def test_other_bounds_are_calibrated_as_sharply(bound: str) -> None:
    for seed in range(25):
        setting = random_setting(seed, most_learn=300, radius=False)
        target = random_target(seed)
        check_sigma(setting, target, 5, bound)
        sigma = smallest_sigma(setting, target, unlearn_steps=5, bound=bound)
        assert check_steps(setting, target, sigma * 0.999, bound) >= 5
        check_public(setting, target, sigma * 0.9, 5, bound)


def test_iteration_is_calibrated_with_a_radius() -> None:
    for seed in range(10):
        setting = random_setting(seed, most_learn=300, radius=True)
        check_sigma(setting, random_target(seed), 5, "iteration")


def test_contraction_is_calibrated_as_sharply() -> None:
    for seed in range(3):
        setting = random_setting(seed, most_learn=50, radius=True)
        target = EpsilonDelta(1.0, 1e-5)
        check_sigma(setting, target, 3, "contraction")


def test_the_shift_bound_needs_the_least() -> None:
    for seed in range(10):
        setting = random_setting(seed, most_learn=300, radius=False)
        target = EpsilonDelta(1.0, 1e-5)
        best = smallest_sigma(setting, target, unlearn_steps=5)
        for bound in RENYI_BOUNDS:
            assert smallest_sigma(setting, target, unlearn_steps=5, bound=bound) > best


# ---- the paper's corollary --------------------------------------------------------------------


def without_and_with_public(setting: Setting, target: Target, **how: Any) -> list[float]:
    """The noise that is needed symmetrically, without public records, and asymmetrically."""
    return [smallest_sigma(each, target, **how) for each in (replace(setting, public=0), setting)]


@pytest.mark.parametrize("bound", ["shift", "log_sobolev", "log_sobolev_paper", "iteration"])
@pytest.mark.parametrize("target", [EpsilonDelta(1.0, 1e-5), RenyiWithin(1.0)])
def test_public_records_divide_the_noise_by_their_share(bound: str, target: Target) -> None:
    """[cor:non_vacuous_divergence], corrected (E1, E2, E5): (n_priv + n_pub)/n_priv exactly."""
    for seed in range(8):
        setting = random_setting(seed, most_learn=200, radius=False)
        setting = replace(setting, public=1 + seed * 1000)
        alone, helped = without_and_with_public(setting, target, unlearn_steps=4, bound=bound)
        share = (setting.private + setting.public) / setting.private
        assert alone / helped == pytest.approx(share, rel=1e-9)


def test_the_required_noise_is_the_one_of_theory_table_a() -> None:
    """Table A, shift: K = 0, D_2 <= 1, Figure 2's constants."""
    loss = Assumptions(0.0119, 0.2619, 1.0)
    setting = Setting(loss, 3000, 30_000, 300, 1 / 0.2619, 10_000)
    alone, helped = without_and_with_public(setting, RenyiWithin(1.0), unlearn_steps=0)
    assert alone == pytest.approx(1.8125, abs=5e-5)
    assert helped == pytest.approx(0.16477, abs=5e-6)


# ---- edges ------------------------------------------------------------------------------------


def test_forgetting_nothing_needs_no_noise_no_steps_and_no_public_records() -> None:
    setting = replace(random_setting(1, radius=False), forget=0)
    target = EpsilonDelta(1.0, 1e-5)
    assert smallest_sigma(setting, target, unlearn_steps=0) == 0.0
    assert smallest_unlearn_steps(setting, target, sigma=0.0) == 0
    assert smallest_public(setting, target, sigma=0.0, unlearn_steps=0) == 0


def test_forgetting_every_private_record_needs_at_least_one_public_record() -> None:
    setting = Setting(Assumptions(0.1, 1.0, 1.0), 100, 50, 100, 1.0, 50)
    target = EpsilonDelta(1.0, 1e-5)
    assert smallest_public(setting, target, sigma=1e6, unlearn_steps=0) == 1


def test_an_observer_of_the_learned_model_gains_nothing_from_unlearning_steps() -> None:
    setting = Setting(Assumptions(0.1, 1.0, 1.0), 1000, 0, 10, 1.0, 50, observer="all")
    target = EpsilonDelta(1.0, 1e-5)
    at_once = smallest_sigma(setting, target, unlearn_steps=0)
    later = smallest_sigma(setting, target, unlearn_steps=500)
    assert later == pytest.approx(at_once, rel=1e-9)
    with pytest.raises(Refused):
        smallest_unlearn_steps(setting, target, sigma=at_once / 2)


def test_no_number_of_steps_helps_an_expanding_map_beyond_its_limit() -> None:
    setting = Setting(Assumptions(smoothness=1.0, lipschitz=1.0), 100, 0, 50, 0.5, 20)
    with pytest.raises(Refused, match="no number of unlearning steps"):
        smallest_unlearn_steps(setting, EpsilonDelta(0.1, 1e-5), sigma=0.01)


def test_a_bound_that_does_not_cover_the_setting_refuses() -> None:
    setting = Setting(Assumptions(0.0, 1.0, 1.0), 100, 0, 5, 0.5, 20)
    target = EpsilonDelta(1.0, 1e-5)
    with pytest.raises(Refused):
        smallest_sigma(setting, target, unlearn_steps=5, bound="log_sobolev_paper")
    with pytest.raises(Refused):
        smallest_sigma(setting, target, unlearn_steps=0, bound="iteration")


@pytest.mark.parametrize("normaliser", ["mean", "fixed"])
@pytest.mark.parametrize("requests", [1, 20, 10**6])
def test_noise_for_requests_that_look_at_models_meets_the_budget_and_no_more(
    requests: int, normaliser: str
) -> None:
    """Learning and every request as phases of one history, each model handed out (THEORY 8 b)."""
    loss = Assumptions(strong_convexity=0.01, smoothness=0.26, lipschitz=1.0)
    setting = Setting(loss, 1000, 500, 30, 3.8, 400, normaliser=normaliser)
    target = EpsilonDelta(1.0, 1e-5)
    sigma = sigma_for_requests(setting, target, requests=requests)

    def spent(sigma: float) -> float:
        learned = shift.bound(loss, setting.history(sigma, 0)).mu
        step = History((Phase(1, 3.8, sigma, 1500, 30),), normaliser)
        return math.hypot(learned, math.sqrt(requests) * shift.bound(loss, step).mu)

    assert GDP(spent(sigma)).epsilon(1e-5) <= 1.0 < GDP(spent(sigma * 0.999)).epsilon(1e-5)
    if requests == 20:
        whole = setting.history(sigma, 0).phases[0]
        each = replace(whole, steps=1, released=True)
        phases = (replace(whole, released=True), *[each] * requests)
        assert 0.999 < shift.bound(loss, History(phases, normaliser)).epsilon(1e-5) <= 1.0


def test_what_is_reported_is_proven_and_never_above_what_was_calibrated() -> None:
    for seed in range(20):
        setting, target = random_setting(seed), EpsilonDelta(1.0, 1e-5)
        sigma = smallest_sigma(setting, target, unlearn_steps=5)
        given = {"sigma": sigma, "unlearn_steps": 5}
        figure = reported(setting, target, **given)
        mu = checker.prove_mu(
            setting.assumptions,
            setting.history(sigma, 5),
            shift.bound(setting.assumptions, setting.history(sigma, 5)).witness,
        )
        assert figure == epsilon_from_gdp(mu, 1e-5)
        assert figure <= achieved(setting, target, **given) <= figure * (1 + 1e-9)
        paper = reported(setting, target, **given, bound="log_sobolev")
        assert paper == achieved(setting, target, **given, bound="log_sobolev")


def test_nothing_forgotten_is_reported_as_nothing() -> None:
    nothing = replace(random_setting(1), forget=0)
    assert reported(nothing, EpsilonDelta(1.0, 1e-5), sigma=0.0, unlearn_steps=0) == 0.0
