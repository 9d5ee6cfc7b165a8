"""The attacker's limit: never below what exact Gaussian tests reach, never above the claim."""

import numpy as np
import pytest
from scipy.stats import norm

from expunge.report.attack_figure import draw, power
from tests.report.claims import CLAIM

ALARMS = np.linspace(0, 1, 101)


@pytest.mark.parametrize("mu", [0.0, 0.1, 1.0, 3.0])
def test_the_limit_is_the_best_gaussian_test_where_mu_is_known(mu):
    claim = CLAIM | {"mu": mu, "epsilon": 20.0, "delta": 0.5}
    found = power(claim, ALARMS[1:-1])
    np.testing.assert_allclose(found, norm.cdf(norm.ppf(ALARMS[1:-1]) + mu), atol=1e-12)


def test_without_mu_it_is_what_epsilon_and_delta_allow():
    """Randomised response attains it: P = (e^eps, 1)/(1 + e^eps), Q the other way round."""
    claim = CLAIM | {"mu": None, "delta": 0.0}
    share = np.e / (1 + np.e)
    assert power(claim, np.array([1 - share]))[0] == pytest.approx(share)


def test_perfect_privacy_leaves_guessing():
    claim = CLAIM | {"mu": 0.0, "epsilon": 0.0, "delta": 0.0}
    np.testing.assert_allclose(power(claim, ALARMS), ALARMS, atol=1e-12)


def test_the_limit_is_monotone_and_ends_at_one():
    found = power(CLAIM, ALARMS)
    assert (np.diff(found) >= 0).all()
    assert found[-1] == 1
    assert found[0] <= CLAIM["delta"]


def test_it_is_drawn():
    assert draw(CLAIM, "png").startswith(b"\x89PNG")
    assert b"<svg" in draw(CLAIM)
