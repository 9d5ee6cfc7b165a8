# pyright: reportOptionalMemberAccess=false
"""What numba compiles for ensembles on a CPU: normals, one fused update, softmax (`cpu_loops.py`).

They serve if numba is installed and there are enough numbers to make up for loading it; torch
computes what `serves` declines. Each call stays in its thread and releases the interpreter.
"""

import functools

import numpy as np
import torch
from torch import Tensor

from expunge.core import counters

__all__ = ["normals", "serves", "softmax", "update"]

WORTH = 2**15  # numbers; loading the compiler takes as long as a thousand passes over them


def serves(like: Tensor) -> bool:
    """Whether the loops take such a tensor here."""
    return like.dtype == torch.float32 and _is_worth_it(like.device, like.numel())


def normals(
    key: int, first: int, models: int, count: int, device: torch.device | str = "cpu"
) -> Tensor:
    """Draw `counters.normals`; by the loops if they serve: faster, the same bits."""
    pairs = counters.half(count)
    if not _is_worth_it(torch.device(device), 2 * models * pairs):
        return counters.normals(key, first, models, count, device)
    out = torch.empty(models, 2, pairs)
    _loops().normals(_as_unsigned(key), first, out.numpy())
    return out.view(models, 2 * pairs)[:, :count]


def update(
    weights: Tensor,
    gradient: Tensor,
    *,
    key: int,
    first: int,
    shrink: float,
    rate: float,
    noise_std: float,
    radius: float | None,
) -> None:
    """weights <- Proj( shrink weights - rate gradient + noise_std xi ), in place.

    Args:
        weights: (models, ...) contiguous float32.
        first: Number of the first model, whose xi is `counters.normals(key, first, ...)`.
        radius: The radius of the ball around 0; None for no constraint.
    """
    flat = weights.view(len(weights), -1)
    change = gradient.reshape(flat.shape).contiguous()
    scalars = np.float32(shrink), np.float32(rate), np.float32(noise_std)
    bound = np.inf if radius is None else float(radius)
    _loops().update(flat.numpy(), change.numpy(), _as_unsigned(key), first, *scalars, bound)


def softmax(scores: Tensor) -> Tensor:
    """Softmax of scores (models, outputs, rows) over the outputs, in place."""
    _loops().softmax(scores.numpy())
    return scores


@functools.cache
def _loops():
    """The loops, compiled when first called, not at import; None without numba.

    Compiled code is kept on disk and does not notice when another file's constants change, so it is
    used only if it draws what `counters` draws.
    """
    try:
        from expunge.sampling.updates import cpu_loops
    except ImportError:
        return None
    sample = torch.empty(1, 2, 512)
    cpu_loops.normals(_as_unsigned(1), 0, sample.numpy())
    expected = counters.normals(1, 0, 1, 1024).view_as(sample)
    return cpu_loops if torch.equal(sample, expected) else None


def _is_worth_it(device: torch.device, numbers: int) -> bool:
    return device.type == "cpu" and numbers >= WORTH and _loops() is not None


def _as_unsigned(key: int) -> np.uint64:
    return np.uint64(key % 2**64)
