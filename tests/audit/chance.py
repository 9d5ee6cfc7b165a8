"""How often an audit calls a true claim contradicted: computed from its counts, not sampled."""

import numpy as np
from scipy.stats import binom, norm

from expunge.audit.lower_bound import DECISIVE
from expunge.audit.rates import at_least, at_most

__all__ = ["false_alarm", "refuting"]


def refuting(models, mu, level=DECISIVE):
    """(hits, misses): which counts refute a claim of mu, or show a difference where mu is 0."""
    counts, each = np.arange(models + 1), (1 + level) / 2
    power, alarm = at_least(counts, models, each), at_most(counts, models, each)
    with np.errstate(invalid="ignore"):  # infinity minus infinity: no alarm and no power
        shown = norm.ppf(power)[:, None] - norm.ppf(alarm)[None, :]
    return (power[:, None] > alarm[None, :]) & (shown > mu * (1 - 1e-7))


def false_alarm(models, mu, level=DECISIVE):
    """The largest probability of CONTRADICTED when the claim is exactly true.

    A mu-GDP pair gives a test with alarm rate a at most power Phi(Phi^-1(a) + mu). Counts are
    binomial, and those that refute are summed up, for 801 rates a: every test that the first half
    of the scores may choose has one.
    """
    rates, counts = norm.cdf(np.linspace(-6, 6, 801))[:, None], np.arange(models + 1)
    hits = binom.pmf(counts, models, norm.cdf(norm.ppf(rates) + mu))
    misses = binom.pmf(counts, models, rates)
    return float(((hits @ refuting(models, mu, level)) * misses).sum(1).max())
