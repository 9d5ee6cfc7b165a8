"""Decimals of 57 digits that span 10^18 orders of magnitude.

Products of 10^15 factors c^n neither overflow nor vanish in them. Sums of positive numbers
keep the relative accuracy of their terms; logarithms would not: where a growth of e^x is
cancelled by a decay of e^-x, the difference of two logarithms of size x loses x 2^-53 of the
result, which is all of it at x = 10^16 (THEORY 7).
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import (
    MAX_EMAX,
    MIN_EMIN,
    Context,
    Decimal,
    DivisionByZero,
    InvalidOperation,
    Overflow,
    Underflow,
    localcontext,
)
from fractions import Fraction

from expunge.errors import Refused

__all__ = ["decimal", "geometric", "round_up", "wide_range"]

DIGITS = 57
WIDE = Context(
    prec=DIGITS,
    Emin=MIN_EMIN,
    Emax=MAX_EMAX,
    traps=[DivisionByZero, InvalidOperation, Overflow, Underflow],
)
NEGLIGIBLE = Decimal("1e-20")  # relative error of a geometric sum that is taken for its length


@contextmanager
def wide_range() -> Iterator[None]:
    """Compute with 57 digits and every exponent, as a context or a decorator.

    Raises:
        Refused: a number is beyond 10^(+-10^18).
    """
    try:
        with localcontext(WIDE):
            yield
    except (Overflow, Underflow) as error:
        raise Refused("grows or shrinks by more than 10^18 orders of magnitude") from error


def decimal(value: Fraction) -> Decimal:
    """The fraction to 57 digits, whatever its size."""
    with localcontext(WIDE):
        return Decimal(value.numerator) / Decimal(value.denominator)


def geometric(power: Decimal, gap: Decimal, terms: int) -> Decimal:
    """1 + r + ... + r^(terms-1) = (1 - r^terms)/(1 - r).

    Args:
        power: r^terms.
        gap: 1 - r; both to 57 digits, so that 1 - r^terms keeps 20 of them where it is used.
    """
    if terms * abs(gap) < NEGLIGIBLE:
        return Decimal(terms)
    return (1 - power) / gap


def round_up(value: Decimal) -> float:
    """Round up to the double above; beyond the largest double, to infinity."""
    return math.nextafter(float(value), math.inf) if value else 0.0
