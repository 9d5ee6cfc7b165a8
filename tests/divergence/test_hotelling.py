"""Hotelling: unbiased, invariant, and its interval covers as often as it says.

The sample mean of R repeated values has standard error std/sqrt(R); tolerances are five of them.
Coverage of R intervals at 95 % is binomial; its 99.9 % band is the test.
"""

import numpy as np
import pytest
import torch
from scipy import stats

from expunge.divergence.hotelling import as_samples, hotelling, moments
from tests.divergence.laws import shifted


def estimates(repetitions, *, count, dimension, divergence, rotated=False, metric=None):
    found = []
    for seed in range(repetitions):
        p, q = shifted(count, dimension, divergence, seed=seed, rotated=rotated)
        if metric is not None:
            p, q = metric(p, q)
        found.append(hotelling(moments(p, q), order=2.0))
    return found


def covered(found, divergence):
    return sum(e.interval[0] <= divergence <= e.interval[1] for e in found)


def band(repetitions, level=0.95):
    return stats.binom.interval(0.999, repetitions, level)


@pytest.mark.parametrize("rotated", [False, True])
@pytest.mark.parametrize("divergence", [0.0, 0.5, 3.0])
def test_it_is_unbiased_and_its_interval_covers(divergence, rotated):
    found = estimates(120, count=400, dimension=20, divergence=divergence, rotated=rotated)
    values = np.array([e.value for e in found])
    assert abs(values.mean() - divergence) < 5 * values.std(ddof=1) / np.sqrt(len(values))
    low, high = band(len(found))
    assert low <= covered(found, divergence) <= high


def test_the_value_is_negative_about_half_the_time_when_the_laws_are_equal():
    values = np.array([e.value for e in estimates(100, count=300, dimension=40, divergence=0.0)])
    assert 20 < (values < 0).sum() < 80


def test_forgetting_the_correction_is_caught():
    """The plain squared Mahalanobis distance, which the literature often reports, is far off."""
    found = []
    for seed in range(40):
        p, q = shifted(400, 20, 0.5, seed=seed)
        found.append(moments(p, q).statistic)
    found = np.array(found)
    assert abs(found.mean() - 0.5) > 5 * found.std(ddof=1) / np.sqrt(len(found))


@pytest.mark.slow
@pytest.mark.parametrize("divergence", [0.0, 0.5])
def test_coverage_in_200_dimensions(divergence):
    found = estimates(400, count=3000, dimension=200, divergence=divergence)
    low, high = band(len(found))
    assert low <= covered(found, divergence) <= high
    mean = np.mean([e.value for e in found])
    assert abs(mean - divergence) <= 0.02 * divergence + 0.008


def test_a_scalar_metric_fails_where_eigenvalues_differ():
    """Negative control: whitening by the mean variance measures something else."""

    def scalar(p, q):
        scale = torch.cat([p, q]).var(0).mean().sqrt()
        return (p / scale)[:, :1], (q / scale)[:, :1]

    found = estimates(60, count=400, dimension=20, divergence=3.0, rotated=True, metric=scalar)
    assert covered(found, 3.0) < band(60)[0]


def test_it_does_not_change_under_affine_maps():
    p, q = shifted(300, 8, 1.0, seed=0)
    generator = torch.Generator().manual_seed(1)
    matrix = torch.randn(8, 8, generator=generator, dtype=torch.float64)
    moved = [samples @ matrix + 7 for samples in (p, q)]
    plain, mapped = (hotelling(moments(*pair), order=2.0) for pair in ((p, q), moved))
    assert mapped.value == pytest.approx(plain.value, rel=1e-9)
    assert mapped.interval == pytest.approx(plain.interval, rel=1e-7)


def test_the_normal_law_takes_over_without_a_jump(monkeypatch):
    from expunge.divergence import hotelling as module

    p, q = shifted(1500, 300, 1.0, seed=0)
    found = moments(p, q)
    exact = hotelling(found, order=2.0).interval
    monkeypatch.setattr(module, "NORMAL_FROM", 1)
    assert hotelling(found, order=2.0).interval == pytest.approx(exact, rel=0.02)


def test_orders_scale_and_directions_agree():
    p, q = shifted(500, 5, 1.0, seed=0)
    two, eight = (hotelling(moments(p, q), order=order) for order in (2.0, 8.0))
    assert eight.value == pytest.approx(4 * two.value)
    assert hotelling(moments(q, p), order=2.0).value == pytest.approx(two.value)


def test_float32_samples_agree_with_float64():
    p, q = shifted(800, 50, 0.5, seed=0)
    wide = hotelling(moments(p, q), order=2.0).value
    narrow = hotelling(moments(p.float(), q.float()), order=2.0).value
    assert narrow == pytest.approx(wide, rel=1e-4)


def test_too_few_samples_are_refused_with_the_remedy():
    p, q = shifted(100, 80, 0.5, seed=0)
    with pytest.raises(ValueError, match=r"needs at least 250; project"):
        hotelling(moments(p, q), order=2.0)


@pytest.mark.parametrize(
    ("samples", "problem"), [([[1.0], [2.0]], "too few"), ([[np.nan]] * 9, "finite")]
)
def test_samples_that_cannot_be_used_are_refused(samples, problem):
    with pytest.raises(ValueError, match=problem):
        as_samples(samples)


def test_stacked_heads_and_integers_become_rows_of_floats():
    assert as_samples(np.ones((5, 2, 3), dtype=int)).shape == (5, 6)
    assert as_samples(torch.ones(5, 2)).dtype == torch.float32
