"""Prices: by the bounds, in one unit, excluded with a reason, the cheapest on top."""

import math
from dataclasses import replace

import pytest

from expunge.accounting import Assumptions, History, Phase, account
from expunge.accounting.conversions import gdp_delta, gdp_for_epsilon
from expunge.accounting.planning import plan
from expunge.accounting.prices import (
    Price,
    langevin_price,
    list_prices,
    noise_first_price,
    release_noise,
    residual_price,
    retrain_price,
)
from expunge.accounting.setting import Setting
from expunge.accounting.target import EpsilonDelta

LOSS = Assumptions(strong_convexity=0.1, smoothness=1.0, lipschitz=1.0)
SETTING = Setting(LOSS, private=1000, public=500, forget=50, step_size=1.0, learn_steps=60)
TARGET = EpsilonDelta(1.0, 1e-5)


def listed(
    setting: Setting = SETTING,
    *,
    unlearn_steps: int | None = 10,
    met: bool = True,
    retraining: int | None = None,
) -> list[Price]:
    steps = setting.learn_steps - 1 if unlearn_steps is None else unlearn_steps
    noise_std = release_noise(setting, TARGET)
    rows = [
        langevin_price(setting, sigma=0.1, unlearn_steps=unlearn_steps, epsilon=0.9, met=met),
        noise_first_price(setting, TARGET, unlearn_steps=steps),
        residual_price(TARGET, release_noise_std=noise_std, observer=setting.observer),
    ]
    whole = setting.learn_steps if retraining is None else retraining
    return list_prices([*rows, retrain_price(whole, setting.observer)])


def strategies(setting: Setting = SETTING, steps: int = 10) -> dict[str, Price]:
    return {price.name: price for price in listed(setting, unlearn_steps=steps)}


@pytest.mark.parametrize("observer", ["final", "all"])
@pytest.mark.parametrize("strong_convexity", [0.1, 0.0, None])
@pytest.mark.parametrize("learn_steps", [1, 7, 24, 500])
@pytest.mark.parametrize("retraining", [None, 24])
def test_every_cost_is_a_share_of_what_retrain_costs_in_the_same_list(
    observer, strong_convexity, learn_steps, retraining
):
    loss = replace(LOSS, strong_convexity=strong_convexity)
    setting = replace(SETTING, assumptions=loss, observer=observer, learn_steps=learn_steps)
    for unlearn_steps in (None, 0, 1, 5, 100):
        prices = listed(setting, unlearn_steps=unlearn_steps, retraining=retraining)
        check_shares(prices)


@pytest.mark.parametrize("observer", ["final", "all"])
@pytest.mark.parametrize("given", [{"unlearn_steps": 3}, {"sigma": 0.2}, {"sigma": 1e-4}, {}])
def test_a_plan_counts_in_the_learning_steps_that_retraining_takes(observer, given):
    for learn_steps in (1, 60, 441):
        setting = replace(SETTING, learn_steps=learn_steps, observer=observer)
        prices = plan(setting, TARGET, **given).strategies
        assert {price.name: price.steps for price in prices}["retrain"] == learn_steps
        check_shares(prices)


def check_shares(prices: list[Price]) -> None:
    (retrain,) = (price for price in prices if price.name == "retrain")
    assert retrain.cost_of_retraining == 1
    for price in prices:
        if price.steps is None:
            assert price.cost_of_retraining is None
        else:
            assert price.cost_of_retraining * retrain.steps == pytest.approx(price.steps, rel=1e-12)


def test_a_share_of_another_denominator_would_be_caught():
    prices = [
        replace(price, cost_of_retraining=price.steps / 500) if price.name == "langevin" else price
        for price in listed(retraining=24)
    ]
    with pytest.raises(AssertionError):
        check_shares(prices)


def test_a_price_without_passes_is_listed_without_a_share():
    unknown = Price("other", cost_of_retraining=0.3, excluded="why not")
    listed = list_prices([unknown, retrain_price(9, "final")])
    prices = {price.name: price for price in listed}
    assert prices["other"] == replace(unknown, cost_of_retraining=None)
    assert prices["retrain"].steps == 9


def test_what_can_be_taken_comes_first_and_the_cheapest_on_top():
    found = plan(SETTING, TARGET, unlearn_steps=10).strategies
    assert {s.name for s in found} == {"langevin", "noise_first", "residual", "retrain"}
    assert [s.steps for s in found] == sorted(s.steps for s in found)
    exposed = plan(replace(SETTING, observer="all"), TARGET).strategies
    assert [s.excluded is None for s in exposed] == [True, False, False, False]
    assert exposed[0].name == "langevin"


@pytest.mark.parametrize(("unlearn_steps", "on_top"), [(15, "noise_first"), (17, "residual")])
def test_a_plan_takes_noisy_steps_only_where_they_are_fewer_than_a_warm_solves_passes(
    unlearn_steps, on_top
):
    """16 passes is what `placebo` counts too: 15 noisy steps are cheaper, 17 are not."""
    prices = listed(unlearn_steps=unlearn_steps, met=False)
    assert prices[0].name == on_top
    cost = {price.name: price.cost_of_retraining for price in prices}
    assert 15 / 60 < cost["residual"] < 17 / 60  # of 60 steps


def test_a_solve_that_costs_more_passes_than_learning_has_steps_comes_after_retraining():
    short, long = (
        listed(replace(SETTING, learn_steps=steps), unlearn_steps=None, met=False)
        for steps in (15, 17)
    )
    assert [s.name for s in short if s.name in ("residual", "retrain")] == ["retrain", "residual"]
    assert [s.name for s in long if s.name in ("residual", "retrain")] == ["residual", "retrain"]


def test_retraining_is_exact_and_costs_itself():
    retrain = strategies()["retrain"]
    assert (retrain.steps, retrain.cost_of_retraining, retrain.epsilon) == (60, 1.0, 0.0)
    assert retrain.guarantee == "exact"


@pytest.mark.parametrize("normaliser", ["mean", "fixed"])
@pytest.mark.parametrize("steps", [1, 2, 10, 59])
def test_noise_first_meets_the_target_as_a_history(normaliser, steps):
    """THEORY 5.2: mu = c Z_T / noise_std, further clean steps are post-processing."""
    setting = replace(SETTING, normaliser=normaliser)
    found = strategies(setting, steps)["noise_first"]
    assert found.steps == steps
    phases = [Phase(60, 1.0, 0.0, 1500, 50), Phase(1, 1.0, found.sigma, 1450)]
    if steps > 1:
        phases.append(Phase(steps - 1, 1.0, 0.0, 1450))
    again = account(LOSS, History(tuple(phases), normaliser), delta=1e-5)
    assert again.bounds["shift"].epsilon == pytest.approx(found.epsilon, rel=1e-12)
    assert found.epsilon <= 1
    c, s = 0.9, (2 if normaliser == "mean" else 1) * 50 / 1500
    distance = s * (1 - c**60) / (1 - c)
    expected = c * distance / math.sqrt(2) / gdp_for_epsilon(1.0, 1e-5)
    assert found.sigma == pytest.approx(expected, rel=1e-9)


def test_the_noise_left_by_langevin_is_that_of_its_flattest_direction():
    c, nu = 0.9, math.sqrt(2) * 0.1
    expected = nu * math.sqrt((1 - c ** (2 * 70)) / (1 - c**2))
    assert strategies()["langevin"].release_noise_std == pytest.approx(expected, rel=1e-12)


def test_the_noise_left_by_noise_first_fades_with_clean_steps():
    found = strategies()["noise_first"]
    expected = math.sqrt(2) * found.sigma * 0.9**9
    assert found.release_noise_std == pytest.approx(expected, rel=1e-12)


def test_an_expanding_loss_leaves_noise_that_only_the_projection_bounds():
    loss = Assumptions(smoothness=1.0, lipschitz=1.0)
    found = strategies(replace(SETTING, assumptions=loss, learn_steps=440), 10)
    assert found["langevin"].release_noise_std is None


def test_without_curvature_noise_adds_up_like_a_random_walk():
    flat = Assumptions(strong_convexity=0.0, smoothness=1.0, lipschitz=1.0)
    found = strategies(replace(SETTING, assumptions=flat))["langevin"]
    assert found.release_noise_std == pytest.approx(math.sqrt(2 * 70) * 0.1, rel=1e-12)


def test_a_released_base_model_excludes_all_that_is_noise_free():
    found = strategies(replace(SETTING, observer="all"))
    for name in ("noise_first", "retrain"):
        assert "exposes the deleted records" in found[name].excluded
        assert found[name].epsilon is None
    assert found["langevin"].excluded is None


def test_langevin_is_excluded_when_the_target_is_missed():
    missed = listed(unlearn_steps=None, met=False)
    langevin = next(s for s in missed if s.name == "langevin")
    assert langevin.excluded is not None
    assert missed[-1] is langevin


@pytest.mark.parametrize(("ridge", "z"), [(None, 2.5e-3), (1e-8, 0.1)])
def test_residual_leaves_the_noise_that_its_distance_or_its_tolerance_needs(ridge, z):
    """THEORY 5.1 and 6: mu = 2 z/noise_std, z = max(2.5e-3/M, 1e-9/m)."""
    constants = SETTING.assumptions
    flat = replace(constants, strong_convexity=ridge or constants.strong_convexity)
    found = strategies(replace(SETTING, assumptions=flat))["residual"]
    assert constants.lipschitz == 1
    mu = 2 * z / found.release_noise_std
    assert gdp_delta(mu, TARGET.level) <= TARGET.delta * (1 + 1e-9)
    assert mu == pytest.approx(gdp_for_epsilon(TARGET.level, TARGET.delta), rel=1e-9)


def test_residual_needs_strong_convexity_and_an_observer_of_the_final_model():
    flat = Assumptions(strong_convexity=0.0, smoothness=1.0, lipschitz=1.0)
    assert "strongly convex" in strategies(replace(SETTING, assumptions=flat))["residual"].excluded
    assert "exposes" in strategies(replace(SETTING, observer="all"))["residual"].excluded
