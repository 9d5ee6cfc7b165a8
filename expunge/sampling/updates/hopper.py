# ruff: noqa: N803, N806  compile-time constants are upper case, as in Triton
# pyright: reportOptionalMemberAccess=false, reportMissingImports=false
# pyright: reportInvalidTypeForm=false, reportIndexIssue=false
# pyright: reportPossiblyUnboundVariable=false
"""`kernels.residuals` for Hopper, in Gluon: faster, and the same to the last bit.

A program keeps the weights of MODELS models in shared memory and streams rows past them, so weights
are read once, not once for every tile of rows. Two groups of warps take turns: one has the tensor
cores, the other makes residuals of the scores it has; one more warp loads ahead of both.
"""

from __future__ import annotations

import functools

import torch
from torch import Tensor

from expunge.sampling.updates.kernels import Split

try:
    import triton

    if not triton.__version__.startswith("3.6."):
        raise ImportError("Gluon is experimental: only versions that this was tried on")
    from triton.experimental import gluon
    from triton.experimental.gluon import language as gl
    from triton.experimental.gluon.language.nvidia.hopper import (
        fence_async_shared,
        mbarrier,
        tma,
        warpgroup_mma,
        warpgroup_mma_wait,
    )
    from triton.experimental.gluon.nvidia.hopper import TensorDescriptor
except ImportError:
    gluon = gl = None

__all__ = ["launch_residuals", "serves"]

ROWS = 64  # of a tile: what a group of warps multiplies at once
CHUNK = 64  # features that are loaded at once
SHARED = 224 * 1024  # bytes of shared memory that tiles may take, of 227 KiB
LOWEST = 8  # trailing classes; with fewer, sums go another way and there is nothing to gain
WORTH = 2**27  # residuals; with fewer, launching takes longer than computing


def serves(features: Tensor, out: Tensor, split: Split) -> bool:
    """Whether this kernel knows these shapes and is faster; arguments as of `launch_residuals`.

    Descriptors clip what lies beyond the last row of one unit, but not beyond each of several.
    """
    if gluon is None or not _is_hopper(out.device):
        return False
    units, rows, _ = out.shape
    width = -(-features.shape[-1] // CHUNK) * CHUNK
    numbers = width * (ROWS + split.tile * split.columns) + 2 * ROWS * split.tile * split.high
    return (
        split.low >= LOWEST
        and 2 * numbers <= SHARED
        and (units == 1 or rows % (2 * ROWS) == 0)
        and rows >= 2 * ROWS
        and out.numel() >= WORTH
    )


@functools.cache
def _is_hopper(device: torch.device) -> bool:
    return device.type == "cuda" and torch.cuda.get_device_capability(device)[0] == 9


@functools.cache
def _multiprocessors(device: torch.device) -> int:
    return torch.cuda.get_device_properties(device).multi_processor_count


def launch_residuals(
    features: Tensor, weights: Tensor, targets: Tensor, out: Tensor, split: Split
) -> None:
    """The same as `kernels.launch_residuals`, for shapes that it `serves`."""
    (units, rows, columns), width = out.shape, features.shape[-1]
    high, low = split.tile * split.high, split.tile * split.low
    unit = columns // split.columns
    tiles, pairs = units * unit // split.tile, -(-rows // (2 * ROWS))
    programs = _multiprocessors(out.device)
    part = _part(tiles, pairs, programs)
    parts = -(-pairs // part)

    def describe(tensor: Tensor, *block: int) -> object:
        layout = gl.NVMMASharedLayout.get_default_for(list(block), gl.bfloat16)
        return TensorDescriptor.from_tensor(tensor, list(block), layout)

    flat, flat_out = weights.view(-1, width), out.view(-1, columns)
    _residuals[(programs,)](
        describe(features.view(-1, width), ROWS, CHUNK), describe(flat, high, CHUNK),
        describe(flat, low, CHUNK), targets, describe(flat_out, ROWS, high),
        describe(flat_out, ROWS, low), rows, unit, rows if len(features) > 1 else 0,
        tiles * parts, parts, part, pairs,
        CLASSES=split.outputs, HIGH=split.high, LOW=split.low, MODELS=split.tile, ROWS=ROWS,
        CHUNK=CHUNK, CHUNKS=-(-width // CHUNK), num_warps=4,
    )  # fmt: skip


@functools.cache
def _part(tiles: int, pairs: int, programs: int) -> int:
    """Pairs of row tiles in an item, so that programs end at about the same time.

    Loading a tile of weights takes about as long as a pair.
    """
    return min(
        range(pairs, 0, -1),
        key=lambda part: -(-tiles * -(-pairs // part) // programs) * (part + 1),
    )


def _jit(function):
    """`gluon.jit`, or nothing where Gluon is missing."""
    return function if gluon is None else gluon.jit(function)


@_jit
def _residuals(
    features, high_weights, low_weights, targets, high_out, low_out, rows, unit, own_rows, items,
    parts, part, pairs,
    CLASSES: gl.constexpr, HIGH: gl.constexpr, LOW: gl.constexpr, MODELS: gl.constexpr,
    ROWS: gl.constexpr, CHUNK: gl.constexpr, CHUNKS: gl.constexpr,
):  # fmt: skip
    """An item is a tile of models and one of `parts` of the rows, `part` pairs of tiles or less."""
    x = gl.allocate_shared_memory(gl.bfloat16, [CHUNKS, ROWS, CHUNK], features.layout)
    w_high = gl.allocate_shared_memory(
        gl.bfloat16, [CHUNKS, MODELS * HIGH, CHUNK], high_weights.layout
    )
    w_low = gl.allocate_shared_memory(
        gl.bfloat16, [CHUNKS, MODELS * LOW, CHUNK], low_weights.layout
    )
    first = gl.allocate_shared_memory(gl.bfloat16, [ROWS, MODELS * HIGH], high_out.layout)
    second = gl.allocate_shared_memory(gl.bfloat16, [ROWS, MODELS * HIGH], high_out.layout)
    x_full = gl.allocate_shared_memory(gl.int64, [CHUNKS, 1], mbarrier.MBarrierLayout())
    x_empty = gl.allocate_shared_memory(gl.int64, [CHUNKS, 1], mbarrier.MBarrierLayout())
    w_full = gl.allocate_shared_memory(gl.int64, [CHUNKS, 1], mbarrier.MBarrierLayout())
    w_empty = gl.allocate_shared_memory(gl.int64, [CHUNKS, 1], mbarrier.MBarrierLayout())
    turns = gl.allocate_shared_memory(gl.int64, [2, 1], mbarrier.MBarrierLayout())
    for k in gl.static_range(CHUNKS):
        mbarrier.init(x_full.index(k), count=1)
        mbarrier.init(x_empty.index(k), count=1)
        mbarrier.init(w_full.index(k), count=1)
        mbarrier.init(w_empty.index(k), count=2)
    for side in gl.static_range(2):
        mbarrier.init(turns.index(side), count=1)
    tiles = x, w_high, w_low
    barriers = x_full, x_empty, w_full, w_empty
    work = rows, unit, own_rows, items, parts, part, pairs
    gl.warp_specialize(
        [
            (_compute, (targets, high_out, low_out, tiles, first, barriers, turns, work,
                        0, CLASSES, HIGH, LOW, MODELS, ROWS, CHUNKS)),
            (_compute, (targets, high_out, low_out, tiles, second, barriers, turns, work,
                        1, CLASSES, HIGH, LOW, MODELS, ROWS, CHUNKS)),
            (_load, (features, high_weights, low_weights, tiles, barriers, work,
                     HIGH, LOW, MODELS, ROWS, CHUNK, CHUNKS)),
        ],
        [4, 1],
        [232, 40],
    )  # fmt: skip


@_jit
def _place(item, work, MODELS: gl.constexpr):
    """An item's unit, tile within it and first pair of rows; how many the program did before."""
    _, unit, _, _, parts, part, _ = work
    tile = item // parts
    per_unit = unit // MODELS
    return tile // per_unit, tile % per_unit, item % parts * part, item // gl.num_programs(0)


@_jit
def _load(
    features, high_weights, low_weights, tiles, barriers, work,
    HIGH: gl.constexpr, LOW: gl.constexpr, MODELS: gl.constexpr,
    ROWS: gl.constexpr, CHUNK: gl.constexpr, CHUNKS: gl.constexpr,
):  # fmt: skip
    """Each chunk of an item's weights and rows as soon as the one before in its place is used."""
    x, w_high, w_low = tiles
    x_full, x_empty, w_full, w_empty = barriers
    rows, unit, own_rows, items, _, part, pairs = work
    rows_loaded = 0
    for item in range(gl.program_id(0), items, gl.num_programs(0)):
        group, inside, start, turn = _place(item, work, MODELS)
        high = group * unit * (HIGH + LOW) + inside * (MODELS * HIGH)
        low = group * unit * (HIGH + LOW) + unit * HIGH + inside * (MODELS * LOW)
        row = gl.where(own_rows > 0, group * rows, 0) + start * (2 * ROWS)
        for step in range(2 * gl.minimum(part, pairs - start)):
            for k in gl.static_range(CHUNKS):
                if step == 0:
                    mbarrier.wait(w_empty.index(k), (turn & 1) ^ 1)
                    mbarrier.expect(w_full.index(k), MODELS * (HIGH + LOW) * CHUNK * 2)
                    tma.async_copy_global_to_shared(
                        high_weights, [high, k * CHUNK], w_full.index(k), w_high.index(k)
                    )
                    tma.async_copy_global_to_shared(
                        low_weights, [low, k * CHUNK], w_full.index(k), w_low.index(k)
                    )
                mbarrier.wait(x_empty.index(k), (rows_loaded & 1) ^ 1)
                mbarrier.expect(x_full.index(k), ROWS * CHUNK * 2)
                tma.async_copy_global_to_shared(
                    features, [row + step * ROWS, k * CHUNK], x_full.index(k), x.index(k)
                )
            rows_loaded += 1


@_jit
def _compute(
    targets, high_out, low_out, tiles, staged, barriers, turns, work,
    SIDE: gl.constexpr, CLASSES: gl.constexpr, HIGH: gl.constexpr, LOW: gl.constexpr,
    MODELS: gl.constexpr, ROWS: gl.constexpr, CHUNKS: gl.constexpr,
):  # fmt: skip
    """Row tiles 0, 2, 4, ... of an item for side 0, the others for side 1.

    The sides load in turn, so a tile in `x` is that of a side's own turn if the parity is its own.
    """
    LOG2E: gl.constexpr = 1.4426950408889634
    of_high: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, MODELS * HIGH, 16])
    of_low: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, MODELS * LOW, 16])
    x, w_high, w_low = tiles
    x_full, x_empty, w_full, w_empty = barriers
    rows, unit, own_rows, items, _, part, pairs = work
    done = 0
    for item in range(gl.program_id(0), items, gl.num_programs(0)):
        group, inside, start, turn = _place(item, work, MODELS)
        own = gl.where(own_rows > 0, group * rows, 0)
        stop = gl.minimum(start + part, pairs)
        for pair in range(start, stop):
            row = (2 * pair + SIDE) * ROWS
            place = row + gl.arange(0, ROWS, gl.SliceLayout(1, of_high))
            label = gl.load(targets + own + place, mask=place < rows, other=0).to(gl.int32)
            upper = gl.zeros((ROWS, MODELS * HIGH), gl.float32, of_high)
            lower = gl.zeros((ROWS, MODELS * LOW), gl.float32, of_low)
            mbarrier.wait(turns.index(SIDE), (done & 1) ^ (1 - SIDE))
            for k in gl.static_range(CHUNKS):
                mbarrier.wait(w_full.index(k), turn & 1)
                mbarrier.wait(x_full.index(k), SIDE)
                upper = warpgroup_mma(
                    x.index(k), w_high.index(k).permute((1, 0)), upper,
                    use_acc=k > 0, is_async=True,
                )  # fmt: skip
                lower = warpgroup_mma(
                    x.index(k), w_low.index(k).permute((1, 0)), lower,
                    use_acc=k > 0, is_async=True,
                )  # fmt: skip
                if k > 0:
                    upper, lower = warpgroup_mma_wait(2, deps=(upper, lower))
                    mbarrier.arrive(x_empty.index(k - 1), count=1)
                    if pair == stop - 1:
                        mbarrier.arrive(w_empty.index(k - 1), count=1)
            mbarrier.arrive(turns.index(1 - SIDE), count=1)
            upper, lower = warpgroup_mma_wait(0, deps=(upper, lower))
            mbarrier.arrive(x_empty.index(CHUNKS - 1), count=1)
            if pair == stop - 1:
                mbarrier.arrive(w_empty.index(CHUNKS - 1), count=1)
            done += 1
            # from here on as in `kernels._residuals`
            scores = upper.reshape((ROWS, MODELS, HIGH))
            rest = lower.reshape((ROWS, MODELS, LOW))
            of_scores: gl.constexpr = scores.type.layout
            of_rest: gl.constexpr = rest.type.layout
            one = gl.arange(0, HIGH, gl.SliceLayout(0, gl.SliceLayout(1, of_scores)))
            other = HIGH + gl.arange(0, LOW, gl.SliceLayout(0, gl.SliceLayout(1, of_rest)))
            if HIGH + LOW > CLASSES:
                rest = gl.where(other[None, None, :] < CLASSES, rest, float("-inf"))
            folded = gl.max(scores.reshape((ROWS, MODELS, HIGH // LOW, LOW)), 2)
            largest = gl.max(gl.maximum(gl.convert_layout(folded, of_rest), rest), 2) * LOG2E
            of_largest: gl.constexpr = gl.SliceLayout(2, of_scores)
            scores = gl.exp2(scores * LOG2E - gl.convert_layout(largest, of_largest)[:, :, None])
            rest = gl.exp2(rest * LOG2E - largest[:, :, None])
            folded = gl.sum(scores.reshape((ROWS, MODELS, HIGH // LOW, LOW)), 2)
            total = gl.sum(gl.convert_layout(folded, of_rest) + rest, 2)
            share = gl.inline_asm_elementwise(
                "rcp.approx.ftz.f32 $0, $1;", "=f,f", [total], gl.float32, is_pure=True, pack=1
            )
            target = gl.convert_layout(label, gl.SliceLayout(1, gl.SliceLayout(2, of_rest)))
            hit = target[:, None, None] == other[None, None, :]
            p = rest * share[:, :, None] - hit.to(gl.float32)
            small = staged._reinterpret(gl.bfloat16, [ROWS, MODELS * LOW], low_out.layout)
            tma.store_wait(0)
            small.store(gl.convert_layout(p.to(gl.bfloat16).reshape((ROWS, MODELS * LOW)), of_low))
            fence_async_shared()
            column = unit * HIGH + inside * (MODELS * LOW)
            tma.async_copy_shared_to_global(low_out, [group * rows + row, column], small)
            share = gl.convert_layout(share, of_largest)
            target = gl.convert_layout(label, gl.SliceLayout(1, gl.SliceLayout(2, of_scores)))
            hit = target[:, None, None] == one[None, None, :]
            p = scores * share[:, :, None] - hit.to(gl.float32)
            tma.store_wait(0)
            p = p.to(gl.bfloat16).reshape((ROWS, MODELS * HIGH))
            staged.store(gl.convert_layout(p, of_high))
            fence_async_shared()
            column = inside * (MODELS * HIGH)
            tma.async_copy_shared_to_global(high_out, [group * rows + row, column], staged)
    tma.store_wait(0)
