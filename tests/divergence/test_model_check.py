"""Checks of the model: quiet on Gaussians of equal covariance, loud on what is not."""

import numpy as np
import pytest
import torch
from scipy import stats
from scipy.optimize import brentq

from expunge.divergence.hotelling import moments
from expunge.divergence.model_check import UNLIKELY, _along, _heavy, objections
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


# Each check may err in two directions, so that each direction gets half of UNLIKELY. Samples are
# bent until they lie just inside and just outside: a check that forgets the half objects to both.


@pytest.mark.parametrize("larger", ["of", "against"])
@pytest.mark.parametrize(("tail", "objects"), [(0.6, False), (0.4, True)])
def test_variances_are_compared_in_both_directions_at_half_the_chance_each(larger, tail, objects):
    """With samples of unequal size the two tails differ: F(199, 1999) is not F(1999, 199)."""
    rng, freedom = np.random.default_rng(0), (199, 1999)
    first, second = rng.standard_normal(200), rng.standard_normal(2000)
    limit = stats.f.isf if larger == "of" else stats.f.ppf
    ratio = limit(tail * UNLIKELY, *freedom)
    first *= np.sqrt(ratio * second.var(ddof=1) / first.var(ddof=1))
    assert bool(_along(first, second)) is objects


@pytest.mark.parametrize("sign", [1, -1], ids=["heavy", "light"])
@pytest.mark.parametrize(("tail", "objects"), [(0.6, False), (0.4, True)])
def test_tails_along_the_shift_may_be_heavier_or_lighter_at_half_the_chance_each(
    sign, tail, objects
):
    drawn = np.random.default_rng(0).standard_normal((2, 2000))
    wanted = sign * stats.norm.isf(tail * UNLIKELY) * np.sqrt(24 / 2000)
    power = brentq(lambda p: stats.kurtosis(bent(drawn[0], p)) - wanted, 0.7, 1.4, xtol=1e-12)
    first = bent(drawn[0], power)
    first *= drawn[1].std() / first.std()
    assert bool(_along(first, drawn[1])) is objects


@pytest.mark.parametrize("sign", [1, -1], ids=["heavy", "light"])
@pytest.mark.parametrize(("tail", "objects"), [(0.6, False), (0.4, True)])
def test_tails_in_all_directions_may_be_heavier_or_lighter_at_half_the_chance_each(
    sign, tail, objects
):
    """Mardia's kurtosis of whitened samples is the mean fourth power of their lengths."""
    count, d = 2000, 4
    drawn = torch.randn(count, d, generator=torch.Generator().manual_seed(0)).double()
    expected = d * (d + 2) * (count - 1) / (count + 1)
    error = np.sqrt(8 * d * (d + 2) / count)
    wanted = expected + sign * stats.norm.isf(tail * UNLIKELY) * error
    power = brentq(lambda p: mardia(bent(drawn, p)) - wanted, 0.7, 1.4, xtol=1e-12)
    samples = bent(drawn, power)
    assert bool(_heavy(samples, torch.cov(samples.T))) is objects


def bent(samples, power):
    """Heavier tails for a power above 1, lighter ones below."""
    return (samples / abs(samples)) * abs(samples) ** power


def mardia(samples):
    centred = samples - samples.mean(0)
    lengths = (centred @ torch.linalg.inv(torch.cov(samples.T)) * centred).sum(1)
    return float(lengths.square().mean())
