"""One stacked layer against autograd through nn.LSTM, model by model."""

import copy

import pytest
import torch
from torch import nn

from expunge.sampling import lstm
from expunge.sampling.lstm import Layer

MODELS, TIME, ROWS, WIDTH, HIDDEN = 3, 5, 4, 6, 7


def made(dtype=torch.float64):
    generator = torch.Generator().manual_seed(0)

    def normal(*shape):
        return torch.randn(*shape, generator=generator, dtype=dtype) * 0.5

    layer = Layer(
        normal(MODELS, 4 * HIDDEN, WIDTH),
        normal(MODELS, 4 * HIDDEN, HIDDEN),
        normal(MODELS, 4 * HIDDEN),
    )
    return layer, normal(MODELS, TIME, ROWS, WIDTH), normal(MODELS, TIME, ROWS, HIDDEN)


def of_torch(layer, inputs, upward):
    """Hidden states, gradient of the inputs, gradients of the three weights."""
    found = []
    plain = nn.LSTM(WIDTH, HIDDEN).to(inputs.dtype)
    for model in range(MODELS):
        one, x = copy.deepcopy(plain), inputs[model].clone().requires_grad_()
        named = {"weight_ih_l0": layer.inputs, "weight_hh_l0": layer.hidden}
        named = {name: part[model] for name, part in named.items()}
        named |= {"bias_ih_l0": layer.bias[model], "bias_hh_l0": torch.zeros(4 * HIDDEN)}
        one.load_state_dict(named)
        states, _ = one(x)
        states.backward(upward[model])
        grads = one.weight_ih_l0.grad, one.weight_hh_l0.grad, one.bias_ih_l0.grad
        found.append((states.detach(), x.grad, *grads))
    return [torch.stack(part) for part in zip(*found, strict=True)]


@pytest.mark.parametrize(
    ("dtype", "tolerance"),
    [(torch.float32, 1e-5), (torch.float64, 1e-12)],
    ids=["single", "double"],
)
def test_states_and_gradients_are_torchs(dtype, tolerance):
    layer, inputs, upward = made(dtype)
    expected = of_torch(layer, inputs, upward)
    trace = lstm.forward(layer, inputs)
    states = trace.hidden[:, 1:].clone()
    below, own = lstm.backward(layer, trace, upward)
    for got, wanted in zip((states, below, *own), expected, strict=True):
        torch.testing.assert_close(got, wanted, rtol=0, atol=tolerance)


def test_the_first_states_are_zero_and_stay_so():
    layer, inputs, _ = made()
    trace = lstm.forward(layer, inputs)
    assert not trace.hidden[:, 0].any()
    assert not trace.cells[:, 0].any()


def test_steps_after_the_last_gradient_receive_none():
    """Why padding at the end needs no mask."""
    layer, inputs, upward = made()
    upward[:, 3:] = 0
    short = lstm.backward(layer, lstm.forward(layer, inputs[:, :3].clone()), upward[:, :3])
    long = lstm.backward(layer, lstm.forward(layer, inputs), upward)
    assert not long[0][:, 3:].any()
    torch.testing.assert_close(long[0][:, :3], short[0])
    for got, wanted in zip(long[1], short[1], strict=True):
        torch.testing.assert_close(got, wanted)
