"""The curves behind a plan."""

import json
from dataclasses import replace

import pytest

from expunge.accounting import Assumptions
from expunge.accounting.calibration import achieved, smallest_sigma
from expunge.accounting.setting import Setting
from expunge.accounting.target import EpsilonDelta
from expunge.accounting.trade_offs import trade_offs

LOSS = Assumptions(strong_convexity=0.1, smoothness=1.0, lipschitz=1.0)
SETTING = Setting(LOSS, private=100, public=0, forget=10, step_size=1.0, learn_steps=50)
TARGET = EpsilonDelta(1.0, 1e-5)


def curves(setting: Setting = SETTING, publics=(0, 100, 1000)) -> dict:
    return trade_offs(setting, TARGET, unlearn_steps=5, sigma=0.05, public_counts=publics)


def test_the_curves_are_plain_finite_json():
    found = curves()
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert [curve["public"] for curve in found["curves"]] == [0, 100, 1000]


def test_noise_rises_with_the_forget_fraction_and_falls_with_public_data():
    found = curves()
    for curve in found["curves"]:
        known = [sigma for sigma in curve["sigma"] if sigma is not None]
        assert known == sorted(known)
    few, more, most = (curve["sigma"] for curve in found["curves"])
    assert few[-1] is None  # forgetting everything leaves no comparator
    assert None not in more + most
    assert all(a > b > c for a, b, c in zip(few[:-1], more[:-1], most[:-1], strict=True))


def test_public_data_divide_the_noise_by_the_growth_of_the_data():
    few, more, most = (curve["sigma"] for curve in curves()["curves"])
    assert few[3] == pytest.approx(2 * more[3], rel=1e-9)
    assert few[3] == pytest.approx(11 * most[3], rel=1e-9)


def test_every_point_meets_its_target():
    found = curves()
    for curve in found["curves"]:
        here = replace(SETTING, public=curve["public"])
        for share, sigma in zip(found["fractions"], curve["sigma"], strict=True):
            if sigma is not None:
                trial = replace(here, forget=round(share * 100))
                assert achieved(trial, TARGET, sigma=sigma, unlearn_steps=5) <= 1
        for epsilon, steps in zip(found["epsilons"], curve["price"], strict=True):
            target = EpsilonDelta(epsilon, 1e-5)
            assert achieved(here, target, sigma=0.05, unlearn_steps=steps) <= epsilon


def test_a_stricter_epsilon_never_costs_fewer_steps():
    for curve in curves()["curves"]:
        assert curve["price"] == sorted(curve["price"], reverse=True)


def test_what_no_number_of_steps_buys_is_left_out():
    expanding = Assumptions(smoothness=1.0, lipschitz=1.0)
    found = curves(replace(SETTING, assumptions=expanding, learn_steps=5), publics=(0,))
    assert None in found["curves"][0]["price"]


def test_against_an_observer_of_all_models_the_price_is_noise():
    found = curves(replace(SETTING, observer="all"), publics=(0,))
    assert found["price"] == "sigma"
    target = EpsilonDelta(found["epsilons"][4], 1e-5)
    expected = smallest_sigma(SETTING, target, unlearn_steps=0)
    assert found["curves"][0]["price"][4] == pytest.approx(expected, rel=1e-9)
