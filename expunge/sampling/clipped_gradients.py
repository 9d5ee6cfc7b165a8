"""Per-record gradients of a network, each clipped, summed in float64, in bounded memory.

    (1/nbar) sum_i g_i min(1, C (1 - kappa)/||g_i||),   g_i = grad loss(module(x_i), y_i)

Only the data term: weight decay is added by the caller, after clipping (THEORY E34). g_i is
computed in the module's own precision; its norm, the scale and the sum are float64. kappa covers
the rounding of norm and product, so that no record's clipped gradient is longer than C. The bounds
ask for nothing else in the clipped regime (THEORY 2.4): any function of the record, in whatever
precision, that is at most C long. So a gradient that is not finite counts as 0 (`left_out`).

The module runs in evaluation mode (no dropout), one record at a time, so that nothing mixes
records. torch.func batches over records; torch's recurrent layers have no rule for that, so that
the paper's LSTM goes as an ensemble with one model for each record (`sampling/recurrent`), and
other recurrent modules, as those that torch.func cannot follow, one record after another.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import grad, vmap

from expunge.core.inputs import Columns, Inputs
from expunge.losses.objective import UNIT
from expunge.sampling.left_out import LeftOut, sum_usable
from expunge.sampling.networks import Network, call_with
from expunge.sampling.recurrent import Recurrent

__all__ = [
    "MEMORY",
    "Batch",
    "chunk_rows",
    "clipped_gradients",
    "clipped_mean",
    "per_record",
    "sum_rounding",
]

Batch = Callable[[Tensor], tuple[Inputs, Tensor]]  # row numbers to inputs and targets
COLUMNS = 4096  # parameters that are float64 at a time
CHUNK = 512  # records of one pass, where gradients are not told apart
MEMORY = 2**26  # bytes for one chunk's per-record gradients; on a GPU more is faster


def clipped_gradients(
    network: Network,
    weights: Tensor,
    batch: Batch,
    rows: Tensor,
    *,
    clip: float,
    divisor: float | None = None,
    memory: int = MEMORY,
    left_out: LeftOut | None = None,
) -> Tensor:
    """The sum of clipped gradients over the divisor: (parameters,) float64, where `weights` are.

    Args:
        weights: (parameters,) float64.
        batch: Inputs and targets of the rows it is given.
        rows: Numbers of the records that take part.
        divisor: nbar; the number of rows if None.
        memory: Bytes for one chunk's per-record gradients.
        left_out: Is told of records whose gradient is not finite, which contribute nothing.
    """
    total = torch.zeros(network.parameters, dtype=torch.float64)
    if not len(rows):
        return total.to(weights.device)
    left_out = LeftOut() if left_out is None else left_out

    def summed(chosen: Tensor) -> Tensor:
        gradients = per_record(network, weights, *batch(chosen))
        part, usable = _summed(gradients, network.parameters, clip)
        left_out.add(chosen[~usable.cpu()])
        return part.cpu()

    with _evaluating(network.module):
        for chosen in rows.split(chunk_rows(network.parameters, memory)):
            total += sum_usable(summed, chosen, left_out)
    return (total / (len(rows) if divisor is None else divisor)).to(weights.device)


def clipped_mean(
    network: Network,
    weights: Tensor,
    batch: Batch,
    rows: Tensor,
    *,
    clip: float,
    divisor: float | None = None,
    left_out: LeftOut | None = None,
) -> Tensor:
    """The mean gradient, clipped as a whole: for steps on records that both chains share.

    It bounds the step, not a record's share in it. The module's own parameters are overwritten:
    give a copy.

    Args:
        left_out: Is told of records whose gradient is not finite, which contribute nothing.
    """
    total = torch.zeros(network.parameters, dtype=torch.float64)
    if not len(rows):
        return total.to(weights.device)
    left_out = LeftOut() if left_out is None else left_out
    parameters = list(network.module.parameters())
    with torch.no_grad():
        for own, part in zip(parameters, network.split(weights).values(), strict=True):
            own.copy_(part)

    def summed(chosen: Tensor) -> Tensor:
        inputs, targets = batch(chosen)
        loss = network.function(network.module(inputs), targets) * len(chosen)
        gradients = torch.autograd.grad(loss, parameters, materialize_grads=True)
        return torch.cat([part.double().flatten() for part in gradients]).cpu()

    with _evaluating(network.module):
        for chosen in rows.split(CHUNK):
            total += sum_usable(summed, chosen, left_out)
    total /= len(rows) if divisor is None else divisor
    squares = total.square().sum()
    if not torch.isfinite(squares):
        return torch.zeros_like(total).to(weights.device)
    return (total * _scales(squares, network.parameters, clip)).to(weights.device)


def per_record(network: Network, weights: Tensor, inputs: Inputs, targets: Tensor) -> list[Tensor]:
    """(records, ...) gradients of each parameter, in the module's order and own precision."""
    own = dict(network.module.named_parameters())
    named = {name: part.to(own[name]) for name, part in network.split(weights).items()}
    device = next(iter(named.values())).device
    inputs, targets = inputs.to(device), targets.to(device)
    if isinstance(network, Recurrent) and isinstance(
        inputs, Tensor
    ):  # a model for each record, all with the same weights
        stacked = weights.to(next(iter(named.values()))).expand(len(inputs), -1)
        return [network.gradient(stacked, inputs[:, None], targets[:, None])]

    def loss(at: dict[str, Tensor], record: Any, target: Tensor) -> Tensor:
        row: Any = inputs.of_one(record) if isinstance(inputs, Columns) else record[None]
        return network.function(call_with(network.module, at, row), target[None])

    if not _recurrent(network.module):
        together = vmap(grad(loss), in_dims=(None, 0, 0), randomness="error")
        try:
            gradients = together(named, _leaves(inputs), targets)
            return [gradients[name] for name in named]
        except RuntimeError as error:
            # a module that looks at values, or an operation without a rule: one after another
            if not any(word in str(error) for word in ("vmap", "Batching rule")):
                raise
    each = [grad(loss)(named, _leaves(inputs[i]), target) for i, target in enumerate(targets)]
    return [torch.stack([gradients[name] for gradients in each]) for name in named]


def _leaves(inputs: Inputs) -> Tensor | dict[str, Tensor]:
    """The parameters as torch.func knows them."""
    return inputs.columns if isinstance(inputs, Columns) else inputs


def chunk_rows(parameters: int, memory: int = MEMORY) -> int:
    """Records in a chunk: gradients of two float64 copies' size fit."""
    return max(1, memory // (16 * parameters))


def sum_rounding(
    *, rows: int, parameters: int, clip: float, divisor: float, memory: int = MEMORY
) -> float:
    """A bound on the Euclidean error of summing and dividing; public constants only.

    A chunk of c rows and the sum of ceil(n/c) chunks are off by at most g(c + n/c) sum ||g_i||,
    g(k) = k u/(1 - k u), in whatever order.
    """
    chunk = min(rows, chunk_rows(parameters, memory))
    operations = (chunk + -(-rows // chunk) + 4) * UNIT
    return operations / (1 - operations) * rows * clip / divisor


def _summed(gradients: list[Tensor], parameters: int, clip: float) -> tuple[Tensor, Tensor]:
    """Sum of the clipped rows of finite length, (parameters,) float64, and which these are."""
    squares = gradients[0].new_zeros(len(gradients[0]), dtype=torch.float64)
    for piece in _pieces(gradients):
        squares += torch.linalg.vecdot(piece, piece)
    usable = torch.isfinite(squares)
    scales, whole = _scales(squares[usable], parameters, clip), bool(usable.all())
    parts = (piece if whole else piece[usable] for piece in _pieces(gradients))
    return torch.cat([scales @ part for part in parts]), usable


def _pieces(gradients: list[Tensor]) -> Iterator[Tensor]:
    """(records, some parameters) in float64, so few at a time that copies are cheap."""
    for gradient in gradients:
        for piece in gradient.flatten(1).split(COLUMNS, dim=1):
            yield piece.double()


def _scales(squares: Tensor, parameters: int, clip: float) -> Tensor:
    """What shortens vectors of these squared norms to the clip, rounding included."""
    # Squares, their sum and the root err by less than (parameters + 4) u, the product by u.
    most = clip * (1 - (parameters + 16) * UNIT)
    tiny = torch.finfo(torch.float64).tiny
    return (most / squares.sqrt().clamp_min(tiny)).clamp_max(1.0)


@contextmanager
def _evaluating(module: nn.Module) -> Iterator[None]:
    """Evaluation mode; cuDNN's recurrent layers have no gradient there and are left out."""
    training = {layer: layer.training for layer in module.modules()}
    cudnn = torch.backends.cudnn.enabled
    try:
        module.eval()
        if _recurrent(module):
            torch.backends.cudnn.enabled = False
        yield
    finally:
        torch.backends.cudnn.enabled = cudnn
        for layer, mode in training.items():
            layer.training = mode


def _recurrent(module: nn.Module) -> bool:
    return any(isinstance(layer, nn.RNNBase) for layer in module.modules())
