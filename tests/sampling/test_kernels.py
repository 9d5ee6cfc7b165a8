"""The Triton kernels against plain PyTorch: on a GPU, and interpreted where Triton installs."""

import os
import subprocess
import sys

import pytest
import torch

from expunge.core import counters
from expunge.sampling import kernels
from expunge.sampling.kernels import Split

CASES = [(24, 384, 16), (10, 40, 32), (8, 40, 16), (5, 37 * 8, 32), (1, 40, 128)]


@pytest.mark.parametrize("outputs", range(1, 129))
def test_outputs_split_into_powers_of_two(outputs):
    split = Split.of(outputs)
    assert split.high & (split.high - 1) == 0
    assert split.low & (split.low - 1) == 0
    assert split.high < 2 * outputs
    assert outputs <= split.columns < 2 * outputs
    assert split.tile * split.high >= 16
    assert split.low == 0 or split.tile * split.low >= 16


def normals_by_update(models, outputs, width, key, first, device, dtype):
    """theta <- 0 - 0 + 1 * xi."""
    split = Split.of(outputs)
    weights = torch.zeros(models, outputs, width, device=device)
    shape = 1, models * split.columns, width
    gradient, copy = (torch.zeros(shape, device=device, dtype=dtype) for _ in range(2))
    settings = {"key": key, "first": first, "unit": models, "shrink": 1.0, "rate": 1.0}
    kernels.launch_update(
        weights, gradient, copy, split, **settings, noise_std=1.0, radius=None
    )  # fmt: skip
    return weights.flatten(1), copy[0]


def tiled(weights, split):
    """(models, outputs, width) to tile order, one unit."""
    padded = weights.new_zeros(len(weights), split.columns, weights.shape[2])
    padded[:, : split.outputs] = weights
    return torch.cat([padded[:, : split.high].flatten(0, 1), padded[:, split.high :].flatten(0, 1)])


def check_noise(device, dtype):
    for outputs, width, models in CASES:
        key = counters.stream(3, "kernels")
        got, copy = normals_by_update(models, outputs, width, key, 5, device, dtype)
        expected = counters.normals(key, 5, models, outputs * width)
        assert torch.equal(got.cpu(), expected), (outputs, width)
        stacked = tiled(expected.view(models, outputs, width), Split.of(outputs))
        assert (copy.float().cpu() - stacked).abs().max() <= 2**-5  # bfloat16 of |z| < 8


def check_uniforms(device):
    key, out = counters.stream(3, "uniforms"), torch.empty(30, 77, device=device)
    kernels.launch_uniforms(out, key, 5, 0.3)
    assert torch.equal(out.cpu(), counters.uniforms(key, 5, 30, 77) * 0.3)


def check_residuals(device, dtype):
    for outputs, width, models in CASES:
        generator = torch.Generator().manual_seed(0)
        rows = torch.randn(70, width, generator=generator).to(dtype)
        weights = (torch.randn(models, outputs, width, generator=generator) * 0.2).to(dtype)
        targets = torch.arange(70) % max(outputs, 2)
        split = Split.of(outputs)
        out = torch.full((1, 70, models * split.columns), float("nan"), dtype=torch.bfloat16)
        out = out.to(device)
        stacked = tiled(weights, split)[None].to(device)
        features, wanted = rows[None].to(device), targets[None].to(device)
        kernels.launch_residuals(features, stacked, wanted, out, split)
        scores = torch.einsum("rd,mod->rmo", rows.double(), weights.double())
        if outputs == 1:
            expected = torch.sigmoid(scores) - targets[:, None, None]
        else:
            expected = torch.softmax(scores, 2)
            expected -= torch.nn.functional.one_hot(targets, outputs)[:, None]
        got = out[0].double().cpu()
        high = got[:, : models * split.high].unflatten(1, (models, split.high))
        low = got[:, models * split.high :].unflatten(1, (models, split.low)) if split.low else high
        whole = torch.cat([high, low], 2)[:, :, :outputs]
        assert (whole - expected).abs().max() < 2**-7, (outputs, width)  # bfloat16, cut or rounded
        assert not out.isnan().any()


def interpreted():
    """The same checks on a CPU, in Triton's interpreter; it multiplies float32 factors only."""

    class Untuned:
        def __getitem__(self, grid):
            def launch(*arguments, **meta):
                names = ["features", "high_weights", "low_weights", "", "high_out", "low_out"]
                meta |= {"ROWS": 32, "CHUNK": 32}
                kernels._set_blocks(dict(zip(names, arguments[:6], strict=True)) | meta)
                kernels._residuals[grid(meta)](*arguments, **meta)

            return launch

    kernels._tuned = Untuned
    check_noise("cpu", torch.float32)
    check_uniforms("cpu")
    check_residuals("cpu", torch.float32)


@pytest.mark.slow
def test_kernels_interpreted():
    pytest.importorskip("triton")
    code = "from tests.sampling.test_kernels import interpreted; interpreted()"
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)


@pytest.mark.gpu
def test_noise_has_the_same_bits_on_a_gpu():
    check_noise("cuda", torch.bfloat16)
    check_uniforms("cuda")


@pytest.mark.gpu
def test_residuals_on_a_gpu():
    check_residuals("cuda", torch.bfloat16)


@pytest.mark.gpu
def test_contracted_products_would_be_caught():
    """With sums and products contracted, some normals change their last bit."""
    key = counters.stream(3, "kernels")
    weights = torch.zeros(64, 24, 384, device="cuda")
    zero = torch.zeros(1, 64 * 24, 384, device="cuda", dtype=torch.bfloat16)
    kernels._update[(64,)](
        weights, zero, zero.clone(), key, 0, 64, 1.0, 1.0, 1.0, 0.0, COUNT=24 * 384, HIGH=16,
        LOW=8, WIDTH=384, BOUNDED=False, BLOCK=512, enable_fp_fusion=True,
    )  # fmt: skip
    assert not torch.equal(weights.flatten(1).cpu(), counters.normals(key, 0, 64, 24 * 384))
