"""What a frozen backbone makes of the records: the last layer's inputs, computed once.

A record's features must be a function of that record alone, bit for bit: the head is certified to
a gradient norm far below single precision, and bits that moved with the neighbours in a batch
would tell who they were. So batches are cut by row number, never by who is still there, and that
blanking the neighbours changes no bit is tried on every batch. A module that fails is refused, and
not sent through one by one of its own accord: that choice would tell about the records. Neither
may a module remember what went through it, or draw at random. Public rows have their own batches.
"""

import torch
from torch import Tensor, nn

from expunge.accounting.refusal import InvalidInput
from expunge.unlearning.networks.checks import (
    check_rows_apart,
    last_linear,
    refuse_mixing_when_frozen,
)
from expunge.unlearning.networks.inputs import Inputs
from expunge.unlearning.networks.weights import with_state

__all__ = ["backbone_features"]

BATCH = 256


def backbone_features(
    module: nn.Module, head: str, inputs: Inputs, device: str, one_by_one: bool = False
) -> Tensor:
    """(rows, features) of the layer `head`; single precision at least.

    Args:
        one_by_one: Every record is a batch of its own.

    Raises:
        InvalidInput: the layer is not the last one, a layer mixes records, or the features are
            no finite vectors.
    """
    refuse_mixing_when_frozen(module)
    probe = _Probe(with_state(module, {}, device).eval(), head)
    batches = inputs.split(1 if one_by_one else BATCH)
    features = torch.cat([probe(rows.to(device)).cpu() for rows in batches])
    if not bool(torch.isfinite(features).all()):
        raise InvalidInput("model", f"gives layer {head!r} NaN or infinity")
    check_rows_apart(probe, batches[0].to(device))
    if not all(_apart(probe, rows.to(device), number) for number, rows in enumerate(batches)):
        raise InvalidInput(
            "model",
            "a record's features depend, if only in their last bits, on the other records in its "
            "batch; use Head(one_by_one=True)",
        )
    some = batches[: BATCH if one_by_one else 1]
    again = torch.cat([probe(rows.to(device)).cpu() for rows in some])
    if not torch.equal(again, features[: len(again)]):
        raise InvalidInput(
            "model",
            "gives the same records other features the second time: it remembers what went "
            "through it, or draws at random, even in eval mode",
        )
    return features if features.dtype == torch.float64 else features.float()


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


def _apart(probe: _Probe, rows: Inputs, number: int) -> bool:
    """Whether blanking a random half leaves the rest as it was, bit for bit; and the other half."""
    if len(rows) == 1:
        return True
    generator = torch.Generator().manual_seed(number)
    half = (torch.rand(len(rows), generator=generator) < 0.5).to(rows.device)
    whole = probe(rows)
    for blank in (half, ~half):
        blanked = rows.clone()
        blanked[blank] = 0
        if not torch.equal(probe(blanked)[~blank], whole[~blank]):
            return False
    return True
