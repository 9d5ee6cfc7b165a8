"""exp of numbers that are at most 0, with the same bits on every machine and in every batch.

    k = round(x / ln 2),   r = x - k ln 2,   exp(x) = 2^k (1 + r (1 + r/2 (1 + r/3 (...))))

Only additions, subtractions and products of single numbers, each correctly rounded by IEEE 754, in
one fixed order. A library's own exp differs in the last bit from one machine to the next, and may
differ between the body and the tail of a batch: what a record added to a sum could then not be
taken out again to the last bit (THEORY 6).
"""

import math

import numpy as np

__all__ = ["EXP_ERROR", "exp"]

EXP_ERROR = 2.0**-49  # relative: |r|^16/16! of the series, 2^-52 |r| of r, and a few roundings
LEAST = -700.0  # below it the result is that of LEAST, which is below 1e-304
TERMS = 15  # of the series beyond 1; |r| <= 0.3467
# ln 2 in two parts; the first has 20 bits left over, so that k times it is exact.
LN2_HIGH = math.ldexp(round(math.ldexp(math.log(2), 33)), -33)
LN2_LOW = -4.2009150726810846e-11  # ln 2 - LN2_HIGH


def exp(values: np.ndarray) -> np.ndarray:
    """exp of each value, within EXP_ERROR of it, for values that are at most 0."""
    values = np.maximum(values, LEAST)
    doublings = np.rint(values * (1 / math.log(2)))
    rest = (values - doublings * LN2_HIGH) - doublings * LN2_LOW
    total = np.ones_like(rest)
    for term in range(TERMS, 0, -1):
        total *= rest
        total /= term
        total += 1.0
    return np.ldexp(total, doublings.astype(np.int32))
