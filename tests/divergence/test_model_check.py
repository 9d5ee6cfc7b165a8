"""Checks of the model: quiet on Gaussians of equal covariance, loud on what is not."""

import numpy as np
import pytest
import torch

from expunge.divergence.gaussian import renyi_gaussians
from expunge.divergence.hotelling import moments
from expunge.divergence.model_check import objections, variance_part
from tests.divergence.laws import shifted


def heard(p, q):
    return " ".join(objections(p, q, moments(p, q).direction))


def test_the_model_itself_is_rarely_objected_to():
    """Four checks at 1e-4 each: 60 repetitions raise more than one with probability 3e-4."""
    loud = sum(bool(heard(*shifted(500, 6, 1.0, seed=seed))) for seed in range(60))
    assert loud <= 1


def test_unequal_covariances_are_noticed():
    p, q = shifted(2000, 5, 0.0, seed=0)
    assert "covariance" in heard(1.3 * p, q)


def test_unequal_variance_along_the_shift_is_noticed_in_many_dimensions():
    p, q = shifted(4000, 300, 0.0, seed=0)
    p[:, 0] = 1.5 * p[:, 0] + 3
    assert "variances along the direction of the shift" in heard(p, q)


def test_heavy_tails_are_noticed():
    torch.manual_seed(0)
    heavy = torch.distributions.StudentT(3.0).sample((3000, 4)).double()
    _, q = shifted(3000, 4, 0.0, seed=0)
    assert "tails" in heard(heavy, q)


@pytest.mark.parametrize("order", [1.5, 2.0, 4.0])
def test_the_variance_part_along_a_line_is_the_closed_form(order):
    rng = np.random.default_rng(0)
    p, q = 0.9 * rng.standard_normal(4000), rng.standard_normal(4000)
    value, (low, high) = variance_part(p, q, order=order)
    exact = renyi_gaussians(
        [0.0], [[p.var(ddof=1)]], [0.0], [[q.var(ddof=1)]], order=order
    ).covariance
    assert value == pytest.approx(exact, rel=1e-9)
    truth = renyi_gaussians([0.0], [[0.81]], [0.0], [[1.0]], order=order).covariance
    assert low <= truth <= high


def test_equal_variances_have_zero_inside():
    rng = np.random.default_rng(1)
    _, (low, high) = variance_part(rng.normal(size=999), rng.normal(size=999), order=2.0)
    assert low == 0 < high
