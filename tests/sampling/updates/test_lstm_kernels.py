"""The recurrent kernels against plain PyTorch: on a GPU, and interpreted where Triton installs."""

import os
import subprocess
import sys

import pytest
import torch

from expunge.sampling import lstm
from expunge.sampling.lstm import Layer
from expunge.sampling.recurrent import LSTMClassifier, Recurrent
from expunge.sampling.updates import kernels, lstm_kernels


def made(hidden, rows, device="cpu"):
    generator = torch.Generator().manual_seed(0)

    def normal(*shape):
        return (torch.randn(*shape, generator=generator) * 0.3).to(device)

    layer = Layer(normal(2, 4 * hidden, 8), normal(2, 4 * hidden, hidden), normal(2, 4 * hidden))
    return layer, normal(2, 5, rows, 8), normal(2, 5, rows, hidden)


def check_layer(hidden, rows, device, dtype, tolerance):
    """Relative to each part's norm; rows beyond a tile's last must not matter."""
    layer, inputs, upward = made(hidden, rows, device)
    trace = lstm.forward(layer, inputs)
    states = trace.hidden.clone()
    below, own = lstm.backward(layer, trace, upward)
    cast = Layer(layer.inputs.to(dtype), layer.hidden.to(dtype), layer.bias)
    traced = lstm_kernels.forward(cast, inputs.to(dtype))
    got = [traced.hidden.clone()]
    under, mine = lstm_kernels.backward(cast, traced, upward.to(dtype))
    got += [under, *mine]
    for ours, plain in zip(got, (states, below, *own), strict=True):
        assert not ours.isnan().any()
        assert float((ours.float() - plain).norm() / plain.norm()) < tolerance


def interpreted():
    """The same checks on a CPU, in Triton's interpreter; it multiplies float32 factors only."""

    def untuned(kernel):
        class Untuned:
            def __getitem__(self, grid):
                return lambda *given, **meta: kernel[grid(meta | {"ROWS": 16})](
                    *given, **meta, ROWS=16
                )

        return Untuned()

    lstm_kernels._autotune = untuned
    check_layer(16, 21, "cpu", torch.float32, 1e-5)


@pytest.mark.slow
def test_kernels_interpreted():
    pytest.importorskip("triton")
    code = "from tests.sampling.updates.test_lstm_kernels import interpreted; interpreted()"
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)


@pytest.mark.gpu
@pytest.mark.parametrize(("hidden", "rows"), [(16, 21), (64, 130), (128, 250)])
def test_layers_on_a_gpu_agree_with_plain_pytorch(hidden, rows):
    check_layer(hidden, rows, "cuda", torch.bfloat16, 0.02)


@pytest.mark.gpu
def test_a_gradient_in_halves_is_within_two_percent():
    torch.manual_seed(0)
    module = LSTMClassifier(200, 32, 64)
    single, half = Recurrent(module), Recurrent(module, half=True)
    weights = (torch.randn(5, single.parameters) * 0.1).cuda()
    tokens, targets = torch.randint(1, 200, (70, 30)).cuda(), torch.randint(0, 2, (70,)).cuda()
    tokens[:, 20:] *= torch.arange(70, device="cuda")[:, None] % 2
    exact = single.gradient(weights, tokens, targets)
    error = (half.gradient(weights, tokens, targets) - exact).norm(dim=1)
    assert (error < 0.02 * exact.norm(dim=1)).all()


def test_without_triton_halves_are_refused(monkeypatch):
    monkeypatch.setattr(kernels, "triton", None)
    assert not lstm_kernels.serves(64)
    with pytest.raises(ValueError, match="half needs Triton"):
        Recurrent(LSTMClassifier(5, 4, 64), half=True)


def test_odd_widths_are_not_served():
    assert not lstm_kernels.serves(100)
