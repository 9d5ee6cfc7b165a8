"""One LSTM layer of many models at once, forward and backward, on tensors (models, time, ...).

    [i, f, g, o] = W_x x_t + W_h h_{t-1} + b,   i, f, o through sigmoid, g through tanh
    c_t = f c_{t-1} + i g,   h_t = o tanh(c_t),   h_0 = c_0 = 0

as torch's nn.LSTM computes it, gates in its order. Products with the inputs, and with what is
summed over time going back, are one batched product each; what remains in the loop is one product
of hidden states (models, rows, hidden) a time step. Padding at the end needs no mask: no later step
touches an earlier one, and where no gradient enters after a row's last word none arises.
"""

from typing import NamedTuple

import torch
from torch import Tensor

__all__ = ["Layer", "Trace", "backward", "forward"]


class Layer(NamedTuple):
    """Weights of one layer, or their gradients; `bias` is the sum of torch's two."""

    inputs: Tensor  # (models, 4 hidden, width)
    hidden: Tensor  # (models, 4 hidden, hidden)
    bias: Tensor  # (models, 4 hidden)


class Trace(NamedTuple):
    """What `backward` needs of `forward`; step t is at place t + 1 of `cells` and `hidden`."""

    inputs: Tensor  # (models, time, rows, width)
    gates: Tensor  # (models, time, rows, 4 hidden), after their nonlinearities
    cells: Tensor  # (models, time + 1, rows, hidden)
    hidden: Tensor  # (models, time + 1, rows, hidden)


def forward(layer: Layer, inputs: Tensor) -> Trace:
    """Run every step of every row, from zero states."""
    models, time, rows, _ = inputs.shape
    hidden = layer.hidden.shape[-1]
    gates = project_inputs(layer, inputs)
    cells, states = (gates.new_zeros(models, time + 1, rows, hidden) for _ in range(2))
    turned = layer.hidden.transpose(1, 2)
    for t in range(time):
        now = gates[:, t]
        now.baddbmm_(states[:, t], turned)
        now[..., : 2 * hidden].sigmoid_()
        now[..., 2 * hidden : 3 * hidden].tanh_()
        now[..., 3 * hidden :].sigmoid_()
        i, f, g, o = now.chunk(4, dim=-1)
        torch.mul(f, cells[:, t], out=cells[:, t + 1])
        cells[:, t + 1].addcmul_(i, g)
        torch.tanh(cells[:, t + 1], out=states[:, t + 1])
        states[:, t + 1].mul_(o)
    return Trace(inputs, gates, cells, states)


def backward(layer: Layer, trace: Trace, upward: Tensor) -> tuple[Tensor, Layer]:
    """Gradients with respect to the inputs and the weights; overwrites the trace's gates.

    Args:
        upward: Gradient with respect to every h_t: (models, time, rows, hidden).
    """
    gates, cells = trace.gates, trace.cells
    behind, cell = torch.zeros_like(upward[:, 0]), torch.zeros_like(cells[:, 0])
    for t in reversed(range(gates.shape[1])):
        now = gates[:, t]
        i, f, g, o = now.chunk(4, dim=-1)
        state = upward[:, t] + behind
        squashed = torch.tanh(cells[:, t + 1])
        cell = cell + state * o * (1 - squashed * squashed)
        to_output = state * squashed * o * (1 - o)
        to_input, to_new = cell * g * i * (1 - i), cell * i * (1 - g * g)
        to_forget = cell * cells[:, t] * f * (1 - f)
        cell = cell * f
        torch.cat([to_input, to_forget, to_new, to_output], dim=-1, out=now)
        behind = torch.bmm(now, layer.hidden)
    return sum_gradients(layer, trace)


def project_inputs(layer: Layer, inputs: Tensor) -> Tensor:
    """W_x x_t + b of all steps: (models, time, rows, 4 hidden)."""
    flat, turned = inputs.flatten(1, 2), layer.inputs.transpose(1, 2)
    return torch.baddbmm(layer.bias[:, None], flat, turned).unflatten(1, inputs.shape[1:3])


def sum_gradients(layer: Layer, trace: Trace) -> tuple[Tensor, Layer]:
    """Sum the gradients of the gates, which `trace.gates` holds, over time and rows."""
    gates, inputs = trace.gates.flatten(1, 2), trace.inputs.flatten(1, 2)
    across = gates.transpose(1, 2)  # (models, 4 hidden, time * rows)
    own = Layer(
        torch.bmm(across, inputs),
        torch.bmm(across, trace.hidden[:, :-1].flatten(1, 2)),
        gates.sum(1, dtype=torch.promote_types(gates.dtype, torch.float32)),
    )
    return torch.bmm(gates, layer.inputs).unflatten(1, trace.inputs.shape[1:3]), own
