"""Normals against the normal law, tails included; streams; and uniforms that follow their key.

System noise cannot be seeded: a correct source fails a test with probability 1e-9 at most, by exact
laws and union bounds.
"""

import math
import os

import mpmath
import numpy as np
import pytest
import torch
from scipy.stats import chi2, norm

from expunge.core.randomness import NORMAL_ERROR, keyed_uniform, normal_source
from tests.core.chances import RARE, lagged_limit, two_sided

COUNT = 1_000_000
ONCE_IN_A_MILLION = 1e-6


def empty(*shape, dtype=torch.float64):
    return torch.zeros(*shape, dtype=dtype)


def faults_of(draws):
    """Which checks a sample of standard normals fails; by chance any, with probability RARE."""
    n, failed, each = len(draws), set(), RARE / 12
    if 2 * norm.sf(abs(draws.sum()) / math.sqrt(n)) < each:  # the sum is normal
        failed.add("moment 1")
    squares = (draws**2).sum()  # chi-square with n degrees of freedom
    if 2 * min(chi2.sf(squares, n), chi2.cdf(squares, n)) < each:
        failed.add("moment 2")
    ordered = norm.cdf(np.sort(draws))
    gap = max((np.arange(1, n + 1) / n - ordered).max(), (ordered - np.arange(n) / n).max())
    if gap > math.sqrt(math.log(2 / each) / (2 * n)):  # Massart 1990
        failed.add("distribution")
    for edge in (2.0, 3.0, 4.0, 4.5):
        for beyond in (int((draws > edge).sum()), int((draws < -edge).sum())):
            if two_sided(beyond, n, norm.sf(edge)) < each:
                failed.add(f"tail {edge:g}")
    return failed


@pytest.mark.system_randomness
@pytest.mark.parametrize("seed", [None, 0])
def test_normals_follow_the_normal_law(seed):
    assert faults_of(normal_source(seed)(empty(COUNT)).numpy()) == set()


def test_the_checks_catch_planted_faults():
    rng = np.random.default_rng(0)
    z = rng.normal(size=COUNT)
    assert faults_of(z) == set()
    assert "moment 2" in faults_of(1.01 * z)
    assert "moment 1" in faults_of(z + 0.01)
    assert "tail 3" in faults_of(rng.random((12, COUNT)).sum(0) - 6)
    assert "tail 4" in faults_of(np.clip(z, -3.9, 3.9))
    assert "tail 3" in faults_of(np.where(z < 0, z, np.abs(z) * 0.95))
    assert "distribution" in faults_of(np.round(z, 1))


@pytest.mark.system_randomness
def test_successive_normals_are_uncorrelated():
    z = normal_source(None)(empty(COUNT)).numpy()
    for lag in (1, 2, COUNT // 2):
        assert abs(z[lag:] @ z[:-lag]) < lagged_limit(COUNT - lag, RARE / 3)
    moving = z[1:] + 0.1 * z[:-1]
    assert abs(moving[1:] @ moving[:-1]) > lagged_limit(COUNT - 2, RARE / 3)  # 100 deviations


@pytest.mark.system_randomness
def test_the_sign_is_independent_of_the_size():
    """A shared bit would tie them: the mantissa takes the top 52 bits, the sign the lowest."""
    z = normal_source(None)(empty(COUNT)).numpy()
    parity = (np.abs(z) * 2.0**40).astype(np.int64) & 1
    both = int(((z > 0) == (parity == 1)).sum())
    assert two_sided(both, COUNT, 0.5) > RARE


def from_words(monkeypatch, mantissas, exponents):
    """Normals made from these 64-bit words instead of the system's."""
    words = np.array([mantissas, exponents], dtype=np.uint64).tobytes()
    monkeypatch.setattr(os, "urandom", lambda size: words[:size])
    return normal_source(None)(empty(len(mantissas))).numpy()


def test_system_normals_are_the_inverse_of_their_bits_in_both_tails(monkeypatch):
    """+-Phi^-1(u/2) at 40 digits, u down to 2^-54: an error of at most NORMAL_ERROR."""
    rng = np.random.default_rng(1)
    mantissas = rng.integers(0, 2**64, 200, dtype=np.uint64)
    shifts = rng.integers(0, 64, 200).astype(np.uint64)
    exponents = rng.integers(2**63, 2**64, 200, dtype=np.uint64) >> shifts
    drawn = from_words(monkeypatch, mantissas, exponents)
    with mpmath.workdps(40):
        for z, mantissa, exponent in zip(drawn, mantissas, exponents, strict=True):
            leading = (int(exponent) >> 11).bit_length()
            u = (1 + mpmath.mpf(int(mantissa) >> 12) / 2**52) * mpmath.mpf(2) ** (leading - 54)
            assert (z > 0) == (int(mantissa) & 1 == 0)
            slope = mpmath.npdf(z)
            assert abs(mpmath.ncdf(-abs(mpmath.mpf(float(z)))) - u / 2) / slope < NORMAL_ERROR


def test_the_extreme_words_give_finite_normals(monkeypatch):
    least, most = 0, 2**64 - 1
    drawn = from_words(monkeypatch, [least, least, most, most], [least, most, least, most])
    assert np.isfinite(drawn).all()
    assert np.abs(drawn).max() == pytest.approx(-norm.ppf(2.0**-55), rel=1e-12)


@pytest.mark.system_randomness
def test_the_system_source_never_repeats():
    """100 pairs of draws with 52 bits after the leading one: two agree with chance 2e-14."""
    source = normal_source(None)
    torch.manual_seed(0)
    first = source(empty(50))
    torch.manual_seed(0)
    assert not (first == source(empty(50))).any()
    assert not (first == normal_source(None)(empty(50))).any()


def test_a_seeded_stream_is_repeatable_and_moves_on():
    source, again = normal_source(7), normal_source(7)
    first, second = source(empty(50)), source(empty(50))
    assert torch.equal(first, again(empty(50)))
    assert torch.equal(second, again(empty(50)))
    assert not (first == second).any()


def test_a_seeded_stream_leaves_the_global_generator_alone():
    before = torch.get_rng_state()
    normal_source(7)(empty(50))
    assert torch.equal(torch.get_rng_state(), before)


def test_streams_and_seeds_are_independent():
    """Pairwise products of independent normals: mean 0, standard error 1/sqrt(n)."""
    n = 100_000
    drawn = [
        normal_source(seed, stream)(empty(n))
        for seed in (0, 1, 2, 12345)
        for stream in ("init", "noise", "batches")
    ]
    for i, first in enumerate(drawn):
        for second in drawn[:i]:
            assert abs(float((first * second).mean())) < 5.5 / math.sqrt(n)


@pytest.mark.parametrize("seed", [None, 3])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_noise_has_the_shape_and_precision_of_its_argument(seed, dtype):
    drawn = normal_source(seed)(empty(3, 2, 5, dtype=dtype))
    assert drawn.shape == (3, 2, 5)
    assert drawn.dtype == dtype


# ---- keyed uniforms ---------------------------------------------------------------------------


def test_a_keyed_uniform_depends_on_seed_key_and_step_only():
    """THEORY 2.5: whether a record is drawn does not depend on which others are there."""
    keys = torch.randint(0, 2**62, (1000,), generator=torch.Generator().manual_seed(0))
    together = keyed_uniform(keys, 5, 9)
    order = torch.randperm(1000, generator=torch.Generator().manual_seed(1))
    assert torch.equal(keyed_uniform(keys[order], 5, 9), together[order])
    kept = order[:137]
    assert torch.equal(keyed_uniform(keys[kept], 5, 9), together[kept])
    for i in range(0, 1000, 97):
        assert float(keyed_uniform(keys[i : i + 1], 5, 9)) == float(together[i])


def chi_square_p(uniforms, bins=256):
    observed = np.bincount((np.asarray(uniforms) * bins).astype(int), minlength=bins)
    expected = len(uniforms) / bins
    return chi2.sf(((observed - expected) ** 2 / expected).sum(), bins - 1)


@pytest.mark.parametrize("seed", [0, 1, 2**40 + 1, -3])
@pytest.mark.parametrize("step", [0, 1, 1000])
def test_keyed_uniforms_are_uniform_over_consecutive_keys(seed, step):
    uniforms = keyed_uniform(torch.arange(1 << 16), seed, step).numpy()
    assert uniforms.min() >= 0
    assert uniforms.max() < 1
    assert chi_square_p(uniforms) > ONCE_IN_A_MILLION
    assert chi_square_p(uniforms * 256 % 1) > ONCE_IN_A_MILLION
    assert chi_square_p(uniforms * 2.0**32 % 1) > ONCE_IN_A_MILLION


def test_the_uniformity_check_catches_planted_faults():
    """A bent law, and a mixer that only multiplies: golden-ratio steps, far too even."""
    uniforms = keyed_uniform(torch.arange(1 << 16), 3, 1).numpy()
    assert chi_square_p(uniforms**1.1) < ONCE_IN_A_MILLION
    weak = np.arange(1 << 16) * 0.6180339887498949 % 1
    assert chi_square_p(weak) > 1 - ONCE_IN_A_MILLION
    assert chi_square_p(uniforms) < 1 - ONCE_IN_A_MILLION


def test_one_key_is_uniform_over_steps():
    key = torch.tensor([123456789])
    uniforms = [float(keyed_uniform(key, 4, step)) for step in range(20_000)]
    assert chi_square_p(np.array(uniforms), bins=64) > ONCE_IN_A_MILLION


def test_seeds_and_steps_draw_different_uniforms():
    keys = torch.arange(10_000)
    reference = keyed_uniform(keys, 5, 9)
    for seed, step in ((5, 10), (6, 9), (-5, 9)):
        other = keyed_uniform(keys, seed, step)
        correlation = float(12 * ((reference - 0.5) * (other - 0.5)).mean())
        assert abs(correlation) < 5.5 / math.sqrt(len(keys))
        assert not torch.equal(reference, other)
