# ruff: noqa: N803  compile-time constants are upper case, as in Triton
# pyright: reportOptionalMemberAccess=false, reportMissingImports=false
# pyright: reportInvalidTypeForm=false, reportIndexIssue=false
# pyright: reportPossiblyUnboundVariable=false
"""Triton kernels of `lstm.py`; run where Triton and a GPU are.

    forward, backward   all time steps of some rows of one model in one program: rows do not meet

A program keeps its model's recurrent weights on the multiprocessor and loops over time, so a layer
is one launch. Gates, hidden states and factors of products are bfloat16; cells and sums are
float32. Against the same network in float32, tests hold gradients to 2 % of their norm.
"""

from __future__ import annotations

import functools

import torch
from torch import Tensor

from expunge.sampling.lstm import Layer, Trace, sum_gradients
from expunge.sampling.updates.kernels import _jit, available, tl, triton

__all__ = ["backward", "forward", "serves"]


def serves(hidden: int) -> bool:
    """Whether the kernels know this width: a power of two whose weights fit a multiprocessor."""
    return available() and hidden in (16, 32, 64, 128)


def forward(layer: Layer, inputs: Tensor) -> Trace:
    """The same as `lstm.forward`; weights and inputs in bfloat16, bias in float32."""
    models, time, rows, _ = inputs.shape
    hidden = layer.hidden.shape[-1]
    gates = torch.bmm(inputs.flatten(1, 2), layer.inputs.transpose(1, 2))
    gates = gates.view(models, time, rows, 4 * hidden)
    states = gates.new_empty(models, time + 1, rows, hidden)
    cells = torch.empty_like(states, dtype=torch.float32)
    states[:, 0] = cells[:, 0] = 0
    _autotune(_forward)[_grid(models, rows)](
        gates, layer.hidden.contiguous(), layer.bias.contiguous(), cells, states, rows, time,
        HIDDEN=hidden,
    )  # fmt: skip
    return Trace(inputs, gates, cells, states)


def backward(layer: Layer, trace: Trace, upward: Tensor) -> tuple[Tensor, Layer]:
    """The same as `lstm.backward`."""
    models, time, rows, hidden = upward.shape
    _autotune(_backward)[_grid(models, rows)](
        trace.gates, layer.hidden.contiguous(), trace.cells, upward.contiguous(), rows, time,
        HIDDEN=hidden,
    )  # fmt: skip
    return sum_gradients(layer, trace)


def _grid(models: int, rows: int):
    return lambda meta: (-(-rows // meta["ROWS"]), models)


@functools.cache
def _autotune(kernel):
    """The kernel with the tile that is fastest for a width, measured at its first use.

    Tiles that do not fit the machine are passed over; gates overwritten by trials are put back.
    """
    tiles = [(16, 4), (32, 4), (64, 4), (64, 8)]
    configs = [
        triton.Config({"ROWS": rows}, num_warps=warps, num_stages=1) for rows, warps in tiles
    ]
    return triton.autotune(configs, key=["HIDDEN"], restore_value=["gates"])(kernel)


@_jit
def _forward(
    gates, weights, bias, cells, states, rows, time, HIDDEN: tl.constexpr, ROWS: tl.constexpr
):
    """Gates come in as W_x x and go out as i, f, g, o; cells and states are filled from 1 on."""
    kind: tl.constexpr = gates.dtype.element_ty
    model = tl.program_id(1).to(tl.int64)
    unit = tl.arange(0, HIDDEN)
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    inside = (row < rows)[:, None]
    square: tl.constexpr = HIDDEN * HIDDEN
    weights += model * 4 * square + unit[None, :] * HIDDEN + unit[:, None]  # [from, to]
    w_i, w_f = tl.load(weights), tl.load(weights + square)
    w_g, w_o = tl.load(weights + 2 * square), tl.load(weights + 3 * square)
    bias += model * 4 * HIDDEN + unit
    b_i, b_f = tl.load(bias)[None, :], tl.load(bias + HIDDEN)[None, :]
    b_g, b_o = tl.load(bias + 2 * HIDDEN)[None, :], tl.load(bias + 3 * HIDDEN)[None, :]
    gates += model * time * rows * 4 * HIDDEN + row[:, None] * 4 * HIDDEN + unit[None, :]
    place = (model * (time + 1) + 1) * rows * HIDDEN + row[:, None] * HIDDEN + unit[None, :]
    c = tl.zeros((ROWS, HIDDEN), tl.float32)
    h = tl.zeros((ROWS, HIDDEN), kind)
    for _ in range(time):
        x_i = tl.load(gates, mask=inside, other=0.0).to(tl.float32) + b_i
        x_f = tl.load(gates + HIDDEN, mask=inside, other=0.0).to(tl.float32) + b_f
        x_g = tl.load(gates + 2 * HIDDEN, mask=inside, other=0.0).to(tl.float32) + b_g
        x_o = tl.load(gates + 3 * HIDDEN, mask=inside, other=0.0).to(tl.float32) + b_o
        i = _sigmoid(tl.dot(h, w_i, x_i))
        g = _tanh(tl.dot(h, w_g, x_g))
        tl.store(gates, i.to(kind), mask=inside)
        tl.store(gates + 2 * HIDDEN, g.to(kind), mask=inside)
        f = _sigmoid(tl.dot(h, w_f, x_f))
        tl.store(gates + HIDDEN, f.to(kind), mask=inside)
        o = _sigmoid(tl.dot(h, w_o, x_o))
        tl.store(gates + 3 * HIDDEN, o.to(kind), mask=inside)
        c = f * c + i * g
        h = (o * _tanh(c)).to(kind)
        tl.store(cells + place, c, mask=inside)
        tl.store(states + place, h, mask=inside)
        gates += rows * 4 * HIDDEN
        place += rows * HIDDEN


@_jit
def _backward(gates, weights, cells, upward, rows, time, HIDDEN: tl.constexpr, ROWS: tl.constexpr):
    """Gates come in as i, f, g, o and go out as gradients before their nonlinearities."""
    kind: tl.constexpr = gates.dtype.element_ty
    model = tl.program_id(1).to(tl.int64)
    unit = tl.arange(0, HIDDEN)
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    inside = (row < rows)[:, None]
    square: tl.constexpr = HIDDEN * HIDDEN
    weights += model * 4 * square + unit[:, None] * HIDDEN + unit[None, :]  # [to, from]
    w_i, w_f = tl.load(weights), tl.load(weights + square)
    w_g, w_o = tl.load(weights + 2 * square), tl.load(weights + 3 * square)
    own = row[:, None] * HIDDEN + unit[None, :]
    gates += (model * time + time - 1) * rows * 4 * HIDDEN
    gates += row[:, None] * 4 * HIDDEN + unit[None, :]
    upward += (model * time + time - 1) * rows * HIDDEN + own
    cells += (model * (time + 1) + time) * rows * HIDDEN + own
    after = tl.load(cells, mask=inside, other=0.0)
    cell = tl.zeros((ROWS, HIDDEN), tl.float32)
    behind = tl.zeros((ROWS, HIDDEN), tl.float32)
    for _ in range(time):
        cells -= rows * HIDDEN
        before = tl.load(cells, mask=inside, other=0.0)
        i = tl.load(gates, mask=inside, other=0.0).to(tl.float32)
        f = tl.load(gates + HIDDEN, mask=inside, other=0.0).to(tl.float32)
        g = tl.load(gates + 2 * HIDDEN, mask=inside, other=0.0).to(tl.float32)
        o = tl.load(gates + 3 * HIDDEN, mask=inside, other=0.0).to(tl.float32)
        state = tl.load(upward, mask=inside, other=0.0).to(tl.float32) + behind
        squashed = _tanh(after)
        cell += state * o * (1 - squashed * squashed)
        d_o = (state * squashed * o * (1 - o)).to(kind)
        tl.store(gates + 3 * HIDDEN, d_o, mask=inside)
        behind = tl.dot(d_o, w_o)
        d_i = (cell * g * i * (1 - i)).to(kind)
        tl.store(gates, d_i, mask=inside)
        behind = tl.dot(d_i, w_i, behind)
        d_g = (cell * i * (1 - g * g)).to(kind)
        tl.store(gates + 2 * HIDDEN, d_g, mask=inside)
        behind = tl.dot(d_g, w_g, behind)
        d_f = (cell * before * f * (1 - f)).to(kind)
        tl.store(gates + HIDDEN, d_f, mask=inside)
        behind = tl.dot(d_f, w_f, behind)
        cell = cell * f
        after = before
        gates -= rows * 4 * HIDDEN
        upward -= rows * HIDDEN


@_jit
def _sigmoid(x):
    return 1 / (1 + tl.exp(-x))


@_jit
def _tanh(x):
    return 2 / (1 + tl.exp(-2 * x)) - 1
