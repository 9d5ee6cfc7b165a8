"""Conversions against dp-accounting, and the identities and limits they must obey.

Outward rounding at 50 digits is in `test_outward_rounding`.
"""

import math
import random
from itertools import pairwise

import pytest
from dp_accounting import GaussianDpEvent, get_epsilon_gaussian, get_sigma_gaussian
from dp_accounting.pld.privacy_loss_mechanism import GaussianPrivacyLoss
from dp_accounting.rdp import RdpAccountant, compute_epsilon
from mpmath import mp, mpf
from scipy.optimize import brentq
from scipy.stats import norm

from expunge.accounting import InvalidInput
from expunge.accounting import conversions as cv
from expunge.accounting.bounds import GDP, Renyi

# dp-accounting solves to 1e-12 absolute on logarithms that cancel by up to 1/mu.
MUS = [0.05, 0.1, 0.268, 0.5, 1.0, 2.0, 5.0, 10.0]
DELTAS = [1e-2, 1e-5, 1e-8, 1e-12]


# ---- dp-accounting ----------------------------------------------------------------------------


@pytest.mark.parametrize("mu", MUS)
@pytest.mark.parametrize("delta", DELTAS)
def test_epsilon_of_a_gaussian_agrees_with_dp_accounting(mu: float, delta: float) -> None:
    theirs = get_epsilon_gaussian(1 / mu, delta)
    assert cv.epsilon_from_gdp(mu, delta) == pytest.approx(theirs, rel=1e-10, abs=1e-11)


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0, 5.0, 20.0])
@pytest.mark.parametrize("delta", DELTAS)
def test_the_mu_that_a_target_allows_agrees_with_dp_accounting(
    epsilon: float, delta: float
) -> None:
    theirs = 1 / get_sigma_gaussian(epsilon, delta)
    assert cv.gdp_for_epsilon(epsilon, delta) == pytest.approx(theirs, rel=1e-9)


@pytest.mark.parametrize("mu", MUS)
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 1.0, 4.0])
def test_delta_of_a_gaussian_agrees_with_the_privacy_loss_distribution(
    mu: float, epsilon: float
) -> None:
    theirs = GaussianPrivacyLoss(standard_deviation=1 / mu).get_delta_for_epsilon(epsilon)
    # Theirs is the plain difference of two cdfs: absolute accuracy only.
    assert cv.gdp_delta(mu, epsilon) == pytest.approx(theirs, rel=1e-9, abs=1e-13)


def random_slopes() -> list[tuple[float, float]]:
    rng = random.Random(11)
    pairs = []
    while len(pairs) < 100:
        slope, delta = 10 ** rng.uniform(-4, 2), 10 ** rng.uniform(-12, -2)
        if slope > 10 * delta**2:  # below, dp-accounting takes a shortcut through KL
            pairs.append((slope, delta))
    return pairs


def best_order(slope: float, delta: float) -> float:
    """Where the derivative vanishes: B (alpha-1)^2 + log alpha + log delta = 0."""
    return brentq(lambda a: slope * (a - 1) ** 2 + math.log(a * delta), 1.0, 1 / delta, xtol=1e-14)


@pytest.mark.parametrize(("slope", "delta"), random_slopes())
def test_epsilon_from_renyi_is_dp_accountings_at_the_best_order(slope: float, delta: float) -> None:
    orders = [1.5, 2.0, 4.0, 16.0, 64.0, 256.0]
    ours = cv.epsilon_from_renyi(lambda a: a * slope, delta)
    coarse, _ = compute_epsilon(orders, [a * slope for a in orders], delta)
    assert ours <= coarse * (1 + 1e-11)
    best = best_order(slope, delta)
    if best > 1.01:  # below, dp-accounting declines
        theirs, _ = compute_epsilon([*orders, best], [a * slope for a in [*orders, best]], delta)
        assert ours == pytest.approx(theirs, rel=1e-9)


@pytest.mark.parametrize("mu", [0.1, 0.5, 1.0, 3.0])
def test_a_gaussian_through_renyi_agrees_with_the_rdp_accountant(mu: float) -> None:
    delta = 1e-5
    orders = [1.5, 2.0, 3.0, 8.0, 32.0, best_order(mu * mu / 2, delta)]
    accountant = RdpAccountant(orders).compose(GaussianDpEvent(1 / mu))
    ours = Renyi.linear(mu * mu / 2).epsilon(delta)
    assert ours == pytest.approx(accountant.get_epsilon(delta), rel=1e-9)
    assert ours > GDP(mu).epsilon(delta)  # the detour through Rényi costs something


# ---- identities -------------------------------------------------------------------------------


def test_delta_and_epsilon_are_inverse_to_each_other() -> None:
    rng = random.Random(12)
    for _ in range(200):
        mu, delta = 10 ** rng.uniform(-4, 1), 10 ** rng.uniform(-100, -1)
        epsilon = cv.epsilon_from_gdp(mu, delta)
        if epsilon == 0:
            assert cv.gdp_log_delta(mu, 0.0) <= math.log(delta)
        else:
            assert cv.gdp_log_delta(mu, epsilon) == pytest.approx(math.log(delta), abs=1e-7)
            assert cv.gdp_for_epsilon(epsilon, delta) == pytest.approx(mu, rel=1e-9)


def test_delta_obeys_the_symmetry_of_the_gaussian_pair() -> None:
    """delta(-eps) = 1 - e^-eps (1 - delta(eps)): the trade-off curve is its own inverse."""
    rng = random.Random(13)
    for _ in range(200):
        mu = 10 ** rng.uniform(-2, 1)
        epsilon = mu * rng.uniform(0, 20)
        mirrored = 1 - math.exp(-epsilon) * (1 - cv.gdp_delta(mu, epsilon))
        assert cv.gdp_delta(mu, -epsilon) == pytest.approx(mirrored, rel=1e-10)


@pytest.mark.parametrize("mu", [1e-6, 1e-3, 0.1, 1.0, 5.0])
def test_total_variation_is_delta_at_epsilon_zero(mu: float) -> None:
    assert cv.gdp_total_variation(mu) == pytest.approx(cv.gdp_delta(mu, 0.0), rel=1e-10)
    assert cv.gdp_total_variation(mu) == pytest.approx(2 * norm.cdf(mu / 2) - 1, rel=1e-9)


def test_delta_falls_in_epsilon_and_rises_in_mu() -> None:
    mus = [10 ** (k / 8) for k in range(-32, 12)]
    epsilons = [10 ** (k / 8) for k in range(-32, 8)]
    for mu in mus:
        deltas = [cv.gdp_log_delta(mu, epsilon) for epsilon in epsilons]
        assert all(a >= b for a, b in pairwise(deltas))
    for epsilon in epsilons:
        deltas = [cv.gdp_log_delta(mu, epsilon) for mu in mus]
        assert all(a <= b + 1e-12 for a, b in pairwise(deltas))


@pytest.mark.parametrize("a", [1.1e8, 1e9])
@pytest.mark.parametrize("mu", [1e-6, 1.0, 50.0])
def test_deltas_far_below_any_float_are_right_to_their_last_digits(a, mu) -> None:
    """delta = Phi(-a) - e^eps Phi(-b) at 60 digits, where its logarithm is about -a^2/2."""
    epsilon = mu * (a + mu / 2)
    with mp.workdps(60):
        exact_a = mpf(epsilon) / mpf(mu) - mpf(mu) / 2
        b = exact_a + mpf(mu)
        tails = [mp.erfc(x / mp.sqrt(2)) / 2 for x in (exact_a, b)]
        exact = mp.log(tails[0] - mp.exp(mpf(epsilon)) * tails[1])
        assert abs(cv.gdp_log_delta(mu, epsilon) - exact) <= 1e-15 * abs(exact)


def test_the_branches_of_log_delta_meet() -> None:
    """Where one formula hands over to another, mu = 1e-3 and mu = 1e-3 a, the value is the same."""
    for a in (-4e-4, -1e-9, 0.0, 0.5, 1.0, 3.9, 4.1, 20.0):
        edge = 1e-3 * max(1.0, a)
        below, above = edge * (1 - 1e-12), edge * (1 + 1e-12)
        one, other = (cv.gdp_log_delta(mu, mu * (a + mu / 2)) for mu in (below, above))
        assert one == pytest.approx(other, abs=1e-11)


def test_the_older_conversion_is_never_smaller() -> None:
    """min_{alpha > 1} alpha B + log(1/delta)/(alpha-1), with which earlier papers state numbers."""
    for slope, delta in random_slopes():
        older = slope + 2 * math.sqrt(slope * math.log(1 / delta))  # Mironov 2017
        assert older >= cv.epsilon_from_renyi(lambda a, b=slope: a * b, delta)


# ---- limits -----------------------------------------------------------------------------------


def test_epsilon_is_zero_exactly_when_delta_covers_the_total_variation() -> None:
    for mu in (0.01, 0.5, 2.0):
        variation = cv.gdp_total_variation(mu)
        assert cv.epsilon_from_gdp(mu, variation * (1 + 1e-9)) == 0.0
        assert cv.epsilon_from_gdp(mu, variation * (1 - 1e-9)) > 0.0


def test_a_huge_mu_has_an_epsilon_of_half_its_square() -> None:
    for mu in (1e4, 1e8, 1e100):
        assert cv.epsilon_from_gdp(mu, 1e-5) == pytest.approx(mu * mu / 2, rel=1e-3)
    assert cv.epsilon_from_gdp(1e160, 1e-5) == math.inf


def test_a_tiny_delta_is_reported_as_1e_300_and_its_logarithm_is_kept() -> None:
    assert cv.gdp_delta(0.01, 1.0) == 1e-300
    # delta is at most Phi(-a) <= exp(-a^2/2)/2 and its logarithm is dominated by -a^2/2.
    a = 1 / 0.01 - 0.01 / 2
    assert -a * a / 2 - 25 < cv.gdp_log_delta(0.01, 1.0) < -a * a / 2
    assert cv.gdp_log_delta(0.0, 1.0) == -math.inf


def test_delta_and_total_variation_never_exceed_one() -> None:
    assert cv.gdp_delta(1e3, 0.1) == 1.0
    assert cv.gdp_total_variation(1e3) == 1.0


def test_outward_rounds_up_and_keeps_zero() -> None:
    assert cv.outward(0.0) == 0.0
    assert cv.outward(1e-310) == 1e-300
    assert 1.0 < cv.outward(1.0) < 1.0 + 1e-11


# ---- bad input --------------------------------------------------------------------------------


@pytest.mark.parametrize("delta", [0.0, 1.0, -0.1, 2.0, math.nan, math.inf])
def test_a_delta_outside_the_unit_interval_is_refused(delta: float) -> None:
    conversions = [
        lambda: cv.check_delta(delta),
        lambda: cv.epsilon_from_gdp(1.0, delta),
        lambda: cv.gdp_for_epsilon(1.0, delta),
        lambda: cv.epsilon_from_renyi(lambda a: a, delta),
    ]
    for convert in conversions:
        with pytest.raises(InvalidInput) as caught:
            convert()
        assert caught.value.field == "delta"


@pytest.mark.parametrize("epsilon", [-1.0, math.nan, math.inf])
def test_a_senseless_epsilon_is_refused(epsilon: float) -> None:
    with pytest.raises(InvalidInput) as caught:
        cv.gdp_for_epsilon(epsilon, 1e-5)
    assert caught.value.field == "epsilon"


@pytest.mark.parametrize("order", [1.0, 0.5, -2.0])
def test_an_order_of_at_most_one_is_refused(order: float) -> None:
    with pytest.raises(InvalidInput) as caught:
        cv.gdp_renyi(1.0, order)
    assert caught.value.field == "order"
