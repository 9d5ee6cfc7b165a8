"""A loss of the user's, called so that what is wrong with it or with the targets is one line.

torch names an index, a dtype or nothing at all; the culprit is the target or the function that the
caller gave.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from expunge.errors import InvalidInput

__all__ = ["CheckedLoss"]

# What `torch.func` says of an operation without a rule; its callers then go record by record.
VMAP = ("vmap", "Batching rule")


@dataclass(frozen=True)
class CheckedLoss:
    """(outputs, targets) -> the batch's mean loss, or a refusal that names what is wrong."""

    function: Callable[[Tensor, Tensor], Tensor]

    def __call__(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """The loss of a batch.

        Raises:
            InvalidInput: it cannot be computed for these targets, or is not one number.
        """
        try:
            value = self.function(outputs, targets)
        except (IndexError, RuntimeError, TypeError, ValueError) as error:
            ours = any(word in str(error) for word in VMAP)
            if ours or isinstance(error, torch.OutOfMemoryError):
                raise
            reason = " ".join(str(error).split()) or type(error).__name__
            shapes = f"outputs of {tuple(outputs.shape)} and {targets.dtype} targets"
            raise InvalidInput("loss", f"cannot be computed for {shapes} ({reason})") from error
        if not isinstance(value, Tensor) or value.numel() != 1 or not value.is_floating_point():
            kind = f"{tuple(value.shape)}" if isinstance(value, Tensor) else type(value).__name__
            raise InvalidInput("loss", f"must return one number, the records' mean; not {kind}")
        return value.reshape(())
