"""Values that are not finite: no private record decides whether a request is honoured.

At fit, before anything was learned, they are refused. At a request they are left out: to refuse
there would tell something about the records (THEORY 5.1 d). The operator alone is told.
"""

import warnings

import torch
from torch import Tensor, nn

from expunge.core.inputs import Inputs
from expunge.errors import NoCertificate, RecordsWarning
from expunge.losses.checked_loss import CheckedLoss
from expunge.sampling.left_out import LeftOut

__all__ = ["backward", "check_left_out", "tell_of_training"]


def check_left_out(left_out: LeftOut, records: int, *, smooth: bool) -> None:
    """Tell the operator of records without a gradient; before anything is learned, refuse more.

    Args:
        smooth: The gradient of every record was declared to be.

    Raises:
        NoCertificate: at fit, no record has one, or what is declared of all is wrong.
    """
    if left_out.fitting and len(left_out.rows) == records:
        raise NoCertificate("no record has a loss and a gradient that are finite")
    if left_out.fitting and left_out.rows and smooth:
        raise NoCertificate(
            "smoothness: declared of every record's gradient, and some are not finite; leave "
            "it out, or look for them in the records"
        )
    left_out.warn(records)


def backward(
    module: nn.Module, loss: CheckedLoss, inputs: Inputs, targets: Tensor, fitting: bool
) -> bool:
    """Put the batch's gradient where the optimiser looks for it; whether it is finite.

    Args:
        fitting: What module and loss raise is raised, because it is the caller's mistake.
    """
    try:
        loss(module(inputs), targets).backward()
    except torch.OutOfMemoryError:
        raise
    except Exception:  # whatever a module or a loss of the user's does with a value
        if fitting:
            raise
        return False
    gradients = (p.grad for p in module.parameters() if p.grad is not None)
    return all(bool(torch.isfinite(gradient).all()) for gradient in gradients)


def tell_of_training(finite: bool, steps: int, left_out: int) -> None:
    """Tell the operator, and nobody else, what training did with values that are not finite."""
    if left_out or not finite:
        left = f"left out {left_out} of {steps} steps" if finite else "kept its start"
        warnings.warn(
            f"training met values that are not finite and {left}. This is for you alone: it "
            "depends on private records",
            RecordsWarning,
            stacklevel=3,
        )
