"""Compiled loops serve what is large, single and on a CPU; without numba torch passes do."""

import hashlib
import subprocess
import sys
from types import SimpleNamespace

import pytest
import torch

from expunge.core import counters
from expunge.sampling.updates import cpu_kernels
from tests.core.test_counters import DIGEST

LARGE = torch.zeros(64, 2, 4096)
WITH_NUMBA = cpu_kernels.serves(LARGE)
needs_numba = pytest.mark.skipif(not WITH_NUMBA, reason="numba is not installed")


@needs_numba
def test_large_single_tensors_are_served_and_others_are_not():
    assert not cpu_kernels.serves(LARGE.double())
    assert not cpu_kernels.serves(LARGE.to("meta"))
    assert not cpu_kernels.serves(LARGE[0])


def test_without_numba_normals_are_the_same(monkeypatch):
    key = counters.stream(1, "fallback")
    drawn = cpu_kernels.normals(key, 3, 64, 8191)
    monkeypatch.setattr(cpu_kernels, "_loops", lambda: None)
    assert not cpu_kernels.serves(LARGE)
    assert torch.equal(cpu_kernels.normals(key, 3, 64, 8191), drawn)


def test_bits_are_those_committed():
    drawn = cpu_kernels.normals(counters.stream(0, "test"), 0, 400, 1000)
    assert hashlib.sha256(drawn.numpy().tobytes()).hexdigest() == DIGEST


@needs_numba
def test_large_draws_go_through_the_loops(monkeypatch):
    planted = SimpleNamespace(normals=lambda _key, _first, out: out.fill(7))
    monkeypatch.setattr(cpu_kernels, "_loops", lambda: planted)
    assert (cpu_kernels.normals(0, 0, 64, 8192) == 7).all()
    assert (cpu_kernels.normals(0, 0, 1, 8192) != 7).any()


@needs_numba
def test_update_takes_stacked_weights_and_any_layout_of_gradients():
    generator = torch.Generator().manual_seed(0)
    weights = torch.randn(6, 3, 7, generator=generator)
    gradient = torch.randn(6, 7, 3, generator=generator).transpose(1, 2)
    xi = counters.normals(5, 2, 6, 21).view_as(weights)
    expected = 0.9 * weights - 0.2 * gradient + 0.1 * xi
    got, settings = weights.clone(), {"shrink": 0.9, "rate": 0.2, "noise_std": 0.1}
    cpu_kernels.update(got, gradient, key=5, first=2, radius=None, **settings)
    torch.testing.assert_close(got, expected, rtol=1e-6, atol=1e-6)
    cpu_kernels.update(got, gradient, key=5, first=2, radius=1.0, **settings)
    torch.testing.assert_close(got.flatten(1).norm(dim=1), torch.ones(6), rtol=1e-6, atol=0)


@needs_numba
def test_softmax_is_torchs():
    scores = torch.randn(6, 5, 300, generator=torch.Generator().manual_seed(0))
    expected = torch.softmax(scores.double(), 1)
    got = cpu_kernels.softmax(scores)
    assert got is scores
    torch.testing.assert_close(got.double(), expected, rtol=2e-6, atol=1e-9)


@pytest.mark.parametrize("absent", [True, False])
def test_numba_is_imported_when_first_used_and_its_absence_is_no_error(absent):
    code = f"""
import sys
from types import SimpleNamespace
if {absent}:
    sys.modules["numba"] = None
from expunge.sampling.updates import cpu_kernels
import torch
assert {absent} or "numba" not in sys.modules
cpu_kernels.normals(0, 0, 2, 100)
assert {absent} or "numba" not in sys.modules
assert cpu_kernels.serves(torch.zeros(2**18)) is (not {absent} and {WITH_NUMBA})
assert torch.isfinite(cpu_kernels.normals(0, 0, 2, 2**17)).all()
"""
    subprocess.run([sys.executable, "-c", code], check=True)
