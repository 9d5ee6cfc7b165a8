"""What a claim leaves an attacker, against fifty digits."""

import numpy as np
import pytest
from mpmath import mp, mpf

from expunge.accounting.attack_power import attack_in_words, power, round_up_text
from expunge.accounting.conversions import epsilon_from_gdp, gdp_delta

DELTA = 1e-5


def said(sentence: str) -> float:
    return float(sentence.split("at most ")[1].split()[0])


def by_fifty_digits(mu: float) -> float:
    """Phi(Phi^-1(0.05) + mu) in percent."""
    quantile = mp.sqrt(2) * mp.erfinv(2 * mpf("0.05") - 1)
    return 100 * mp.ncdf(quantile + mpf(mu))


@pytest.mark.parametrize("mu", [1e-9, 1e-3, 0.05, 0.268051, 1.0, 2.5, 6.0, 40.0])
def test_the_share_is_that_of_the_trade_off_curve_rounded_up(mu):
    exact, percent = by_fifty_digits(mu), said(attack_in_words(99.0, DELTA, mu))
    assert exact <= percent <= max(float(exact) * 1.011, 5.01)


@pytest.mark.parametrize("epsilon", [0.0, 1e-6, 0.1, 1.0, 3.0, 20.0, 1e4])
def test_a_claim_without_mu_leaves_what_epsilon_and_delta_say(epsilon):
    percent = said(attack_in_words(epsilon, DELTA))
    exact = min(
        mp.exp(epsilon) * mpf("0.05") + mpf(DELTA),
        1 - mp.exp(-epsilon) * (1 - mpf(DELTA) - mpf("0.05")),
    )
    assert 100 * min(exact, 1) <= percent <= min(100.0, float(100 * exact) * 1.011)


def test_nobody_recognises_what_left_no_trace():
    sentence = attack_in_words(0.0, DELTA, 0.0)
    assert sentence == (
        "An attacker who is wrong about innocent models 5 % of the time recognises this one as "
        "having seen the records at most 5 % of the time."
    )


def test_nobody_recognises_more_than_everything():
    assert said(attack_in_words(1e5, DELTA, 1e3)) == 100.0
    assert said(attack_in_words(1e5, DELTA)) == 100.0


def test_a_gaussian_claim_leaves_less_than_any_of_its_points():
    alarms = np.linspace(0, 1, 101)
    for mu in (0.1, 1.0, 3.0):
        curve = power(alarms, epsilon=1e3, delta=0.5, mu=mu)
        for epsilon in (0.0, 0.5, 2.0):
            point = power(alarms, epsilon=epsilon, delta=gdp_delta(mu, epsilon), mu=None)
            assert (curve <= point + 1e-12).all()
        assert epsilon_from_gdp(mu, DELTA) > 0
        assert (curve >= alarms).all()


def test_texts_are_never_below_the_value():
    for value in (1.0, 5.0000001, 0.0123401, 99.99, 1e-9, 123.4):
        assert value <= float(round_up_text(value)) <= value * 1.011
    assert round_up_text(0.0) == "0"
