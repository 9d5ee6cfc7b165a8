"""Stacked linear heads in plain PyTorch: the gradient of many models on the same rows.

    gradient = (link(W X') X - label' X) / rows

for stacked weights W (models, outputs, features) and rows X. `link` is softmax, sigmoid or the
identity and `label` the one-hot, 0/1 or clipped target, so the second term is the same for every
model and is computed once. A tile of scores never leaves the cache. Other losses go through their
own `residual`.
"""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from expunge.losses import Logistic, Softmax, Squared
from expunge.losses.linear import LinearLoss
from expunge.sampling.updates import cpu_kernels

__all__ = ["gradient_on"]

SCORES = {"cpu": 64 * 24 * 512, "cuda": 2**28}  # numbers in a tile of scores


def gradient_on(
    loss: LinearLoss, features: Tensor, targets: Tensor, half: bool = False
) -> Callable[[Tensor], Tensor]:
    """The mean gradient on these rows, without the ridge, as a function of stacked weights.

    Its result is valid until the next call: fresh memory would cost as much time as softmax.

    Args:
        half: Round the factors of both products to bfloat16 (CUDA).
    """
    label, kept = _label(loss, targets), dict[torch.Size, tuple[Tensor, Tensor]]()
    moment = features.new_zeros(())
    if label is not None:
        moment = label.to(features.dtype).T @ features

    def gradient(weights: Tensor) -> Tensor:
        models, outputs, width = weights.shape
        stacked = weights.reshape(models * outputs, width)
        rows = min(len(features), max(1, SCORES[weights.device.type] // len(stacked)))
        if weights.shape not in kept:
            size = 2, rows * len(stacked)
            kept[weights.shape] = torch.empty_like(stacked), stacked.new_empty(size)
        total, buffer = kept[weights.shape]
        total.view_as(weights).copy_(-moment)
        for start in range(0, len(features), rows):
            part = features[start : start + rows]
            scores, out = buffer[:, : len(stacked) * len(part)].view(2, len(stacked), len(part))
            _multiply(stacked, part.T, scores, half)
            shape = models, outputs, len(part)
            linked = _link(loss, scores.view(shape), targets[start : start + rows], out.view(shape))
            _multiply(linked.view_as(scores), part, total, half, add=True)
        return total.view_as(weights).div_(len(features))

    return gradient


def _label(loss: LinearLoss, targets: Tensor) -> Tensor | None:
    """Labels as numbers (rows, outputs); None where the loss's own residual is used."""
    if isinstance(loss, Softmax):
        return one_hot(targets.long(), loss.classes)
    if isinstance(loss, Logistic):
        return (targets > 0)[:, None]
    return loss.clipped(targets)[:, None] if isinstance(loss, Squared) else None


def _link(loss: LinearLoss, scores: Tensor, targets: Tensor, out: Tensor) -> Tensor:
    """The link of scores (models, outputs, rows), which may be overwritten, as `out` is."""
    if isinstance(loss, Softmax):
        if cpu_kernels.serves(scores):
            return cpu_kernels.softmax(scores)
        return torch.softmax(scores, dim=1, out=out)
    if isinstance(loss, Logistic):
        return scores.sigmoid_()
    if isinstance(loss, Squared):
        return scores
    residual = loss.residual(scores.transpose(1, 2), targets)  # (models, rows, outputs)
    return residual.transpose(1, 2).contiguous()


def _multiply(left: Tensor, right: Tensor, out: Tensor, half: bool, add: bool = False) -> None:
    """Compute out = left right, or out += left right."""
    if half:
        product = torch.mm(left.bfloat16(), right.bfloat16(), out_dtype=torch.float32)
        out.copy_(out + product if add else product)
    else:
        torch.addmm(out, left, right, beta=int(add), out=out)
