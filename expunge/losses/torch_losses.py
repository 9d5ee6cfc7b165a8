"""torch's losses that are convex in the last layer of a network, as losses of ours.

    cross_entropy                       Softmax
    binary_cross_entropy_with_logits    Logistic
    mse_loss                            Squared

Anything else is refused, options that change a loss too: what is certified would be another one.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from expunge.errors import InvalidInput
from expunge.losses.logistic import Logistic
from expunge.losses.softmax import Softmax
from expunge.losses.squared import Squared

__all__ = ["convex_in_last_layer", "kind_of"]

Kind = type[Softmax | Logistic | Squared]
KINDS: dict[str, Kind] = {
    "cross_entropy": Softmax,
    "binary_cross_entropy_with_logits": Logistic,
    "mse_loss": Squared,
}


def convex_in_last_layer(
    loss: object, parts: Sequence[Tensor], outputs: int
) -> tuple[Kind, Tensor]:
    """The kind of a loss, and all targets as that kind takes them.

    Args:
        parts: Targets, in order.
        outputs: Of the last layer.

    Raises:
        InvalidInput: a loss that is not convex in the last layer or unknown, or other targets.
    """
    kind = _kind(loss)
    if kind == "cross_entropy":
        return Softmax, torch.cat([_labels(part, outputs) for part in parts])
    if outputs != 1:
        raise InvalidInput("head", f"{kind} with {outputs} outputs; 1 is needed")
    flat = torch.cat([_column(part) for part in parts])
    if kind == "mse_loss":
        return Squared, flat.double()
    if not bool(((flat == 0) | (flat == 1)).all()):
        raise InvalidInput("targets", "must be 0 or 1 for a binary loss")
    return Logistic, flat


def kind_of(loss: object) -> Kind:
    """The kind of a loss.

    Raises:
        InvalidInput: a loss that is not convex in the last layer or unknown.
    """
    return KINDS[_kind(loss)]


def _kind(loss: object) -> str:
    """The loss's functional name.

    Raises:
        InvalidInput: another loss, or options that change it.
    """
    known = {
        "cross_entropy": (nn.CrossEntropyLoss, functional.cross_entropy),
        "binary_cross_entropy_with_logits": (
            nn.BCEWithLogitsLoss,
            functional.binary_cross_entropy_with_logits,
        ),
        "mse_loss": (nn.MSELoss, functional.mse_loss),
    }
    for name, (made, function) in known.items():
        if loss is function:
            return name
        if type(loss) is made:
            return _without_options(name, loss)
    raise InvalidInput(
        "loss",
        f"{getattr(loss, '__name__', type(loss).__name__)}: only cross_entropy, "
        "binary_cross_entropy_with_logits and mse_loss are known to be convex in the last layer; "
        "strategy='retrain' takes any",
    )


def _without_options(name: str, loss: object) -> str:
    defaults = {
        "weight": None, "pos_weight": None, "label_smoothing": 0.0, "reduction": "mean",
        "ignore_index": -100,
    }  # fmt: skip
    for option, default in defaults.items():
        if getattr(loss, option, default) != default:
            raise InvalidInput("loss", f"{name} with {option} is not certified; leave it out")
    return name


def _labels(targets: Tensor, outputs: int) -> Tensor:
    whole = not targets.is_floating_point() and targets.ndim == 1
    if not whole or bool(((targets < 0) | (targets >= outputs)).any()):
        raise InvalidInput("targets", f"must be whole numbers from 0 to {outputs - 1}")
    return targets.long()


def _column(targets: Tensor) -> Tensor:
    if targets.numel() != len(targets):
        raise InvalidInput("targets", f"one number for each record, not {tuple(targets.shape)}")
    return targets.reshape(-1)
