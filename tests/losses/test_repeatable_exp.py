"""exp by IEEE operations alone: close to the truth, and the same in every batch."""

import mpmath
import numpy as np

from expunge.losses.repeatable_exp import EXP_ERROR, LEAST, LN2_HIGH, LN2_LOW, exp

VALUES = -np.concatenate([[0.0], np.logspace(-300, np.log10(699), 1500), np.arange(0, 700, 0.731)])


def test_it_is_as_close_as_it_says():
    with mpmath.workdps(40):
        errors = [
            abs(mpmath.mpf(float(got)) / mpmath.exp(float(x)) - 1)
            for x, got in zip(VALUES, exp(VALUES), strict=True)
        ]
    assert max(errors) <= EXP_ERROR / 4  # and room to spare


def test_a_value_has_the_same_bits_in_every_batch():
    whole = exp(VALUES)
    for width in (1, 2, 3, 5, 8, 17):
        parts = [exp(VALUES[i : i + width]) for i in range(0, len(VALUES), width)]
        assert np.array_equal(np.concatenate(parts), whole)
    assert np.array_equal(exp(VALUES[::-3]), whole[::-3])


def test_the_two_parts_of_ln_2_add_up_and_the_first_leaves_room_for_k():
    with mpmath.workdps(40):
        assert abs(mpmath.mpf(LN2_HIGH) + mpmath.mpf(LN2_LOW) - mpmath.log(2)) < 1e-26
    assert round(LN2_HIGH * 2**33) == LN2_HIGH * 2**33


def test_far_below_zero_it_stays_positive_and_tiny():
    assert 0 < exp(np.array([-1e5]))[0] == exp(np.array([LEAST]))[0] < 1e-303
