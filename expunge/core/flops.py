"""What a pass costs: torch's own counter of products, on one small batch, for each row.

Counted on the CPU in double precision, where recurrent layers have no fused kernels that the
counter does not see inside; normalisations, activations and other element-wise work are not
counted, on either side of a ratio.
"""

import copy
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from expunge.core.inputs import Inputs, mapped

__all__ = ["forward_flops", "training_flops"]

ROWS = 4


def forward_flops(module: nn.Module, inputs: Inputs) -> float:
    """FLOPs of one row's forward pass."""
    probe = _probe(module).eval()
    with torch.no_grad():
        return _counted(lambda rows: probe(rows), inputs)


def training_flops(module: nn.Module, inputs: Inputs) -> float:
    """FLOPs of one row's share in a training step: forward and backward."""
    probe = _probe(module).train()
    return _counted(lambda rows: probe(rows).sum().backward(), inputs)


def _probe(module: nn.Module) -> nn.Module:
    return copy.deepcopy(module).cpu().double()


def _counted(work: Callable[[Inputs], object], inputs: Inputs) -> float:
    rows = mapped(_blank, inputs)
    counter = FlopCounterMode(display=False)
    with torch.random.fork_rng(devices=[]), counter:
        work(rows)
    return counter.get_total_flops() / ROWS


def _blank(inputs: Tensor) -> Tensor:
    rows = torch.zeros_like(inputs[:1], device="cpu")  # the shape counts, never a record
    rows = rows.double() if rows.is_floating_point() else rows
    return rows.repeat(ROWS, *[1] * (rows.ndim - 1))  # batch statistics need several
