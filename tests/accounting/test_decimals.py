"""Decimals of every size against exact fractions and 60-digit powers."""

import math
from decimal import Decimal
from fractions import Fraction

import pytest
from mpmath import mp, mpf

from expunge.accounting import Refused
from expunge.accounting.decimals import decimal, geometric, round_up, wide_range


def exact(value: Decimal) -> mpf:
    return mpf(str(value))


@pytest.mark.parametrize(
    "rate", ["1e-300", "1e-40", "1e-25", "1e-16", "1e-3", "0.9", "-1e-9", "-2"]
)
@pytest.mark.parametrize("terms", [1, 2, 1000, 10**12, 2**53])
def test_geometric_sums_keep_twenty_digits(rate: str, terms: int) -> None:
    ratio = 1 - Fraction(rate)
    with wide_range():
        found = geometric(decimal(ratio) ** terms, decimal(1 - ratio), terms)
    with mp.workdps(400):
        r = mpf(ratio.numerator) / ratio.denominator
        truth = (1 - r**terms) / (1 - r)
        assert abs(exact(found) / truth - 1) < mpf("1e-19")


def test_a_sum_of_ones_is_their_number() -> None:
    assert geometric(Decimal(1), Decimal(0), 7) == 7


def test_a_trillion_powers_neither_overflow_nor_vanish() -> None:
    with wide_range():
        small, large = Decimal("0.1") ** 10**17, Decimal(10) ** 10**17
        assert small * large == 1


def test_beyond_ten_to_the_ten_to_the_eighteen_is_a_refusal_and_not_a_zero() -> None:
    for base in ("0.1", "10"):
        with pytest.raises(Refused, match="orders of magnitude"), wide_range():
            Decimal(base) ** (2 * 10**18)


def test_fractions_keep_57_digits_outside_the_wide_range_too() -> None:
    third = decimal(Fraction(1, 3 * 10**400))
    assert abs(Fraction(third) * 3 * 10**400 - 1) < Fraction(1, 10**56)


def test_rounding_up_is_never_below_and_keeps_an_exact_zero() -> None:
    for value in (Decimal(1) / 3, Decimal("1e-400"), Decimal("1e400"), Decimal("2.5")):
        assert Decimal(round_up(value)) >= value
    assert round_up(Decimal("1e-400")) == 5e-324
    assert round_up(Decimal("1e400")) == math.inf
    assert round_up(Decimal(0)) == 0.0
