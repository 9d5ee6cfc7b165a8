"""What a bound hands back: every currency agrees, and nothing infinite is handed out."""

import math

import pytest

from expunge.accounting import Refused, conversions
from expunge.accounting.bounds.guarantee import GDP, HockeyStick, Renyi


@pytest.mark.parametrize("mu", [1e-6, 0.1, 1.0, 5.0, 40.0])
def test_a_gdp_guarantee_speaks_every_currency(mu):
    guarantee = GDP(mu)
    assert guarantee.epsilon(1e-5) == conversions.epsilon_from_gdp(mu, 1e-5)
    assert guarantee.renyi(2.0) == pytest.approx(mu * mu, rel=1e-11)
    assert guarantee.renyi(2.0) >= mu * mu
    assert guarantee.delta(guarantee.epsilon(1e-5)) <= 1e-5 * (1 + 1e-6)
    assert guarantee.total_variation == pytest.approx(math.erf(mu / math.sqrt(8)), rel=1e-9)


@pytest.mark.parametrize("guarantee", [GDP(0.0), Renyi.linear(0.0)])
def test_perfect_indistinguishability_is_exactly_zero(guarantee):
    assert guarantee.epsilon(1e-5) == 0
    assert guarantee.renyi(2.0) == 0


@pytest.mark.parametrize("guarantee", [GDP(1e160), Renyi.linear(math.inf)])
def test_what_is_infinite_is_refused(guarantee):
    with pytest.raises(Refused, match="infinite"):
        guarantee.renyi(2.0)


def test_a_linear_renyi_guarantee_never_beats_the_gdp_it_comes_from():
    for mu in (0.01, 0.3, 2.0):
        renyi = Renyi.linear(mu * mu / 2)
        assert renyi.renyi(8.0) == pytest.approx(4 * mu * mu, rel=1e-11)
        for delta in (1e-9, 1e-5, 1e-2):
            exact = GDP(mu).epsilon(delta)
            assert renyi.epsilon(delta) > exact or exact == 0


@pytest.mark.parametrize("mu", [0.05, 0.5, 3.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-5, 0.01])
def test_a_hockey_stick_guarantee_is_solved_from_above(mu, delta):
    guarantee = HockeyStick(lambda epsilon: conversions.gdp_log_delta(mu, epsilon))
    found = guarantee.epsilon(delta)
    assert conversions.gdp_log_delta(mu, found) <= math.log(delta)
    assert found == pytest.approx(GDP(mu).epsilon(delta), rel=1e-8, abs=1e-10)
    assert guarantee.renyi(2.0) is None


def test_a_hockey_stick_below_delta_everywhere_needs_no_epsilon():
    assert HockeyStick(lambda _: -1e9).epsilon(1e-5) == 0


def test_a_hockey_stick_that_never_falls_is_refused():
    with pytest.raises(Refused, match="no finite epsilon"):
        HockeyStick(lambda _: 0.0).epsilon(1e-5)
