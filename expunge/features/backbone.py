"""What a frozen backbone makes of the records: the last layer's inputs, computed once.

A record's features must be a function of that record alone, bit for bit: the head is certified to
a gradient norm far below single precision, and bits that moved with the neighbours in a batch
would tell who they were. So batches are cut by row number, never by who is still there, and that
blanking the neighbours changes no bit is tried on every batch: a random half of them, the other
half, all but one (the record with fewest numbers that are not 0, which a batch cut to its longest
record would betray, the one with most, and some at random). A module that fails is refused, and
not sent through one by one of its own accord: that choice would tell about the records.

Neither may a module remember what went through it, or draw at random: every batch and every try
has a copy of its own, and records that go one by one give the same from last to first. Public
rows have their own batches.

A private record whose features are not finite has zeros instead, and is counted for the operator:
no single one of them decides whether there is a model (THEORY 5.1 d).
"""

import copy
import warnings
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from expunge.core.inputs import Inputs, tensors_in
from expunge.core.module_state import with_state
from expunge.errors import InvalidInput, RecordsWarning
from expunge.features.module_checks import (
    check_rows_apart,
    last_linear,
    refuse_mixing_when_frozen,
    refuse_remembering,
    same,
)

__all__ = ["backbone_features"]

BATCH = 256
SINGLE = 3  # records drawn to stay alone in their batch


def backbone_features(
    module: nn.Module,
    head: str,
    inputs: Inputs,
    device: str,
    one_by_one: bool = False,
    *,
    private: bool = False,
) -> Tensor:
    """Inputs (rows, features) of the layer `head`, in single precision at least.

    Args:
        one_by_one: Every record is a batch of its own.
        private: Records whose features are not finite have zeros, and a warning counts them.

    Raises:
        InvalidInput: the layer is not the last one, a layer mixes records, or the features are
            no finite vectors: of a public record, or of every private one.
    """
    refuse_mixing_when_frozen(module)
    clean = with_state(module, {}, device).eval()
    refuse_remembering(clean, inputs)

    def fresh(rows: Inputs) -> Tensor:
        return _Probe(copy.deepcopy(clean), head)(rows.to(device)).cpu()

    batches = inputs.split(1 if one_by_one else BATCH)
    if one_by_one:
        features = _one_after_another(_Probe(copy.deepcopy(clean), head), batches, device)
        backwards = _one_after_another(_Probe(copy.deepcopy(clean), head), batches[::-1], device)
        again, first = backwards.flip(0), features
    else:
        features = torch.cat([fresh(rows) for rows in batches])
        again, first = fresh(batches[0]), features[: len(batches[0])]
    finite = torch.isfinite(features).all(1)
    if not bool(finite.all()) and not (private and bool(finite.any())):
        raise InvalidInput("model", f"gives layer {head!r} NaN or infinity")
    if not same(again, first):
        raise InvalidInput(
            "model",
            "gives the same records other features the second time: it remembers what went "
            "through it, or draws at random, even in eval mode",
        )
    check_rows_apart(fresh, batches[0])
    if not all(_apart(fresh, rows, number) for number, rows in enumerate(batches)):
        raise InvalidInput(
            "model",
            "a record's features depend, if only in their last bits, on the other records in its "
            "batch; use Head(one_by_one=True)",
        )
    features[~finite] = 0
    if not bool(finite.all()):
        warnings.warn(
            f"the model gives layer {head!r} NaN or infinity for {int((~finite).sum()):,} of "
            f"{len(finite):,} private records; they have zeros. This is for you alone: it depends "
            "on private records",
            RecordsWarning,
            stacklevel=2,
        )
    return features if features.dtype == torch.float64 else features.float()


def _one_after_another(probe: "_Probe", batches: Sequence[Inputs], device: str) -> Tensor:
    return torch.cat([probe(rows.to(device)).cpu() for rows in batches])


class _Probe:
    """Runs a module and keeps what its last layer was given."""

    def __init__(self, module: nn.Module, head: str) -> None:
        self.module, self.head = module, head
        self.seen: list[tuple[Tensor, Tensor]] = []
        last_linear(module, head).register_forward_hook(self._keep)

    def _keep(self, layer: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        self.seen.append((inputs[0], output))

    @torch.no_grad()
    def __call__(self, rows: Inputs) -> Tensor:
        self.seen.clear()
        output = self.module(rows)
        if len(self.seen) != 1:
            raise InvalidInput(
                "head", f"layer {self.head!r} runs {len(self.seen)} times in a forward pass, not 1"
            )
        ((features, scores),) = self.seen
        if not (isinstance(output, Tensor) and _same(output, scores)):
            raise InvalidInput(
                "head",
                f"layer {self.head!r} is not the last one: the model's output is not its output "
                "(softmax and the like belong into the loss)",
            )
        if features.ndim != 2:
            raise InvalidInput(
                "head",
                f"layer {self.head!r} is given {tuple(features.shape)}; one vector for each "
                "record is needed",
            )
        return features.clone()


def _same(output: Tensor, scores: Tensor) -> bool:
    """The same numbers; a single column may have been squeezed, a blanked record give NaN."""
    return output.numel() == scores.numel() and torch.allclose(
        output.flatten(), scores.flatten(), rtol=0, atol=0, equal_nan=True
    )


def _apart(fresh: Callable[[Inputs], Tensor], rows: Inputs, number: int) -> bool:
    """Whether blanking others leaves a record's features as they were, bit for bit. Tried."""
    if len(rows) == 1:
        return True
    generator = torch.Generator().manual_seed(number)
    half = torch.rand(len(rows), generator=generator) < 0.5
    filled = sum((part != 0).reshape(len(rows), -1).sum(1) for _, part in tensors_in(rows))
    assert isinstance(filled, Tensor)
    drawn = torch.randint(len(rows), (SINGLE,), generator=generator)
    single = {int(filled.argmin()), int(filled.argmax()), *drawn.tolist()}
    whole = fresh(rows)
    for kept in (half, ~half, *(torch.arange(len(rows)) == row for row in sorted(single))):
        blanked = rows.clone()
        blanked[~kept] = 0
        if not same(fresh(blanked)[kept], whole[kept]):
            return False
    return True
