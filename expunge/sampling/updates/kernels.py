# ruff: noqa: N803  compile-time constants are upper case, as in Triton
# pyright: reportOptionalMemberAccess=false, reportMissingImports=false
# pyright: reportInvalidTypeForm=false, reportIndexIssue=false
# pyright: reportPossiblyUnboundVariable=false
"""Triton kernels of a step of linear heads; imported everywhere, run where Triton and a GPU are.

    residuals      features, weights -> softmax(x w') - one-hot in bfloat16; scores in registers
    update         theta <- Proj(theta - eta (g / rows + l2 theta) + noise_std xi)
    plain_update   the same of weights that are stored as usual, without the projection

Updates draw xi as `core/counters.py` does, operation by operation, so they are launched without
contraction of products and sums. In `update` a float32 weight is kept as two halves of 16 bits
(`Halves`): the upper one is its bfloat16, which products read, so that no copy has to be moved.
Rows of the halves, of residuals and of gradients are in tile order: a block shape is a power of
two, so the classes of `unit` consecutive models are stored as the leading `HIGH` classes of each
and then the remaining `LOW` (24 = 16 + 8: nothing is padded).
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import torch
from torch import Tensor

from expunge.core.counters import COSINE, FIRST, LOG, OCTAVE, SECOND, SINE, WEYL, half

try:
    import triton
    import triton.language as tl
except ImportError:
    triton = tl = None

__all__ = [
    "Halves",
    "Split",
    "available",
    "launch_join",
    "launch_plain_update",
    "launch_residuals",
    "launch_split",
    "launch_uniforms",
    "launch_update",
    "serves",
]

WIDEST = 128  # leading columns of a tile
NARROWEST = 16  # columns of a product


def _jit(*kernel, **options):
    """`triton.jit`, or the kernel unchanged if Triton is missing."""
    if triton is None:
        return kernel[0] if kernel else lambda given: given
    return triton.jit(*kernel, **options)


_constant = tl.constexpr if tl else lambda value: value
_WEYL, _FIRST, _SECOND = map(_constant, (WEYL, FIRST, SECOND))
_L0, _L1, _L2, _L3, _L4, _L5, _L6, _L7 = map(_constant, LOG)
_S0, _S1, _S2, _S3, _S4 = map(_constant, SINE)
_C0, _C1, _C2, _C3, _C4 = map(_constant, COSINE)
_OCTAVE = _constant(OCTAVE)
_LOG2E = _constant(1.4426950408889634)


class Split(NamedTuple):
    """A model's outputs as two powers of two, and the models of a tile."""

    outputs: int
    high: int
    low: int
    tile: int

    @classmethod
    def of(cls, outputs: int, unit: int = 0) -> Split:
        """Split outputs; a tile's models divide `unit`, those that share rows (0: any number)."""
        high = 1 << (outputs.bit_length() - 1)
        low = 0 if outputs == high else 1 << (outputs - high - 1).bit_length()
        tile = max(WIDEST // high, NARROWEST // low if low else 1)
        while unit % tile:
            tile //= 2
        return cls(outputs, high, low, tile)

    @property
    def wide_enough(self) -> bool:
        """Whether both parts of a tile are products that the hardware has."""
        return self.tile * (self.low or self.high) >= NARROWEST

    @property
    def columns(self) -> int:
        """Columns of one model in tile order, padding included."""
        return self.high + self.low


class Halves(NamedTuple):
    """float32 weights in tile order: bits = (upper << 16) + lower, upper the nearest bfloat16."""

    upper: Tensor
    lower: Tensor

    @classmethod
    def zeros(cls, *shape: int, device: torch.device) -> Halves:
        """Halves of weights that are all 0."""
        upper, lower = torch.zeros(2, *shape, dtype=torch.int16, device=device)
        return cls(upper, lower)

    @property
    def rounded(self) -> Tensor:
        """The weights in bfloat16."""
        return self.upper.view(torch.bfloat16)


def available() -> bool:
    """Whether Triton is installed."""
    return triton is not None


def serves(weights: Tensor) -> bool:
    """Whether noise for these can be drawn here: float32 on CUDA."""
    return available() and weights.is_cuda and weights.dtype == torch.float32


def launch_residuals(
    features: Tensor, weights: Tensor, targets: Tensor, out: Tensor, split: Split
) -> None:
    """Compute softmax(x w') - one-hot(target), or sigmoid - [target > 0] for one output.

    Args:
        features: (1, rows, width), or (units, rows, width) where each unit has its own rows.
        weights: (units, unit * split.columns, width) in tile order.
        targets: (1 or units, rows).
        out: (units, rows, unit * split.columns) bfloat16.
    """
    from triton.tools.tensor_descriptor import TensorDescriptor

    units, rows, columns = out.shape
    unit = columns // split.columns
    flat = weights.view(-1, weights.shape[-1])

    def grid(meta: dict[str, int]) -> tuple[int]:
        return (-(-rows // meta["ROWS"]) * units * unit // split.tile,)

    def describe(tensor: Tensor) -> object:  # the block's shape is set with the tile's
        return TensorDescriptor.from_tensor(tensor, [1] * tensor.dim())

    _autotune()[grid](
        describe(features), describe(flat), describe(flat), targets, describe(out),
        describe(out), rows, unit, rows if len(features) > 1 else 0,
        CLASSES=split.outputs, HIGH=split.high, LOW=split.low, WIDTH=features.shape[-1],
        MODELS=split.tile,
    )  # fmt: skip


def launch_update(
    halves: Halves,
    gradient: Tensor,
    split: Split,
    *,
    models: int,
    key: int,
    first: int,
    unit: int,
    shrink: float,
    rate: float,
    noise_std: float,
    radius: float | None,
) -> None:
    """weights <- Proj(shrink weights - rate gradient + noise_std xi), in place.

    Args:
        halves, gradient: (units, unit * split.columns, width) in tile order, the latter bfloat16.
    """
    width = gradient.shape[-1]
    _update[(models,)](
        *halves, gradient, key, first, unit, shrink, rate, noise_std, radius or 0.0,
        COUNT=split.outputs * width, HIGH=split.high, LOW=split.low, WIDTH=width,
        BOUNDED=radius is not None, BLOCK=512, num_warps=2, enable_fp_fusion=False,
    )  # fmt: skip


def launch_plain_update(
    weights: Tensor,
    gradient: Tensor,
    *,
    key: int,
    first: int,
    shrink: float,
    rate: float,
    noise_std: float,
) -> None:
    """weights <- shrink weights - rate gradient + noise_std xi, in place.

    Args:
        weights, gradient: (models, ...) float32.
        first: Number of the first model, whose normals are `counters.normals(key, first, ...)`.
    """
    models, count, block = len(weights), weights[0].numel(), 1024
    _plain_update[(models, -(-half(count) // block))](
        weights, gradient.contiguous(), key, first, count, half(count), shrink, rate, noise_std,
        BLOCK=block, num_warps=4, enable_fp_fusion=False,
    )  # fmt: skip


def launch_split(weights: Tensor, halves: Halves, split: Split, unit: int) -> None:
    """Turn (models, outputs, width) float32 into halves in tile order."""
    _launch_exchange(_split, weights, halves, split, unit)


def launch_join(halves: Halves, out: Tensor, split: Split, unit: int) -> None:
    """Turn halves in tile order into (models, outputs, width) float32."""
    _launch_exchange(_join, out, halves, split, unit)


def _launch_exchange(kernel, weights: Tensor, halves: Halves, split: Split, unit: int) -> None:
    models, outputs, width = weights.shape
    kernel[(models,)](
        weights, *halves, unit, COUNT=outputs * width, HIGH=split.high, LOW=split.low,
        WIDTH=width, BLOCK=1024, num_warps=4,
    )  # fmt: skip


def launch_uniforms(out: Tensor, key: int, first: int, scale: float) -> None:
    """Fill (models, count) with `counters.uniforms` times `scale`; models count from `first`."""
    block = 1024
    grid = (-(-out.numel() // block),)
    _uniforms[grid](out, key, first * out.shape[1], scale, out.numel(), BLOCK=block)


@functools.cache
def _autotune():
    """The residual kernel with the tile that is fastest for a shape, measured at its first use."""
    tiles = [
        (128, 32, 4, 8, 4, 128),
        (128, 32, 8, 8, 4, 128),
        (128, 32, 4, 8, 5, 128),
        (128, 32, 8, 8, 5, 128),
        (64, 32, 8, 4, 4, 128),
        (256, 64, 4, 8, 3, None),
    ]
    configs = [
        triton.Config(
            {"ROWS": rows, "CHUNK": chunk, "GROUP": group},
            num_warps=warps,
            num_stages=stages,
            maxnreg=registers,  # 128: two programs fit a multiprocessor, one computes, one stores
            pre_hook=_set_blocks,
        )
        for rows, chunk, group, warps, stages, registers in tiles
    ]
    return triton.autotune(configs, key=["rows", "unit", "WIDTH", "MODELS"])(_residuals)


def _set_blocks(arguments: dict) -> None:
    """Set the shape of what each descriptor moves at a time."""
    rows, chunk, models = (arguments[name] for name in ("ROWS", "CHUNK", "MODELS"))
    arguments["features"].block_shape = [1, rows, chunk]
    for part, classes in (("high", arguments["HIGH"]), ("low", max(1, arguments["LOW"]))):
        arguments[f"{part}_weights"].block_shape = [models * classes, chunk]
        arguments[f"{part}_out"].block_shape = [1, rows, models * classes]


@_jit
def _residuals(
    features, high_weights, low_weights, targets, high_out, low_out, rows, unit, own_rows,
    CLASSES: tl.constexpr, HIGH: tl.constexpr, LOW: tl.constexpr, WIDTH: tl.constexpr,
    MODELS: tl.constexpr, ROWS: tl.constexpr, CHUNK: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    """A program takes ROWS rows and MODELS models of one unit.

    Programs go through all models for GROUP row tiles, then for the next ones, so that rows and
    weights are read from the cache. Descriptors clip what lies beyond the last row.
    """
    row_tiles = tl.cdiv(rows, ROWS)
    together = GROUP * (tl.num_programs(0) // row_tiles)  # programs that share GROUP row tiles
    before = tl.program_id(0) // together * GROUP
    group_size = tl.minimum(row_tiles - before, GROUP)
    first_row = (before + tl.program_id(0) % together % group_size) * ROWS
    tile = tl.program_id(0) % together // group_size
    tiles = unit // MODELS
    group = tile // tiles
    own = tl.where(own_rows > 0, group, 0)
    high = tile % tiles * (MODELS * HIGH)
    low = unit * HIGH + tile % tiles * (MODELS * LOW)
    base = group * unit * (HIGH + LOW)
    upper = tl.zeros((ROWS, MODELS * HIGH), tl.float32)
    if LOW > 0:
        lower = tl.zeros((ROWS, MODELS * LOW), tl.float32)
    for k in range(0, WIDTH, CHUNK):
        x = features.load([own, first_row, k]).reshape(ROWS, CHUNK)
        upper = tl.dot(x, high_weights.load([base + high, k]).T, upper)
        if LOW > 0:
            lower = tl.dot(x, low_weights.load([base + low, k]).T, lower)
    row = first_row + tl.arange(0, ROWS)
    target = tl.load(targets + own * rows + row, mask=row < rows, other=0)
    if CLASSES == 1:
        p = 1 / (1 + tl.exp2(-upper * _LOG2E)) - (target > 0).to(tl.float32)[:, None]
        high_out.store([group, first_row, high], p.to(tl.bfloat16).reshape(1, ROWS, MODELS))
    else:
        scores = tl.reshape(upper, (ROWS, MODELS, HIGH))
        if LOW > 0:
            rest = tl.reshape(lower, (ROWS, MODELS, LOW))
            other = HIGH + tl.arange(0, LOW)[None, None, :]
            if HIGH + LOW > CLASSES:
                rest = tl.where(other < CLASSES, rest, float("-inf"))
            largest = tl.maximum(tl.max(_folded(scores, LOW), 2), rest)
            largest = (tl.max(largest, 2) * _LOG2E)[:, :, None]
            rest = tl.exp2(rest * _LOG2E - largest)
            scores = tl.exp2(scores * _LOG2E - largest)
            total = tl.sum(tl.sum(_folded(scores, LOW), 2) + rest, 2)
        else:
            largest = (tl.max(scores, 2) * _LOG2E)[:, :, None]
            scores = tl.exp2(scores * _LOG2E - largest)
            total = tl.sum(scores, 2)
        share = _reciprocal(total)[:, :, None]
        one = tl.arange(0, HIGH)[None, None, :]
        p = scores * share - (target[:, None, None] == one).to(tl.float32)
        p = p.to(tl.bfloat16).reshape(1, ROWS, MODELS * HIGH)
        high_out.store([group, first_row, high], p)
        if LOW > 0:
            p = rest * share - (target[:, None, None] == other).to(tl.float32)
            p = p.to(tl.bfloat16).reshape(1, ROWS, MODELS * LOW)
            low_out.store([group, first_row, low], p)


@_jit
def _reciprocal(total):
    """1 / total to one part in 2^23, for a total from 1 to the number of classes."""
    return tl.inline_asm_elementwise(
        "rcp.approx.ftz.f32 $0, $1;", "=f,f", [total], tl.float32, is_pure=True, pack=1
    )


@_jit
def _folded(scores, LOW: tl.constexpr):
    """The leading classes in groups of LOW: a thread reduces over groups without its neighbours."""
    rows: tl.constexpr = scores.shape[0]
    models: tl.constexpr = scores.shape[1]
    return scores.reshape(rows, models, scores.shape[2] // LOW, LOW)


@_jit(do_not_specialize=["key", "first"])
def _update(
    upper, lower, gradient, key, first, unit, shrink, rate, noise_std, radius,
    COUNT: tl.constexpr, HIGH: tl.constexpr, LOW: tl.constexpr, WIDTH: tl.constexpr,
    BOUNDED: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """A program takes one model; BOUNDED: it is projected onto the ball of `radius`."""
    model = tl.program_id(0).to(tl.int64)
    half: tl.constexpr = (COUNT + 1) // 2
    squares = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, half, BLOCK):
        j = start + tl.arange(0, BLOCK)
        z, z_other = _normals(key, (first + model) * half + j)
        for side in tl.static_range(2):
            at = j + side * half
            inside = (j < half) & (at < COUNT)
            tiled = _tiled(model, at, unit, HIGH, LOW, WIDTH)
            g = tl.load(gradient + tiled, mask=inside, other=0.0).to(tl.float32)
            xi = z if side == 0 else z_other
            new = _read(upper, lower, tiled, inside) * shrink - rate * g + noise_std * xi
            _write(upper, lower, tiled, new, inside)
            squares += tl.where(inside, new * new, 0.0)
    if BOUNDED:
        norm = tl.sqrt_rn(tl.sum(squares, 0))
        if norm > radius:
            tl.debug_barrier()  # the loads below may be another thread's stores
            for start in range(0, COUNT, BLOCK):
                at = start + tl.arange(0, BLOCK)
                tiled = _tiled(model, at, unit, HIGH, LOW, WIDTH)
                new = _read(upper, lower, tiled, at < COUNT) * (radius / norm)
                _write(upper, lower, tiled, new, at < COUNT)


@_jit(do_not_specialize=["key", "first"])
def _plain_update(
    weights, gradient, key, first, count, pairs, shrink, rate, noise_std, BLOCK: tl.constexpr
):
    """A program takes one model and BLOCK of its words."""
    model = tl.program_id(0).to(tl.int64)
    j = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    z, z_other = _normals(key, (first + model) * pairs + j)
    for side in tl.static_range(2):
        at = j + side * pairs
        inside = (j < pairs) & (at < count)
        g = tl.load(gradient + model * count + at, mask=inside, other=0.0)
        old = tl.load(weights + model * count + at, mask=inside, other=0.0)
        xi = z if side == 0 else z_other
        new = old * shrink - rate * g + noise_std * xi
        tl.store(weights + model * count + at, new, mask=inside)


@_jit
def _split(
    weights, upper, lower, unit,
    COUNT: tl.constexpr, HIGH: tl.constexpr, LOW: tl.constexpr, WIDTH: tl.constexpr,
    BLOCK: tl.constexpr,
):  # fmt: skip
    model = tl.program_id(0).to(tl.int64)
    for start in range(0, COUNT, BLOCK):
        at = start + tl.arange(0, BLOCK)
        value = tl.load(weights + model * COUNT + at, mask=at < COUNT, other=0.0)
        _write(upper, lower, _tiled(model, at, unit, HIGH, LOW, WIDTH), value, at < COUNT)


@_jit
def _join(
    out, upper, lower, unit,
    COUNT: tl.constexpr, HIGH: tl.constexpr, LOW: tl.constexpr, WIDTH: tl.constexpr,
    BLOCK: tl.constexpr,
):  # fmt: skip
    model = tl.program_id(0).to(tl.int64)
    for start in range(0, COUNT, BLOCK):
        at = start + tl.arange(0, BLOCK)
        value = _read(upper, lower, _tiled(model, at, unit, HIGH, LOW, WIDTH), at < COUNT)
        tl.store(out + model * COUNT + at, value, mask=at < COUNT)


@_jit
def _read(upper, lower, at, inside):
    """The float32 of two halves."""
    top = tl.load(upper + at, mask=inside, other=0).to(tl.int32) << 16
    return (top + tl.load(lower + at, mask=inside, other=0)).to(tl.float32, bitcast=True)


@_jit
def _write(upper, lower, at, value, inside):
    """Halves whose sum is exact; ties of the upper one go away from zero."""
    bits = value.to(tl.int32, bitcast=True)
    top = (bits + 0x8000) >> 16
    tl.store(upper + at, top.to(tl.int16), mask=inside)
    tl.store(lower + at, (bits - (top << 16)).to(tl.int16), mask=inside)


@_jit
def _tiled(model, at, unit, HIGH: tl.constexpr, LOW: tl.constexpr, WIDTH: tl.constexpr):
    """Where coordinate `at` of a model lies in tile order."""
    output = at // WIDTH
    member = model % unit
    leading = member * HIGH + output
    if LOW > 0:
        trailing = unit * HIGH + member * LOW + output - HIGH
        leading = tl.where(output < HIGH, leading, trailing)
    place = (model // unit * unit * (HIGH + LOW) + leading) * WIDTH + at % WIDTH
    if WIDTH % 8 == 0:  # runs of 8 stay within a row
        place = tl.max_contiguous(tl.multiple_of(place, 8), 8)
    return place


@_jit(do_not_specialize=["key", "first"])
def _uniforms(out, key, first, scale, count, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    odd = (_words(key, first + at).to(tl.int64) >> 40) * 2 + 1
    tl.store(out + at, odd.to(tl.float32) * 0.000000059604644775390625 * scale, mask=at < count)


@_jit
def _words(key, position):
    """`counters.words`."""
    x = key.to(tl.uint64) + (position + 1).to(tl.uint64) * _WEYL
    x = (x ^ (x >> 30)) * _FIRST
    x = (x ^ (x >> 27)) * _SECOND
    return x ^ (x >> 31)


@_jit
def _normals(key, position):
    """`counters.normals`: the pair of normals of each word."""
    x = _words(key, position)
    signed = (x.to(tl.int32) | 1).to(tl.float32)
    bits = signed.to(tl.int32, bitcast=True) & 0x7FFFFFFF
    m = ((bits & 0x007FFFFF) | 0x3F800000).to(tl.float32, bitcast=True) - 1.5
    log = ((((((m * _L7 + _L6) * m + _L5) * m + _L4) * m + _L3) * m + _L2) * m + _L1) * m + _L0
    radius = tl.sqrt_rn(tl.maximum((bits - 0x4F000000).to(tl.float32) * _OCTAVE + log, 0.0))
    radius = tl.where(signed < 0, -radius, radius)
    turn = (x >> 32).to(tl.int32).to(tl.float32) * 0.0000000004656612873077393
    square = turn * turn
    sine = ((((square * _S4 + _S3) * square + _S2) * square + _S1) * square + _S0) * turn
    cosine = (((square * _C4 + _C3) * square + _C2) * square + _C1) * square + _C0
    return cosine * (1.0 - square) * radius, sine * radius
