"""Targets read their quantity off a guarantee, and refuse levels that mean nothing."""

import math

import pytest

from expunge.accounting import InvalidInput, Refused
from expunge.accounting.bounds import GDP, HockeyStick
from expunge.accounting.target import EpsilonDelta, RenyiWithin


def test_a_target_reads_its_own_quantity() -> None:
    guarantee = GDP(0.5)
    assert EpsilonDelta(1.0, 1e-5).value(guarantee) == guarantee.epsilon(1e-5)
    assert RenyiWithin(1.0, order=8.0).value(guarantee) == guarantee.renyi(8.0)


def test_a_bound_without_a_renyi_divergence_meets_no_renyi_target() -> None:
    with pytest.raises(Refused, match="no Rényi divergence"):
        RenyiWithin(1.0).value(HockeyStick(lambda _: 0.0))


@pytest.mark.parametrize("level", [0.0, -1.0, math.nan, math.inf])
def test_a_senseless_epsilon_target_is_refused(level: float) -> None:
    with pytest.raises(InvalidInput) as caught:
        EpsilonDelta(level, 1e-5)
    assert caught.value.field == "epsilon"


@pytest.mark.parametrize("delta", [0.0, 1.0, math.nan])
def test_a_senseless_delta_target_is_refused(delta: float) -> None:
    with pytest.raises(InvalidInput) as caught:
        EpsilonDelta(1.0, delta)
    assert caught.value.field == "delta"
