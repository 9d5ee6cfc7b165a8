"""Searches over whole numbers, and over scales."""

import math
from collections.abc import Callable
from decimal import Decimal
from typing import TypeVar

from expunge.errors import Refused

__all__ = ["first_where", "least_of_valley", "least_scale", "least_where"]

SCAN = 48  # neighbouring candidates that are all tried
MOST = 2**50


def first_where(holds: Callable[[int], bool], most: int) -> int:
    """Smallest n in 0..most at which a monotone condition holds, else `most`.

    Strides double before the bisection, so that a small n is found without trying large ones.
    """
    low, stride = 0, 1
    while low + stride <= most and not holds(low + stride - 1):
        low, stride = low + stride, 2 * stride
    high = min(low + stride - 1, most)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low


def least_where(holds: Callable[[int], bool], otherwise: str) -> int:
    """Smallest n >= 0 at which a monotone condition holds.

    Raises:
        Refused: with the reason `otherwise`, when it holds nowhere up to 2**50.
    """
    if holds(0):
        return 0
    low, high = 0, 1
    while not holds(high):
        low, high = high, 2 * high
        if high > MOST:
            raise Refused(otherwise)
    return low + 1 + first_where(lambda n: holds(low + 1 + n), high - low - 1)


def least_scale(met: Callable[[float], bool], low: float, high: float, within: float) -> float:
    """The least scale at which a monotone condition holds, from above, up to a factor.

    Args:
        low, high, within: Logarithms of where it lies, and of the factor.
    """
    while high - low > within:
        middle = (low + high) / 2
        low, high = (low, middle) if met(math.exp(middle)) else (middle, high)
    return math.exp(high)


Value = TypeVar("Value", float, Decimal)


def least_of_valley(value: Callable[[int], Value], most: int) -> tuple[Value, int]:
    """Least value on 0..most, and where, of a function that falls and then rises; ties go left."""
    low, high = 0, most
    while high - low > SCAN:
        third = (high - low) // 3
        left, right = low + third, high - third
        if value(left) <= value(right):
            high = right
        else:
            low = left
    return min((value(n), n) for n in {*range(low, high + 1), 0, most})
