"""Rounded normal numbers against their exact law, with digits enough and with too few.

Drawn one, two or three digits at a time, numbers agree in all of them all the time: what happens
once in 2^64 cases otherwise is then most of what is tested.
"""

import heapq
import itertools
import math
import operator
import os

import mpmath
import numpy as np
import pytest
from scipy.stats import chi2, norm

from expunge.core import exact_normal
from expunge.core.exact_normal import rounded_normals
from tests.core.chances import RARE, lagged_limit, two_sided

DRAWS = 40_000
LAWS = [(64, 0.3), (64, 1.0), (64, 3.7), (1, 1.0), (2, 0.3), (3, 3.7)]  # digits and std


def chance(std, least, most):
    """Of round(N(0, std^2)) from `least` to `most`, without cancellation in the tails."""
    low, high = (least - 0.5) / std, (most + 0.5) / std
    return norm.cdf(high) - norm.cdf(low) if high < 0 else norm.sf(low) - norm.sf(high)


def p_value(drawn, std):
    """The least of two exact tests' p-values, doubled: of counts by value, and of chi-square.

    Every count is binomial; chi-square is over cells of 2,000 draws or more in expectation, whose
    statistic is within a few percent of its limit law: it counts with a tenth of its p-value.
    """
    most = math.ceil(5 * std) + 1
    values = [(-math.inf, -most), *((k, k) for k in range(1 - most, most)), (most, math.inf)]
    chances = np.array([chance(std, least, last) for least, last in values])
    counts = np.array([((drawn >= least) & (drawn <= last)).sum() for least, last in values])
    assert counts.sum() == len(drawn)
    each = len(values) * float(two_sided(counts, len(drawn), chances).min())
    large = chances * len(drawn) >= 2000
    rest = len(drawn) * (1 - chances[large].sum()), len(drawn) - counts[large].sum()
    expected = np.r_[chances[large] * len(drawn), rest[0]]
    found = np.r_[counts[large], rest[1]]
    together = chi2.sf(((found - expected) ** 2 / expected).sum(), large.sum()) / 10
    return min(1.0, 2 * each, 2 * together)


# ---- the law ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("digits", "std"), LAWS)
def test_every_value_is_as_frequent_as_the_rounded_normal_law_says(digits, std):
    assert p_value(rounded_normals(DRAWS, std, digits=digits), std) > RARE


@pytest.mark.parametrize("std", [2.0**20, 1.7 * 2.0**50])
def test_large_numbers_follow_the_normal_law_in_the_body_and_in_both_tails(std):
    """Edges at probabilities down to 1e-4; each count is binomial."""
    drawn = rounded_normals(DRAWS, std)
    shares = np.r_[1e-4, 1e-3, np.arange(1, 40) / 40, 1 - 1e-3, 1 - 1e-4]
    below = (drawn[:, None] < std * norm.ppf(shares)).sum(0)
    assert len(shares) * two_sided(below, DRAWS, shares).min() > RARE


@pytest.mark.parametrize("std", [2.0**20, 1.1 * 2.0**47])
@pytest.mark.parametrize("bit", [0, 1, 5])
def test_low_bits_are_fair_coins_together_with_the_sign(std, bit):
    """Of std 2^20 a bit below the 14th is fair to within exp(-2^10)."""
    drawn = rounded_normals(DRAWS, std).astype(np.int64)
    for counted in (drawn >> bit & 1, (drawn >> bit & 1) ^ (drawn < 0)):
        assert 4 * two_sided(int(counted.sum()), DRAWS, 0.5) > RARE


def test_one_number_tells_nothing_of_the_next():
    """Neither by its value nor by its size: z^2 - 1, cut at 20, has variance 2."""
    drawn = rounded_normals(DRAWS, 2.0**30) / 2.0**30
    sizes = (drawn**2 - 1).clip(-1, 20)
    for lag in (1, 2, 3):
        assert abs(drawn[lag:] @ drawn[:-lag]) < 1.001 * lagged_limit(DRAWS - lag, RARE / 6)
        # Products at lag 1 to 3 fall into 4 sums of independent ones: Bernstein's inequality.
        x = math.log(8 * 6 / RARE)
        most = 4 * (math.sqrt(2 * 4 * DRAWS / 4 * x) + 400 * x / 3)
        assert abs(sizes[lag:] @ sizes[:-lag]) < most


def test_batches_of_any_size_have_as_many_numbers_as_asked(monkeypatch):
    monkeypatch.setattr(exact_normal, "BATCH", 100)
    for numbers in (0, 1, 2, 99, 100, 101, 1000):
        assert rounded_normals(numbers, 5.0).shape == (numbers,)
    monkeypatch.setattr(exact_normal, "KEPT", 5.0)  # too few candidates are tried: again
    assert p_value(rounded_normals(DRAWS // 4, 0.3), 0.3) > RARE


def test_zeros_carry_no_sign():
    drawn = rounded_normals(2000, 0.3)
    assert (drawn == 0).sum() > 100
    assert not np.signbit(drawn[drawn == 0]).any()


def test_a_grid_so_fine_that_sixty_four_digits_seldom_tell_is_no_problem():
    """Of std 2^70 every number needs further digits of x; all of them are whole."""
    drawn = rounded_normals(2000, 2.0**70)
    assert np.abs(drawn / 2.0**70).max() < 7
    assert abs(drawn @ np.ones(2000)) < 2.0**70 * math.sqrt(2000) * 7


# ---- every string of bits ---------------------------------------------------------------------


class Bits:
    """A source of the bits that are given, one for each digit, and no more."""

    def __init__(self, bits):
        self.bits, self.read = bits, 0

    def __call__(self, size):
        words = size // 8
        if self.read + words > len(self.bits):
            raise EOFError
        taken = self.bits[self.read : self.read + words]
        self.read += words
        return b"".join((bit << 63).to_bytes(8, "little") for bit in taken)


def outcomes(most):
    """The probability of each outcome of a candidate, from all strings of so many bits or fewer.

    Strings that decide nothing are continued, those of most probability first.
    """
    decided, tried = {}, 0
    waiting = [(0, 0, ())]
    order = itertools.count(1)
    while waiting and tried < most:
        length, _, bits = heapq.heappop(waiting)
        tried += 1
        tape = exact_normal.Tape(Bits(bits), 1)
        try:
            whole, part = exact_normal.kept_candidates(tape, 1)
        except EOFError:
            for bit in (0, 1):
                heapq.heappush(waiting, (length + 1, next(order), (*bits, bit)))
            continue
        halves = zip(whole.tolist(), part.tolist(), strict=True)
        found = next(((k, x >> tape.digits - 1) for k, x in halves), None)
        decided[found] = decided.get(found, 0.0) + 2.0**-length
    return decided


def true_outcomes():
    """k and the half of x, of a candidate that is kept: exp(-(k + x)^2/2)/sum exp(-k^2/2)."""
    with mpmath.workdps(30):
        total = mpmath.nsum(lambda k: mpmath.exp(-(k**2) / 2), [0, mpmath.inf])
        density = lambda t: mpmath.exp(-(t**2) / 2)  # noqa: E731
        kept = {
            (k, half): float(mpmath.quad(density, [k + half / 2, k + half / 2 + 0.5]) / total)
            for k in range(8)
            for half in (0, 1)
        }
    return kept | {None: 1 - sum(kept.values())}


def excess(decided):
    """By how much an outcome has more than its probability, at most."""
    true = true_outcomes()
    return max(probability / true[outcome] for outcome, probability in decided.items()) - 1


def test_over_all_strings_of_bits_no_outcome_has_more_than_its_probability():
    decided = outcomes(2000)
    assert 0.25 < sum(decided.values()) < 1
    assert len(decided) >= 2
    assert excess(decided) < 1e-9


@pytest.mark.parametrize("less", [operator.lt, operator.le])
def test_over_all_strings_of_bits_a_tie_that_is_decided_at_once_would_be_noticed(monkeypatch, less):
    monkeypatch.setattr(exact_normal.Tape, "less", staticmethod(less))
    assert excess(outcomes(2000)) > 0.1


@pytest.mark.parametrize("digits", [1, 8, 64, 128, 640])
def test_the_limits_of_k_are_the_digits_of_its_distribution(digits):
    limits = exact_normal.limits_of_k(digits)
    with mpmath.workdps(digits // 3 + 60):
        weights = [mpmath.exp(-mpmath.mpf(k * k) / 2) for k in range(60)]
        total = mpmath.fsum(weights)
        for k, limit in enumerate(limits):
            exact = mpmath.ldexp(mpmath.fsum(weights[: k + 1]) / total, digits)
            assert limit < exact < limit + 1
    assert limits[-1] == 2**digits - 1
    assert len(set(limits)) == len(limits)


# ---- planted faults ---------------------------------------------------------------------------


@pytest.mark.parametrize("less", [operator.lt, operator.le])
def test_numbers_that_agree_and_are_not_drawn_further_would_be_noticed(monkeypatch, less):
    monkeypatch.setattr(exact_normal.Tape, "less", staticmethod(less))
    assert p_value(rounded_normals(DRAWS, 1.0, digits=3), 1.0) < RARE


@pytest.mark.parametrize(
    "wrong",
    [
        lambda even: lambda tape, whole, part: ~even(tape, whole, part),
        lambda even: lambda tape, whole, part: even(tape, whole, 0 * part + part.max()),
        lambda even: lambda tape, whole, part: even(tape, whole + 1, part),
        lambda even: lambda tape, whole, part: even(tape, 0 * whole, part),
        lambda _: lambda *given: np.ones(len(given[1]), dtype=bool),
    ],
    ids=["odd runs", "another x", "another k", "k = 0", "all are kept"],
)
def test_a_wrong_acceptance_would_be_noticed(monkeypatch, wrong):
    monkeypatch.setattr(exact_normal, "even_runs", wrong(exact_normal.even_runs))
    assert p_value(rounded_normals(DRAWS, 3.7), 3.7) < RARE


def test_a_wrong_law_of_k_would_be_noticed(monkeypatch):
    right = exact_normal.limits_of_k(64)
    wrong = [right[0] - 2**60, *right[1:]]  # 1 of 16 candidates
    monkeypatch.setattr(exact_normal, "limits_of_k", lambda _: wrong)
    assert p_value(rounded_normals(DRAWS, 3.7), 3.7) < RARE


def test_further_digits_of_x_are_drawn_and_zeros_in_their_place_would_be_noticed(monkeypatch):
    """Of std 2^20 the first 12 digits of x say nothing of the low bits."""

    def odd_ones():
        tape = exact_normal.Tape(os.urandom, 12)
        rounded = exact_normal.rounded_to_wholes(
            np.zeros(DRAWS, int), tape.uniforms(DRAWS), tape, 2.0**20
        )
        return sum(each % 2 for each in rounded)

    assert two_sided(odd_ones(), DRAWS, 0.5) > RARE
    monkeypatch.setattr(exact_normal.Tape, "longer", lambda tape, value: value << tape.step)
    assert two_sided(odd_ones(), DRAWS, 0.5) < RARE
