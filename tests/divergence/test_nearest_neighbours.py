"""Nearest neighbours on a line: close to the truth without a model of the laws."""

import numpy as np
import pytest

from expunge.divergence.nearest_neighbours import nearest_neighbours


def lines(divergence, count=20_000, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(np.sqrt(divergence), 1, count), rng.normal(0, 1, count)


@pytest.mark.parametrize("divergence", [0.0, 0.5, 1.0])
def test_it_is_near_the_truth_for_gaussians(divergence):
    """EVIDENCE: .477 for .5 and .924 for 1 on average; a single value scatters by about .03."""
    assert nearest_neighbours(*lines(divergence), order=2.0) == pytest.approx(divergence, abs=0.15)


def test_it_sees_laws_that_differ_in_shape_only():
    rng = np.random.default_rng(0)
    uniform = rng.uniform(-np.sqrt(3), np.sqrt(3), 20_000)
    assert nearest_neighbours(uniform, rng.normal(size=20_000), order=2.0) > 0.05


def test_scale_and_shift_of_both_do_not_matter():
    p, q = lines(0.5, count=2000)
    plain = nearest_neighbours(p, q, order=2.0)
    assert nearest_neighbours(5 * p + 3, 5 * q + 3, order=2.0) == pytest.approx(plain, rel=1e-6)


@pytest.mark.parametrize(("order", "neighbours"), [(1.0, 5), (-1.0, 5), (8.0, 5)])
def test_orders_that_it_cannot_do_are_refused(order, neighbours):
    with pytest.raises(ValueError, match="order"):
        nearest_neighbours(*lines(0.5, count=50), order=order, neighbours=neighbours)
