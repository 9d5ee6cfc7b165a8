"""Limits that a correct source of noise oversteps with a probability that is known, not guessed."""

import math

import numpy as np
from scipy.stats import binom

__all__ = ["RARE", "lagged_limit", "two_sided"]

RARE = 1e-9  # how often a test may fail on correct code


def two_sided(count: int | np.ndarray, of: int, chance: float | np.ndarray) -> np.ndarray:
    """p-values of counts under Bin(of, chance), exact: at most a with probability a or less."""
    tails = np.minimum(binom.sf(np.asarray(count) - 1, of, chance), binom.cdf(count, of, chance))
    return np.minimum(1.0, 2 * tails)


def lagged_limit(count: int, chance: float) -> float:
    """|sum of z[i] z[i + lag]| of `count` products is larger with at most this probability.

    The sum is a quadratic form z'Az with trace 0, |A|_F^2 = count/2 and |A| <= 1 in standard
    normals, so that it exceeds 2 |A|_F sqrt(x) + 2 |A| x with probability e^-x at most (Laurent
    and Massart 2000, Lemma 1), and likewise below.
    """
    x = math.log(2 / chance)
    return math.sqrt(2 * count * x) + 2 * x
