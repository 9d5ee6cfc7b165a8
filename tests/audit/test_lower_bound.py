"""Lower bounds: valid when there is nothing, strong when there is something, honest about both.

With identical laws a bound above 0 at 95 % may appear in at most 5 % of repetitions; the count is
binomial, and the test allows its 1 - 1e-6 quantile at that rate.
"""

import math

import numpy as np
import pytest
from scipy.stats import beta, binom, norm

from expunge.accounting.conversions import epsilon_from_gdp
from expunge.audit import epsilon_lower_bound
from expunge.audit import lower_bound as module
from expunge.audit.lower_bound import DECISIVE, ceiling, least_models, models_needed

DELTA = 1e-5


def gaussians(mu, count, seed):
    rng = np.random.default_rng(seed)
    return rng.normal(mu, 1, count), rng.normal(0, 1, count)


def false_alarms(method, repetitions=300, **change):
    found = []
    for seed in range(repetitions):
        of, against = gaussians(0.0, 200, seed)
        bound = epsilon_lower_bound(of=of, against=against, delta=DELTA, method=method, **change)
        found.append(bound.value > 0)
    return sum(found)


@pytest.mark.parametrize("method", ["any test", "gaussian"])
def test_identical_laws_rarely_show_anything(method):
    assert false_alarms(method) <= binom.ppf(1 - 1e-6, 300, 0.05)


def test_taking_counted_rates_for_true_ones_would_be_caught(monkeypatch):
    """The planted fault: no Clopper-Pearson limits."""
    plain = lambda hits, counts, _: (hits[0] / counts[0], max(hits[1], 1) / counts[1])  # noqa: E731
    monkeypatch.setattr(module, "_limits", plain)
    assert false_alarms("gaussian") > binom.ppf(1 - 1e-6, 300, 0.05)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["any test", "gaussian"])
def test_a_thousand_repetitions_with_identical_laws(method):
    assert false_alarms(method, repetitions=1000) <= 50


@pytest.mark.parametrize("mu", [0.5, 1.0, 2.0])
def test_it_reaches_most_of_the_true_epsilon_of_a_gaussian_claim(mu):
    truth = epsilon_from_gdp(mu, DELTA)
    found = epsilon_lower_bound(**_named(gaussians(mu, 10_000, 0)), delta=DELTA)
    assert 0.7 * truth <= found.value <= truth
    assert found.mu <= mu


def test_any_test_is_weaker_but_needs_no_model():
    """Randomised response with e^eps = 3 is no Gaussian: its epsilon is log 3, found closely."""
    rng = np.random.default_rng(0)
    of, against = rng.random(40_000) < 0.75, rng.random(40_000) < 0.25
    found = epsilon_lower_bound(of=of, against=against, delta=DELTA, method="any test")
    assert 0.9 * math.log(3) <= found.value <= math.log(3)


def test_both_laws_and_both_directions_are_tried():
    of, against = gaussians(1.0, 4000, 0)
    values = [
        epsilon_lower_bound(of=a, against=b, delta=DELTA).value
        for a, b in ((of, against), (against, of), (-of, -against))
    ]
    assert min(values) > 0.5 * max(values) > 0


@pytest.mark.parametrize("law", [0, 1])
@pytest.mark.parametrize("away", [20, -20])
def test_a_few_models_far_away_are_found_by_a_threshold_that_is_not_midway(law, away):
    """One model in ten gives itself away, above or below, of either law."""
    rng = np.random.default_rng(5)
    laws = rng.normal(0, 1, (2, 2000))
    laws[law, ::10] += away
    bound = epsilon_lower_bound(of=laws[0], against=laws[1], delta=DELTA, method="any test")
    assert bound.alarm == 0
    assert bound.value > 2


def test_the_ceiling_is_what_a_perfect_attack_shows():
    """E38: with 25 test models a law, 2.06 at 95 % for each rate, and 1.84 for both at once."""
    assert ceiling(25, delta=1e-12, level=0.9, method="any test") == pytest.approx(2.06, abs=0.01)
    assert ceiling(25, delta=1e-12, method="any test") == pytest.approx(1.84, abs=0.01)
    of, against = gaussians(50.0, 50, 0)
    found = epsilon_lower_bound(of=of, against=against, delta=DELTA, method="any test")
    assert found.value == pytest.approx(found.ceiling)
    assert found.models == 25


def test_the_same_counts_prove_less_at_a_higher_confidence():
    bound = epsilon_lower_bound(**_named(gaussians(1.0, 4000, 0)), delta=DELTA)
    surer = bound.at(1 - 1e-6)
    assert bound.at(0.95) == bound
    assert (surer.hits, surer.counts) == (bound.hits, bound.counts)
    assert surer.level == 1 - 1e-6
    assert 0 < surer.value < bound.value
    assert 0 < surer.mu < bound.mu
    assert surer.ceiling < bound.ceiling
    assert bound.decided == surer


def test_a_contradiction_takes_the_deciding_confidence():
    bound = epsilon_lower_bound(**_named(gaussians(1.0, 4000, 0)), delta=DELTA)
    between = (bound.value + bound.decided.value) / 2
    assert not bound.contradicts(between)
    assert bound.contradicts(bound.decided.value - 1e-9)
    assert bound.tells_apart


def test_the_least_models_show_something_and_one_fewer_show_nothing():
    least = least_models()
    assert ceiling(least, delta=1e-12, level=DECISIVE) > 0
    assert ceiling(least - 1, delta=1e-12, level=DECISIVE) == 0


def test_the_number_of_models_that_would_be_needed_is_enough_and_no_more():
    needed = models_needed(mu=1.0, claimed=0.5)
    refuted = []
    for seed in range(60):
        of, against = gaussians(1.0, 2 * needed, seed)
        found = epsilon_lower_bound(of=of, against=against, delta=DELTA)
        refuted.append(found.mu > 0.5)
    # 80 % of 60; the 1e-6 quantile is 31, and half the models would do far worse.
    assert sum(refuted) >= 31
    fewer = []
    for seed in range(60):
        of, against = gaussians(1.0, needed // 2, seed)
        fewer.append(epsilon_lower_bound(of=of, against=against, delta=DELTA).mu > 0.5)
    assert sum(fewer) < sum(refuted)


def test_a_claim_that_is_true_needs_infinitely_many_models():
    assert models_needed(mu=0.5, claimed=0.5) is None
    assert models_needed(mu=0.5, claimed=0.4999, most=10**5) is None


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"of": np.zeros(3)}, "too few"),
        ({"of": np.full(20, np.nan)}, "finite"),
        ({"delta": 0.0}, "delta"),
        ({"level": 1.0}, "level"),
    ],
)
def test_bad_input_is_named(change, problem):
    with pytest.raises(ValueError, match=problem):
        epsilon_lower_bound(**{"of": np.zeros(20), "against": np.zeros(20), "delta": 0.1} | change)


def _named(pair):
    return {"of": pair[0], "against": pair[1]}


def test_laws_of_unequal_sizes_are_each_held_to_their_own():
    """Limits by Clopper and Pearson on each rate, from as many models as it was counted on."""
    rng = np.random.default_rng(3)
    of, against = rng.normal(2.0, 1, 300), rng.normal(0.0, 1, 6000)
    bound = epsilon_lower_bound(of=of, against=against, delta=DELTA, method="any test")
    assert sorted(bound.counts) == [150, 3000]
    (hits, misses), (seen, innocent) = bound.hits, bound.counts
    each = (1 - bound.level) / 2
    power = beta.ppf(each, hits, seen - hits + 1)
    alarm = beta.ppf(1 - each, misses + 1, innocent - misses)
    assert bound.value == pytest.approx(math.log((power - DELTA) / alarm), rel=1e-9)


@pytest.mark.parametrize("power", [0.5, 0.8, 0.95])
def test_with_so_many_models_both_rates_are_good_enough_as_often_as_is_asked_for(power):
    """Each with probability sqrt(power), by the exact binomial law at the midpoint."""
    mu, claimed, level = 1.0, 0.6, 0.95
    models = models_needed(mu=mu, claimed=claimed, level=level, power=power)
    assert chance_of_each(models, mu, claimed, level) >= math.sqrt(power)
    assert chance_of_each(int(0.95 * models), mu, claimed, level) < math.sqrt(power)


def chance_of_each(models, mu, claimed, level):
    """That one rate is counted so well that, with the other as good, the claim is refuted."""
    counts = np.arange(1, models + 1)
    lower = beta.ppf((1 - level) / 2, counts, models - counts + 1)
    least = counts[2 * norm.ppf(lower) > claimed].min()
    return float(binom.sf(least - 1, models, norm.cdf(mu / 2)))
