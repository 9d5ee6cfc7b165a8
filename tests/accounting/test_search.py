"""Searches over whole numbers, against trying every one of them."""

import random

import pytest

from expunge.accounting import Refused
from expunge.accounting.search import MOST, first_where, least_of_valley, least_where


@pytest.mark.parametrize("most", [0, 1, 2, 7, 8])
def test_first_where_finds_every_threshold(most):
    for threshold in range(most + 3):
        expected = min(threshold, most)
        assert first_where(lambda n, at=threshold: n >= at, most) == expected


def test_least_where_finds_every_threshold_without_looking_past_twice_it():
    for threshold in [*range(70), 10**6 + 3, 2**49, 2**50]:
        asked = []

        def holds(n, at=threshold, asked=asked):
            asked.append(n)
            return n >= at

        assert least_where(holds, "never") == threshold
        assert max(asked) <= max(1, 2 * threshold)


def test_least_where_gives_up_with_the_reason_it_was_given():
    with pytest.raises(Refused, match="no luck"):
        least_where(lambda _: False, "no luck")
    with pytest.raises(Refused, match="no luck"):
        least_where(lambda n: n > 2 * MOST, "no luck")


def test_least_where_passes_errors_on():
    def holds(n):
        raise Refused("inside")

    with pytest.raises(Refused, match="inside"):
        least_where(holds, "outside")


@pytest.mark.parametrize("most", [0, 1, 47, 48, 49, 50, 1000])
def test_the_bottom_of_a_valley_is_found_wherever_it_lies(most):
    for bottom in {0, 1, most // 3, most // 2, max(most - 1, 0), most}:
        value, at = least_of_valley(lambda n, b=bottom: (n - b) ** 2 + 0.5, most)
        assert (value, at) == (0.5 + max(0, bottom - most) ** 2, min(bottom, most))


def test_the_bottom_of_a_huge_valley_is_found():
    assert least_of_valley(lambda n: abs(n - 123_456_789_012), 10**15) == (0, 123_456_789_012)


def test_ties_go_left():
    assert least_of_valley(lambda _: 1.0, 10**6) == (1.0, 0)


def test_the_ends_are_always_tried():
    rng = random.Random(0)
    for _ in range(50):
        values = [rng.random() for _ in range(200)]
        value, at = least_of_valley(values.__getitem__, 199)
        assert value == values[at] <= min(values[0], values[-1])
