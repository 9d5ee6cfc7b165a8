"""Closed forms: against quadrature, in both directions, at every order."""

import math

import numpy as np
import pytest
from scipy import integrate, stats

from tests.gaussians import renyi_gaussians, renyi_on_a_line


def by_quadrature(p, q, order):
    def integrand(x):
        return math.exp(order * p.logpdf(x) + (1 - order) * q.logpdf(x))

    value, _ = integrate.quad(integrand, -40, 40, limit=400, points=[p.mean(), q.mean()])
    return math.log(value) / (order - 1)


@pytest.mark.parametrize("order", [0.5, 1.5, 2.0, 4.0, 8.0])
@pytest.mark.parametrize(("shift", "std"), [(0.0, 1.0), (0.7, 1.0), (0.3, 0.9), (-1.0, 1.05)])
def test_they_agree_with_quadrature_in_one_dimension(order, shift, std):
    p, q = stats.norm(shift, std), stats.norm(0, 1)
    for one, other in ((p, q), (q, p)):
        found = renyi_gaussians(
            [one.mean()], [[one.var()]], [other.mean()], [[other.var()]], order=order
        )
        if (1 - order) * one.var() + order * other.var() <= 0:
            assert found.total == math.inf
            continue
        truth = pytest.approx(by_quadrature(one, other, order), rel=1e-6, abs=1e-8)
        assert found.total == truth
        gap, variances = one.mean() - other.mean(), (one.var(), other.var())
        assert (
            renyi_on_a_line(
                order, mean_gap=gap, of_variance=variances[0], against_variance=variances[1]
            )
            == truth
        )


def test_order_one_is_the_kullback_leibler_divergence_and_the_limit():
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, 4, 4))
    p, q = a @ a.T + np.eye(4), b @ b.T + np.eye(4)
    mean = rng.standard_normal(4)
    exact = renyi_gaussians(mean, p, np.zeros(4), q, order=1)
    near = renyi_gaussians(mean, p, np.zeros(4), q, order=1 + 1e-6)
    assert near.total == pytest.approx(exact.total, rel=1e-4)
    assert near.mean == pytest.approx(exact.mean, rel=1e-4)


def test_equal_covariances_leave_half_the_order_times_the_squared_distance():
    found = renyi_gaussians([1.0, 2.0], 4 * np.eye(2), [0.0, 0.0], 4 * np.eye(2), order=3)
    assert found.mean == pytest.approx(1.5 * 5 / 4)
    assert found.covariance == pytest.approx(0, abs=1e-12)


def test_it_is_infinite_where_the_integral_diverges():
    wide = renyi_gaussians([0.0], [[3.0]], [0.0], [[1.0]], order=2)
    assert wide.total == math.inf
    narrow = renyi_gaussians([0.0], [[1.0]], [0.0], [[3.0]], order=2)
    assert narrow.total < math.inf


@pytest.mark.parametrize("order", [0, -1])
def test_senseless_orders_are_refused(order):
    with pytest.raises(ValueError, match="order"):
        renyi_gaussians([0.0], [[1.0]], [0.0], [[1.0]], order=order)
