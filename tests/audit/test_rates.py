"""Clopper-Pearson limits: exact, and right as often as they say."""

import numpy as np
import pytest
from scipy.stats import binom, binomtest

from expunge.audit.rates import at_least, at_most


@pytest.mark.parametrize(("hits", "of"), [(0, 20), (1, 20), (7, 20), (19, 20), (20, 20)])
def test_they_are_scipy_s_own_intervals(hits, of):
    expected = binomtest(hits, of).proportion_ci(0.95, method="exact")
    assert at_least(hits, of, 0.975) == pytest.approx(expected.low, abs=1e-12)
    assert at_most(hits, of, 0.975) == pytest.approx(expected.high, abs=1e-12)


@pytest.mark.parametrize("rate", [0.01, 0.3, 0.5, 0.97])
def test_they_hold_at_least_as_often_as_they_say(rate):
    """Exactly, by the binomial law: no sampling."""
    hits = np.arange(51)
    weights = binom.pmf(hits, 50, rate)
    for limit, holds in ((at_least, np.less_equal), (at_most, np.greater_equal)):
        limits = limit(hits, 50, 0.9)
        assert weights[holds(limits, rate)].sum() >= 0.9
