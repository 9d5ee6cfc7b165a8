"""The Triton kernels against plain PyTorch: on a GPU, and interpreted where Triton installs."""

import os
import subprocess
import sys

import pytest
import torch

from expunge.core import counters
from expunge.sampling.updates import kernels
from expunge.sampling.updates.kernels import Halves, Split

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
    assert split.wide_enough


@pytest.mark.parametrize(("unit", "tile"), [(0, 32), (96, 32), (80, 16), (8, 8), (4, 4), (3, 1)])
def test_a_tile_divides_the_models_that_share_rows(unit, tile):
    split = Split.of(7, unit)
    assert split.tile == tile
    assert split.wide_enough == (tile >= 4)  # 4 + 4 columns a model, 16 at least


def updated(weights, unit, device, **settings):
    """theta <- theta - 0 + settings' noise, by the kernel; and its bfloat16 in tile order."""
    models, outputs, width = weights.shape
    split = Split.of(outputs)
    shape = -(-models // unit), unit * split.columns, width
    gradient = torch.zeros(shape, device=device, dtype=torch.bfloat16)
    halves = Halves.zeros(*shape, device=device)
    kernels.launch_split(weights.to(device), halves, split, unit)
    values = {"shrink": 1.0, "rate": 1.0, "noise_std": 0.0, "radius": None} | settings
    kernels.launch_update(halves, gradient, split, models=models, unit=unit, **values)
    out = torch.empty(weights.shape, device=device)
    kernels.launch_join(halves, out, split, unit)
    return out.cpu(), halves.rounded.cpu()


def tiled(weights, split):
    """(models, outputs, width) to tile order, one unit."""
    padded = weights.new_zeros(len(weights), split.columns, weights.shape[2])
    padded[:, : split.outputs] = weights
    return torch.cat([padded[:, : split.high].flatten(0, 1), padded[:, split.high :].flatten(0, 1)])


def check_noise(device):
    for outputs, width, models in CASES:
        key = counters.stream(3, "kernels")
        zero = torch.zeros(models, outputs, width)
        got, rounded = updated(zero, models, device, key=key, first=5, noise_std=1.0)
        expected = counters.normals(key, 5, models, outputs * width).view_as(zero)
        assert torch.equal(got, expected), (outputs, width)
        stacked = tiled(expected, Split.of(outputs))
        assert (rounded[0].float() - stacked).abs().max() <= 2**-6  # the nearest: |z| < 8


def check_halves(device):
    """Every bit survives: random ones, ties of the upper half, both zeros, the smallest."""
    generator = torch.Generator().manual_seed(0)
    bits = torch.randint(-(2**31), 2**31, (48, 5, 16), generator=generator).to(torch.int32)
    bits[bits.view(torch.float32).abs() >= 2.0**126] = 0
    bits[bits.view(torch.float32).isnan()] = 0
    bits[0, 0] = torch.arange(16, dtype=torch.int32) * 0x8000 + 0x3F800000  # ties
    bits[0, 1] = torch.tensor([0, -(2**31), 1, -(2**31) + 1] * 4, dtype=torch.int32)
    split, values = Split.of(5), bits.view(torch.float32)
    halves = Halves.zeros(2, 32 * split.columns, 16, device=device)
    kernels.launch_split(values.to(device), halves, split, 32)
    out = torch.empty(values.shape, device=device)
    kernels.launch_join(halves, out, split, 32)
    assert torch.equal(out.cpu().view(torch.int32), bits)
    nearest = tiled(values[:32], split)
    away = (halves.rounded[0].cpu().float() - nearest).abs()
    assert (away <= nearest.abs() * 2**-8 + 2.0**-134).all()  # half a unit, subnormals too


def check_projection(device):
    weights = torch.randn(32, 5, 16, generator=torch.Generator().manual_seed(0))
    got, _ = updated(weights, 16, device, key=0, first=0, radius=9.0)
    norms = weights.flatten(1).norm(dim=1)
    assert (norms > 9).any()
    assert (norms < 9).any()
    expected = weights * (9 / norms).clamp_max(1)[:, None, None]
    torch.testing.assert_close(got, expected, rtol=1e-6, atol=0)


def check_uniforms(device):
    key, out = counters.stream(3, "uniforms"), torch.empty(30, 77, device=device)
    kernels.launch_uniforms(out, key, 5, 0.3)
    assert torch.equal(out.cpu(), counters.uniforms(key, 5, 30, 77) * 0.3)


def check_plain_update(device):
    """Noise has the bits of `counters`; the rest is the formula."""
    key = counters.stream(3, "update")
    weights = torch.zeros(5, 2051, device=device)
    zero = torch.zeros_like(weights)
    settings = {"key": key, "first": 7}
    kernels.launch_plain_update(weights, zero, **settings, shrink=1.0, rate=1.0, noise_std=1.0)
    assert torch.equal(weights.cpu(), counters.normals(key, 7, 5, 2051))
    moved, gradient = weights.clone(), weights.flip(1)
    kernels.launch_plain_update(moved, gradient, **settings, shrink=0.5, rate=0.1, noise_std=0.0)
    torch.testing.assert_close(moved, 0.5 * weights - 0.1 * gradient)


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
                meta |= {"ROWS": 32, "CHUNK": 32, "GROUP": 2}
                kernels._set_blocks(dict(zip(names, arguments[:6], strict=True)) | meta)
                kernels._residuals[grid(meta)](*arguments, **meta)

            return launch

    kernels._autotune = Untuned
    kernels._reciprocal = lambda total: 1 / total  # the interpreter knows no machine code
    check_noise("cpu")
    check_halves("cpu")
    check_projection("cpu")
    check_uniforms("cpu")
    check_plain_update("cpu")
    check_residuals("cpu", torch.float32)


@pytest.mark.slow
def test_kernels_interpreted():
    pytest.importorskip("triton")
    code = "from tests.sampling.updates.test_kernels import interpreted; interpreted()"
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)


@pytest.mark.gpu
def test_noise_has_the_same_bits_on_a_gpu():
    check_noise("cuda")
    check_uniforms("cuda")
    check_plain_update("cuda")


@pytest.mark.gpu
def test_halves_on_a_gpu_lose_nothing():
    check_halves("cuda")


@pytest.mark.gpu
def test_models_outside_the_ball_are_projected_on_a_gpu():
    check_projection("cuda")


@pytest.mark.gpu
def test_residuals_on_a_gpu():
    check_residuals("cuda", torch.bfloat16)


@pytest.mark.gpu
def test_contracted_products_would_be_caught():
    """With sums and products contracted, some normals change their last bit."""
    key, split = counters.stream(3, "kernels"), Split.of(24)
    halves = Halves.zeros(1, 64 * 24, 384, device=torch.device("cuda"))
    zero = torch.zeros(1, 64 * 24, 384, device="cuda", dtype=torch.bfloat16)
    kernels._update[(64,)](
        *halves, zero, key, 0, 64, 1.0, 1.0, 1.0, 0.0, COUNT=24 * 384, HIGH=16,
        LOW=8, WIDTH=384, BOUNDED=False, BLOCK=512, enable_fp_fusion=True,
    )  # fmt: skip
    out = torch.empty(64, 24, 384, device="cuda")
    kernels.launch_join(halves, out, split, 64)
    assert not torch.equal(out.flatten(1).cpu(), counters.normals(key, 0, 64, 24 * 384))
