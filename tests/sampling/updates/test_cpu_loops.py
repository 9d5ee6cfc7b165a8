"""Compiled loops draw the bits that torch passes draw; update and softmax are their formulas."""

import numpy as np
import pytest
import torch

from expunge.core import counters

loops = pytest.importorskip("expunge.sampling.updates.cpu_loops", exc_type=ImportError)

KEYS = [0, 1, -1, 2**63 - 1, -(2**63), counters.stream(3, "loops")]
SHAPES = [(1, 1), (3, 2), (2, 511), (2, 512), (2, 513), (5, 1027), (1, 9216), (64, 77)]


def unsigned(key):
    return np.uint64(key % 2**64)


def in_passes(key, first, models, count):
    return counters.normals(key, first, models, count)


def in_loops(key, first, models, count, loop=None):
    out = np.empty((models, 2, counters.half(count)), np.float32)
    (loop or loops.normals)(unsigned(key), first, out)
    return torch.from_numpy(out).view(models, -1)[:, :count]


def updated(weights, gradient, key=7, first=0, shrink=1.0, rate=0.0, noise_std=0.0, radius=np.inf):
    out, scalars = weights.copy(), map(np.float32, (shrink, rate, noise_std))
    loops.update(out, gradient, unsigned(key), first, *scalars, radius)
    return out


def made(models, count, seed=0):
    generator = np.random.default_rng(seed)
    return generator.standard_normal((2, models, count)).astype(np.float32)


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("first", [0, 5, 2**31 + 3])
def test_normals_have_the_bits_of_torch_passes(key, first):
    for models, count in SHAPES:
        assert torch.equal(
            in_loops(key, first, models, count), in_passes(key, first, models, count)
        )


def test_a_million_normals_have_the_same_bits():
    key = counters.stream(4, "many")
    assert torch.equal(in_loops(key, 11, 100, 10_001), in_passes(key, 11, 100, 10_001))


@pytest.mark.parametrize("fault", ["contracted", "another order"])
def test_other_rounding_would_be_caught(fault):
    """The logarithm's polynomial with products and sums rounded together, or summed by powers."""
    words = counters.words(7, 0, 10_000)
    signed = (words.to(torch.int32) | 1).float().abs()
    m = (signed.frexp().mantissa * 2 - 1.5).float()
    right = counters._polynomial(counters.LOG, m, torch.empty_like(m))
    if fault == "contracted":
        wrong = torch.full_like(m, counters.LOG[-1])
        for coefficient in counters.LOG[-2::-1]:
            wrong = (wrong.double() * m.double() + coefficient).float()
    else:
        wrong = sum(c * m**i for i, c in enumerate(counters.LOG))
    torch.testing.assert_close(wrong, right, rtol=0, atol=1e-6)
    assert not torch.equal(wrong, right)


def test_fast_mathematics_would_be_caught():
    """The same loops compiled with leave to contract and reorder: bits differ somewhere."""
    import numba

    source = loops._box_muller.py_func
    fast = numba.njit(fastmath=True)(source)
    words = counters.words(7, 0, 100_000)
    low = (words.to(torch.int32) | 1).numpy()
    high = (words >> 32).to(torch.int32).numpy()
    drawn = [[np.empty(len(low), np.float32) for _ in range(2)] for _ in range(2)]
    for loop, out in zip((loops._box_muller, fast), drawn, strict=True):
        loop(low, high, *out, len(low))
    np.testing.assert_allclose(drawn[0], drawn[1], rtol=0, atol=1e-4)
    assert not np.array_equal(drawn[0], drawn[1])


@pytest.mark.parametrize("shape", SHAPES)
def test_update_adds_the_normals_of_the_model(shape):
    zero = np.zeros(shape, np.float32)
    got = updated(zero, zero, key=-3, first=9, noise_std=1.0)
    assert torch.equal(torch.from_numpy(got), in_passes(-3, 9, *shape))


@pytest.mark.parametrize("shape", SHAPES)
def test_update_is_the_formula_rounded_once_an_operation(shape):
    weights, gradient = made(*shape)
    xi = in_passes(7, 2, *shape).numpy()
    got = updated(weights, gradient, first=2, shrink=0.9, rate=0.3, noise_std=0.05)
    shrink, rate, noise_std = map(np.float32, (0.9, 0.3, 0.05))
    assert np.array_equal(got, weights * shrink - gradient * rate + xi * noise_std)
    quiet = updated(weights, gradient, shrink=0.9, rate=0.3)
    assert np.array_equal(quiet, weights * shrink - gradient * rate)


@pytest.mark.parametrize("shape", SHAPES)
def test_projection_is_the_identity_inside_and_radial_outside(shape):
    weights, gradient = made(*shape)
    norms = np.linalg.norm(weights.astype(np.float64), axis=1)
    radius = float(np.median(norms)) * (0.5 if len(norms) == 1 else 1.0)
    got = updated(weights, gradient, radius=radius)
    inside = norms <= radius
    assert np.array_equal(got[inside], weights[inside])
    expected = weights[~inside] * (radius / norms[~inside])[:, None]
    np.testing.assert_allclose(got[~inside], expected, rtol=2e-7)
    assert (~inside).any()


def test_norms_neither_overflow_nor_vanish():
    for size in (1e30, 1e-30):
        weights = np.full((1, 600), size, np.float32)
        got = updated(weights, weights, radius=size)
        np.testing.assert_allclose(np.linalg.norm(got.astype(np.float64)), size, rtol=1e-6)


@pytest.mark.parametrize("rows", [1, 255, 256, 700])
@pytest.mark.parametrize("spread", [0.1, 3.0, 30.0])
def test_softmax_is_within_its_stated_error(rows, spread):
    scores = (made(3 * 24, rows)[0] * np.float32(spread)).reshape(3, 24, rows)
    exact = torch.softmax(torch.from_numpy(scores).double(), 1).numpy()
    below = scores.max(axis=1, keepdims=True) - scores
    got = scores.copy()
    loops.softmax(got)
    assert (abs(got - exact) <= (4 + 24 / 2 + below) * 2.0**-23 * exact + 1e-37).all()


def test_softmax_of_extreme_scores_is_finite():
    scores = np.array([[[3e38], [-3e38], [0.0]]], np.float32)
    loops.softmax(scores)
    assert scores[0, 0, 0] == 1
    assert (scores[0, 1:, 0] < 1e-37).all()


def test_vectors_are_packed_and_nothing_is_contracted(monkeypatch):
    """What the compiler makes of the loop, on x86: packed roots, no fused multiply-add."""
    from numba.core import caching

    monkeypatch.setattr(caching.CompileResultCacheImpl, "_locator_classes", [])
    loop, words = loops._compiled(loops._box_muller.py_func), np.ones(4, np.int32)
    loop(words, words, *np.empty((2, 4), np.float32), 4)
    code = "".join(loop.inspect_asm().values())
    if "xmm" not in code:
        pytest.skip("not an x86")
    assert "sqrtps" in code
    assert "vfmadd" not in code


def test_without_a_place_for_compiled_code_it_is_compiled_again(monkeypatch):
    """A read-only installation of a user without a home."""
    from numba.core import caching

    monkeypatch.setattr(caching.CompileResultCacheImpl, "_locator_classes", [])
    loop = loops._compiled(loops._moved.py_func)
    weights, gradient = made(1, 40)
    expected = weights[0] * np.float32(0.5)
    loop(weights[0], gradient[0], gradient[0], *map(np.float32, (0.5, 0, 0)))
    assert np.array_equal(weights[0], expected)
