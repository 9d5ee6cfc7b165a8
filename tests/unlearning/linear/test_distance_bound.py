"""The bound's formulas against themselves at 50 digits, and their ends."""

import math
from itertools import product

import mpmath
import pytest

from expunge.unlearning.linear.distance_bound import (
    distance_bound,
    excess_curvature,
    sharp_excess,
)

MOVES = (1e-300, 1e-12, 1e-6, 1e-3, 0.1, 0.9999999, 1.0, 1.0000001, 3.0, 50.0, 699.0)


@pytest.mark.parametrize("moved", MOVES)
def test_what_curvature_gains_is_rounded_up_and_hardly(moved):
    """phi(s) = (e^s - 1)/s - 1 and phi(s) - s/2 (THEORY 6)."""
    with mpmath.workdps(700):
        s = mpmath.mpf(moved)
        phi = (mpmath.exp(s) - 1) / s - 1
        for got, true in ((excess_curvature(moved), phi), (sharp_excess(moved), phi - s / 2)):
            assert true <= got + 1e-320
            assert got <= true * (1 + mpmath.mpf("3e-9")) + mpmath.mpf("1e-300")


def test_no_change_gains_nothing_and_too_large_a_one_everything():
    assert excess_curvature(0.0) == sharp_excess(0.0) == 0
    assert excess_curvature(701.0) == sharp_excess(math.nan) == math.inf


def left_of_it(x, rho, bent, moved, steepness, l2):
    """[rho + sqrt(rho^2 + l2 C^2/kappa(x))]/(2 l2), at 50 digits."""
    way = mpmath.mpf(steepness) * x
    share = 1 if way == 0 else (1 - mpmath.exp(-way)) / way
    kappa = mpmath.exp(-mpmath.mpf(moved)) * share
    root = mpmath.sqrt(mpmath.mpf(rho) ** 2 + mpmath.mpf(l2) * mpmath.mpf(bent) ** 2 / kappa)
    return (rho + root) / (2 * mpmath.mpf(l2))


@pytest.mark.parametrize("l2", [1e-6, 1e-2, 5.0])
@pytest.mark.parametrize("moved", [0.0, 1e-5, 0.3, 20.0])
def test_the_bound_satisfies_its_inequality_and_is_about_the_least_that_does(moved, l2):
    for rho, bent, steepness in product((1e-14, 1e-6, 3.0), (0.0, 1e-4, 0.5), (0.0, 1.0, 7.0)):
        bound = distance_bound(rho, bent, moved=moved, steepness=steepness, l2=l2)
        with mpmath.workdps(50):
            given = (rho, bent, moved, steepness, l2)
            assert left_of_it(mpmath.mpf(bound), *given) < bound
            smaller = mpmath.mpf(bound) * (1 - mpmath.mpf("1e-6"))
            assert left_of_it(smaller, *given) >= smaller


def test_without_curvature_that_changes_it_is_the_gradient_over_the_ridge():
    assert distance_bound(1e-3, 0.0, moved=0.0, steepness=1.0, l2=0.1) == pytest.approx(1e-2)


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -1.0])
@pytest.mark.parametrize("place", range(4))
def test_numbers_that_say_nothing_bound_nothing(wrong, place):
    given = [1e-3, 1e-3, 0.1, 1.0]
    given[place] = wrong
    rho, bent, moved, steepness = given
    assert distance_bound(rho, bent, moved=moved, steepness=steepness, l2=0.1) == math.inf


def test_a_change_beyond_what_exp_holds_or_no_ridge_bounds_nothing():
    assert distance_bound(1e-3, 1e-3, moved=701.0, steepness=1.0, l2=0.1) == math.inf
    assert distance_bound(1e-3, 1e-3, moved=0.1, steepness=1.0, l2=0.0) == math.inf
    assert distance_bound(1e-3, 1e-3, moved=690.0, steepness=1e300, l2=1e-300) == math.inf
