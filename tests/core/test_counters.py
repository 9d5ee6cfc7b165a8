"""Numbers by position: SplitMix64's own answers, the normal law, the same bits in any layout."""

import hashlib
import math

import numpy as np
import pytest
import torch
from scipy.stats import chi2, norm

from expunge.core import counters

COUNT = 400_000


def drawn(seed=0, models=400, count=1000):
    return counters.normals(counters.stream(seed, "test"), 0, models, count)


def faults_of(draws):
    """Which checks a sample of standard normals fails; each fails by chance once in a million."""
    n, failed = len(draws), set()
    moments = {1: (0, 1), 2: (1, 2), 3: (0, 15), 4: (3, 96)}  # mean and variance of z^k
    for power, (mean, variance) in moments.items():
        if abs((draws**power).mean() - mean) > 5 * math.sqrt(variance / n):
            failed.add(f"moment {power}")
    ordered = norm.cdf(np.sort(draws))
    gap = max((np.arange(1, n + 1) / n - ordered).max(), (ordered - np.arange(n) / n).max())
    if gap > math.sqrt(math.log(2e6) / (2 * n)):  # Massart 1990
        failed.add("distribution")
    return failed


def test_words_are_splitmix64():
    """The first outputs from state 0, as in the published reference code (Vigna 2015)."""
    known = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
    assert [word % 2**64 for word in counters.words(0, 0, 3).tolist()] == known


def test_normals_follow_the_normal_law():
    draws = drawn().flatten().double().numpy()
    assert faults_of(draws) == set()


@pytest.mark.parametrize("fault", ["scale", "shift", "clipped", "radius only"])
def test_a_wrong_law_would_be_caught(fault):
    draws = drawn().flatten().double().numpy()
    wrong = {
        "scale": 1.01 * draws,
        "shift": draws + 0.01,
        "clipped": draws.clip(-2.5, 2.5),
        "radius only": np.sign(draws) * np.sqrt(draws**2 + draws[::-1] ** 2) / math.sqrt(2),
    }
    assert faults_of(wrong[fault])


def test_normals_are_box_muller_of_their_bits():
    """Within the stated polynomials' errors, where the radius is not tiny."""
    key = counters.stream(1, "bits")
    word = counters.words(key, 0, 50_000).view(1, -1)
    low, high = (word.to(torch.int32) | 1).double(), (word >> 32).double() * 2.0**-31
    radius = torch.sqrt(-2 * torch.log(low.abs() * 2.0**-31)) * low.sign()
    exact = torch.cat(
        [radius * torch.cos(math.pi / 2 * high), radius * torch.sin(math.pi / 2 * high)]
    )
    got = counters.normals(key, 0, 1, 100_000).view(2, -1).double()
    size = radius.abs()
    rounding = 8 * 2.0**-24 * (1 + size)
    assert ((got - exact).abs() < 4e-7 / size.clamp_min(1e-3) + rounding)[:, size[0] > 0.01].all()


def test_models_pairs_and_steps_are_uncorrelated():
    """Between the pair of a word, neighbours, models and streams: 5 standard errors."""
    one, other = drawn(0).double(), drawn(1).double()
    pairs = one.view(400, 2, 500)
    products = {
        "pair": pairs[:, 0] * pairs[:, 1],
        "neighbours": one[:, 1:] * one[:, :-1],
        "models": one[1:] * one[:-1],
        "streams": one * other,
        "squares of a pair": (pairs[:, 0] ** 2 - 1) * (pairs[:, 1] ** 2 - 1) / 2,
        "squares of models": (one[1:] ** 2 - 1) * (one[:-1] ** 2 - 1) / 2,
    }
    for name, product in products.items():
        assert abs(product.mean()) < 5 / math.sqrt(product.numel()), name


@pytest.mark.parametrize("count", [1, 7, 64])
def test_layout_does_not_matter(count):
    key = counters.stream(5, "layout")
    whole = counters.normals(key, 0, 30, count)
    parts = [counters.normals(key, first, 10, count) for first in (0, 10, 20)]
    assert torch.equal(whole, torch.cat(parts))
    uniforms = counters.uniforms(key, 0, 30, count)
    assert torch.equal(uniforms[11:13], counters.uniforms(key, 11, 2, count))


def test_pieces_do_not_matter(monkeypatch):
    whole = drawn()
    monkeypatch.setattr(counters, "PIECE", 3000)
    assert torch.equal(whole, drawn())


def test_bits_are_those_committed():
    """Every machine must draw these: additions, products and roots rounded as IEEE 754 says."""
    digest = hashlib.sha256(drawn().numpy().tobytes()).hexdigest()
    assert digest == DIGEST


def test_the_root_is_correctly_rounded():
    """torch's own is not, on some builds: normals would then differ between machines."""
    x = torch.linspace(0.001, 40, 100_001)
    exact = torch.from_numpy(np.sqrt(x.double().numpy())).float()
    assert torch.equal(counters._root_(x.clone()), exact)


def test_uniforms_are_uniform():
    cells = 100
    draws = counters.uniforms(counters.stream(0, "uniform"), 0, 400, 1000).flatten()
    assert draws.abs().max() < 1
    counts = torch.histc(draws, cells, -1, 1)
    statistic = float(((counts - COUNT / cells) ** 2).sum() / (COUNT / cells))
    assert chi2.sf(statistic, cells - 1) > 1e-6


def test_permutations_are_permutations_and_differ():
    everyone = torch.ones(40, dtype=torch.bool)
    mixed = counters.permutations(7, 0, 50, everyone)
    assert torch.equal(mixed.sort(dim=1).values, torch.arange(40).expand(50, 40))
    assert len({tuple(row.tolist()) for row in mixed}) == 50
    assert torch.equal(mixed[20:30], counters.permutations(7, 20, 10, everyone))
    fewer = everyone.clone()
    fewer[:7] = False
    kept = [[item for item in row if item >= 7] for row in mixed.tolist()]
    assert counters.permutations(7, 0, 50, fewer).tolist() == kept
    places = mixed[:, 0].double().mean()
    assert abs(places - 19.5) < 5 * math.sqrt((40**2 - 1) / 12 / 50)


def test_streams_differ_by_every_label():
    keys = {
        counters.stream(seed, name, step) for seed in (0, 1) for name in "ab" for step in (0, 1)
    }
    assert len(keys) == 8


@pytest.mark.gpu
def test_a_gpu_draws_the_same_bits():
    key = counters.stream(0, "gpu")
    for draw in (counters.normals, counters.uniforms):
        here, there = (draw(key, 3, 50, 999, device) for device in ("cpu", "cuda"))
        assert torch.equal(here, there.cpu())
    present = torch.arange(999) % 7 > 0
    here, there = (counters.permutations(key, 3, 50, present.to(d)) for d in ("cpu", "cuda"))
    assert torch.equal(here, there.cpu())


DIGEST = "d0eed75f71a67b6889b7c967d724368c1420ae898c8ed923ebcb2736b3c46fdf"
