"""Coupled pairs: the same value as independent models, with hundreds of times fewer of them."""

import numpy as np
import pytest
import torch

from expunge.divergence.coupled import coupled
from expunge.divergence.hotelling import hotelling, moments
from tests.divergence.laws import shifted


def pairs(count, dimension, shift, *, spread, seed):
    """Models of unit variance whose differences are `shift` in norm, and scatter by `spread`."""
    generator = torch.Generator().manual_seed(seed)
    models = torch.randn(count, dimension, generator=generator, dtype=torch.float64)
    moved = spread * torch.randn(count, dimension, generator=generator, dtype=torch.float64)
    moved[:, 0] += shift
    return models + moved, models


def test_it_is_unbiased_and_its_interval_covers():
    found = []
    for seed in range(150):
        of, against = pairs(32, 50, 0.5, spread=0.05, seed=seed)
        found.append(coupled(of=of, against=against, precision=1.0))
    values = np.array([e.value for e in found])
    assert abs(values.mean() - 0.25) < 5 * values.std(ddof=1) / np.sqrt(len(values))
    inside = sum(e.interval[0] <= 0.25 <= e.interval[1] for e in found)
    assert inside >= 127  # 0.1 % quantile of 150 at 95 % is 133; a jackknife at 32 pairs loses some


def test_the_squared_mean_without_correction_is_caught():
    values = []
    for seed in range(40):
        of, against = pairs(32, 50, 0.0, spread=0.3, seed=seed)
        values.append(float((of - against).mean(0).square().sum()))
    values = np.array(values)
    assert abs(values.mean()) > 5 * values.std(ddof=1) / np.sqrt(len(values))


def test_its_error_is_a_hundred_times_smaller_than_that_of_independent_models():
    of, against = pairs(32, 20, 0.2, spread=0.001, seed=0)
    fine = coupled(of=of, against=against, precision=1.0)
    rough = hotelling(moments(*shifted(3000, 20, 0.04, seed=0)), order=2.0)
    assert fine.value == pytest.approx(0.04, rel=0.02)
    width = [e.interval[1] - e.interval[0] for e in (fine, rough)]
    assert width[1] > 100 * width[0]


def test_a_covariance_can_be_a_function():
    of, against = pairs(32, 6, 0.5, spread=0.01, seed=0)
    scales = torch.linspace(1, 4, 6).double()
    plain = coupled(of=of * scales, against=against * scales, precision=lambda v: v / scales**2)
    assert plain.value == pytest.approx(coupled(of=of, against=against, precision=1.0).value)


def test_it_says_when_coupling_does_not_help():
    of, against = pairs(32, 200, 0.1, spread=2.0, seed=0)
    assert "does not help" in coupled(of=of, against=against, precision=1.0).notes[0]
    of, against = pairs(32, 200, 0.5, spread=0.01, seed=0)
    assert coupled(of=of, against=against, precision=1.0).notes == ()


def test_samples_that_are_not_pairs_are_refused():
    of, against = pairs(32, 5, 0.1, spread=0.1, seed=0)
    with pytest.raises(ValueError, match="pairs"):
        coupled(of=of[:-1], against=against, precision=1.0)
