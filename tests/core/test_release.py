"""Release noise against the exact law of a rounded Gaussian, and against an attack on low bits.

The noise comes from the operating system, so nothing here can be seeded: thresholds are set such
that a correct sampler fails a test with probability 1e-9 at most, by exact laws and union bounds.
"""

import math
from fractions import Fraction

import numpy as np
import pytest
import torch
from scipy.stats import binom, norm

from expunge.accounting.conversions import gdp_for_epsilon
from expunge.core import release
from tests.core.chances import RARE, lagged_limit, two_sided

pytestmark = pytest.mark.system_randomness

DRAWS = 60_000


def events(ratio, bins=40):
    """Of a step: below each of many edges, and within as many distances of 0."""
    edges = np.unique(np.round(ratio * norm.ppf(np.arange(1, bins) / bins)) + 0.5)
    return edges, np.unique(np.abs(edges))


def chances(ratio, std):
    """Of the events of `ratio` under round(N(0, std^2))."""
    below, within = events(ratio)
    return np.r_[norm.cdf(below / std), 2 * norm.cdf(within / std) - 1]


def p_value(steps, ratio):
    """Of integer draws under round(N(0, ratio^2)).

    How often each event happened is binomial: the least of exact p-values, times their number, is
    at most a with probability a or less.
    """
    below, within = events(ratio)
    counted = [(steps[:, None] < below).sum(0), (abs(steps)[:, None] < within).sum(0)]
    values = two_sided(np.concatenate(counted), len(steps), chances(ratio, ratio))
    return min(1.0, len(values) * float(values.min()))


def missed(std, ratio):
    """The probability that `p_value` does not reject draws of another std: of the best event."""
    right, true = chances(ratio, ratio), chances(ratio, std)
    each = RARE / len(right) / 2
    accepted = binom.ppf(each, DRAWS, right) - 1, binom.isf(each, DRAWS, right) + 1
    return float((binom.cdf(accepted[1], DRAWS, true) - binom.cdf(accepted[0], DRAWS, true)).min())


# ---- the law ----------------------------------------------------------------------------------


@pytest.mark.parametrize("ratio", [1.0, 3.7, 20.0, 100.0])
def test_steps_follow_the_rounded_gaussian(ratio):
    grid = 2.0**-10
    drawn = release.draw(np.zeros(DRAWS), ratio * grid, grid)
    assert p_value(drawn / grid, ratio) > RARE


def test_the_check_catches_a_std_that_is_eight_percent_off():
    grid = 2.0**-10
    for wrong in (1.08, 0.92):
        assert missed(wrong * 20, 20.0) < RARE
        drawn = release.draw(np.zeros(DRAWS), wrong * 20 * grid, grid)
        assert p_value(drawn / grid, 20.0) < RARE


@pytest.mark.parametrize("ratio", [1.0, 3.7])
def test_the_check_catches_rounding_toward_zero_or_down(ratio):
    noise = ratio * np.random.default_rng(0).normal(size=DRAWS)
    assert p_value(np.rint(noise), ratio) > RARE
    assert p_value(np.trunc(noise), ratio) < RARE
    assert p_value(np.floor(noise), ratio) < RARE


def test_noise_does_not_depend_on_the_center():
    grid, ratio = 2.0**-4, 3.7
    center = np.random.default_rng(1).normal(scale=100.0, size=DRAWS)
    drawn = release.draw(center, ratio * grid, grid)
    assert p_value(drawn / grid - np.rint(center / grid), ratio) > RARE


def correlated(drawn):
    """The lags at which products of draws sum up to more than chance; 2^-20 is the rounding."""
    limits = {lag: (1 + 2**-20) * lagged_limit(len(drawn) - lag, RARE / 3) for lag in (1, 2, 4)}
    return [lag for lag, most in limits.items() if abs(drawn[lag:] @ drawn[:-lag]) > most]


def test_coordinates_are_uncorrelated():
    assert not correlated(release.draw(np.zeros(DRAWS), 1.0, 2.0**-30))
    moving = np.random.default_rng(0).normal(size=DRAWS)
    assert correlated(moving[:-2] + 0.1 * moving[2:]) == [2]


# ---- grid points ------------------------------------------------------------------------------


@pytest.mark.parametrize("exponent", [-40, -3, 0, 7])
def test_draws_are_grid_points(exponent):
    grid = 2.0**exponent
    center = grid * np.random.default_rng(2).normal(scale=50.0, size=(20, 3))
    drawn = release.draw(center, 2.5 * grid, grid)
    assert drawn.shape == center.shape
    assert drawn.dtype == np.float64
    assert np.array_equal(np.rint(drawn / grid), drawn / grid)


def test_no_zero_carries_a_sign():
    """-0.0 would tell that the center was negative."""
    assert binom.cdf(100, 2000, 2 * norm.cdf(0.5) - 1) < RARE
    drawn = release.draw(np.full(2000, -1e-3), 1.0, 1.0)
    assert (drawn == 0).sum() > 100
    assert not np.signbit(drawn[drawn == 0]).any()


def test_the_input_is_left_alone():
    center = np.full(5, 0.3)
    release.draw(center, 1.0, 0.25)
    assert np.array_equal(center, np.full(5, 0.3))


def test_reseeding_torch_and_numpy_does_not_repeat_draws():
    """64 steps of std 2^20 all agree by chance with probability below 2^(-20 * 64)."""
    drawn = []
    for _ in range(2):
        torch.manual_seed(0)
        np.random.seed(0)
        drawn.append(release.draw(np.zeros(64), 1.0, 2.0**-20))
    assert (drawn[0] != drawn[1]).any()


# ---- the attack on low bits -------------------------------------------------------------------

COORDINATES = 16_384
EPSILON, DELTA = 0.16, 1e-5
NOISE_STD = 1.37
TRIALS = 40
MU = gdp_for_epsilon(EPSILON, DELTA)


def candidates():
    """A feature nobody has, and one seen only in forgotten records: mu noise stds apart."""
    tiny = np.random.default_rng(3).uniform(0.5, 1.0, COORDINATES)
    return np.zeros(COORDINATES), tiny * (MU * NOISE_STD / np.linalg.norm(tiny))


def explained(outputs, center):
    """How many outputs float64 noise could have made: center + NOISE_STD * z for a float64 z.

    Multiplying by a mantissa a in (1, 2) skips a share 1 - 1/a of the numbers in [a, 2), so that
    a wrong center leaves outputs that no z explains.
    """
    z = (outputs - center) / NOISE_STD
    hits = np.zeros(len(outputs), dtype=bool)
    for ulps in range(-4, 5):
        hits |= center + NOISE_STD * (z + ulps * np.spacing(z)) == outputs
    return int(hits.sum())


def score(outputs):
    """Positive speaks for the first candidate."""
    first, second = candidates()
    return explained(outputs, first) - explained(outputs, second)


def correct_guesses(mechanism, trials):
    """The attacker sees four models of each kind first and takes the midpoint as threshold."""
    known = [np.mean([score(mechanism(c)) for _ in range(4)]) for c in candidates()]
    truth = np.random.default_rng(4).integers(0, 2, trials)
    guesses = [score(mechanism(candidates()[t])) < np.mean(known) for t in truth]
    return int((np.array(guesses) == (truth == 1)).sum())


def beyond_chance(correct):
    """Guesses that a mu-GDP mechanism allows with probability RARE at most, either way round."""
    chance = norm.cdf(MU * (1 + 2**-8) / 2)
    above, below = binom.sf(correct - 1, TRIALS, chance), binom.cdf(correct, TRIALS, 1 - chance)
    return min(above, below) < RARE / 2


def test_the_low_bit_attack_breaks_ordinary_float64_noise():
    """THEORY 2.8: every model told apart at a certified epsilon of 0.16."""
    generator = torch.Generator().manual_seed(5)

    def float_noise(center):
        noise = torch.randn(len(center), generator=generator, dtype=torch.float64).numpy()
        return center + NOISE_STD * noise

    assert np.abs(candidates()[1]).max() < 1e-3 * NOISE_STD
    assert correct_guesses(float_noise, TRIALS) == TRIALS
    assert beyond_chance(TRIALS)


@pytest.mark.slow
def test_the_low_bit_attack_stays_at_chance_against_a_release():
    """A mu-GDP mechanism is guessed with probability at most Phi(mu/2)."""
    grid = release.grid_for(std=NOISE_STD, mu=MU, dimension=COORDINATES)
    correct = correct_guesses(lambda center: release.draw(center, NOISE_STD, grid), TRIALS)
    assert not beyond_chance(correct)


# ---- what is charged --------------------------------------------------------------------------


@pytest.mark.parametrize("std", [3e-8, 0.7, 41.0])
@pytest.mark.parametrize("dimension", [1, 50, 16_384])
def test_the_grid_is_the_largest_power_of_two_within_its_share(std, dimension):
    """h sqrt(d) <= mu std/256, THEORY 2.8 asks for 1/16."""
    grid = release.grid_for(std=std, mu=0.3, dimension=dimension)
    assert math.frexp(grid)[0] == 0.5
    share = 0.3 * std / 256
    assert grid * math.sqrt(dimension) <= share < 2 * grid * math.sqrt(dimension)


def test_rounding_covers_what_the_grid_moves_and_is_attained():
    grid, dimension = 2.0**-6, 300
    bound = release.rounding_of(grid, dimension)
    assert bound == pytest.approx(grid * math.sqrt(dimension) / 2, rel=1e-11)
    center = np.random.default_rng(6).normal(size=(200, dimension))
    moved = np.linalg.norm(np.rint(center / grid) * grid - center, axis=1)
    assert (moved <= bound).all()
    worst = np.full(dimension, grid / 2)
    assert np.linalg.norm(np.rint(worst / grid) * grid - worst) > bound * (1 - 1e-11)
    assert Fraction(bound) ** 2 >= Fraction(grid) ** 2 * dimension / 4


# ---- refusals ---------------------------------------------------------------------------------


@pytest.mark.parametrize("grid", [0.3, 3.0, 0.0, -0.5, math.nan, math.inf])
def test_a_grid_that_is_no_power_of_two_is_refused(grid):
    with pytest.raises(ValueError, match="grid"):
        release.draw(np.zeros(2), 10.0, grid)


@pytest.mark.parametrize("std", [0.49, 0.0, -1.0, math.nan, math.inf])
def test_a_std_below_the_grid_or_not_finite_is_refused(std):
    with pytest.raises(ValueError, match="std"):
        release.draw(np.zeros(2), std, 0.5)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_center_that_is_not_finite_is_refused(value):
    with pytest.raises(ValueError, match="center"):
        release.draw(np.array([0.0, value]), 1.0, 0.5)


@pytest.mark.parametrize("value", [2.0**53, -(2.0**60)])
def test_a_center_too_large_for_exact_sums_is_refused(value):
    with pytest.raises(ValueError, match="too large"):
        release.draw(np.array([0.0, value * 0.25]), 1.0, 0.25)


def test_noise_too_large_for_exact_sums_is_refused():
    with pytest.raises(ValueError, match=r"std: .* too large"):
        release.draw(np.zeros(100), 2.0**53, 1.0)
    with pytest.raises(ValueError, match=r"std: .* too large"):
        release.draw(np.zeros(1), 1e90, 2.0**-990)


@pytest.mark.parametrize("reach", [2.0**51 * 0.25, 1.0])
def test_a_center_within_a_checked_reach_is_drawn(reach):
    release.check_reach(reach, std=1.0, grid=0.25)
    assert np.isfinite(release.draw(np.array([reach, -reach]), 1.0, 0.25)).all()


@pytest.mark.parametrize("reach", [2.0**53, math.inf, math.nan])
def test_a_reach_beyond_exact_sums_is_refused_before_any_center_is_there(reach):
    with pytest.raises(ValueError, match="sigma: noise of 1 is too small"):
        release.check_reach(reach, std=1.0, grid=0.25)
