"""Strategies and losses in JSON: settings by name, code never.

A strategy comes back whole, because it is a record of plain settings; an optimiser by its name in
torch.optim, alone or in a functools.partial. A loss does not come back: its description only tells
whether the one that is given again is the one that was fitted.
"""

from dataclasses import fields, is_dataclass
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer

from expunge.errors import InvalidInput
from expunge.unlearning.networks.clipped import Clipped
from expunge.unlearning.networks.commitments import tensor_sha256
from expunge.unlearning.networks.finetune import HeadFinetune
from expunge.unlearning.networks.head import Head
from expunge.unlearning.networks.langevin import NetworkLangevin
from expunge.unlearning.networks.network_job import NetworkLoss
from expunge.unlearning.networks.retrain import RetrainNetwork
from expunge.unlearning.networks.training import Training
from expunge.unlearning.schemes import SCHEMES

__all__ = ["described", "described_loss", "rebuilt"]

KINDS: dict[str, type] = {
    kind.__name__: kind
    for kind in (Head, HeadFinetune, RetrainNetwork, NetworkLangevin, Clipped, Training)
} | SCHEMES
PLAIN = (bool, int, float, str, type(None))


def described(value: Any, where: str) -> Any:
    """Describe settings, or a loss, in values that JSON can hold.

    Raises:
        InvalidInput: something in it is no plain setting; `where` names its place.
    """
    if type(value) in PLAIN:
        return value
    if type(value) in (tuple, list):
        return [described(one, where) for one in value]
    if is_dataclass(value) and type(value) in KINDS.values():
        settings = {
            field.name: described(getattr(value, field.name), f"{where}.{field.name}")
            for field in fields(value)
        }
        return {"kind": type(value).__name__, **settings}
    made = value.func if isinstance(value, partial) and not value.args else value
    if isinstance(made, type) and made is getattr(torch.optim, made.__name__, None):
        keywords = value.keywords if isinstance(value, partial) else {}
        settings = {name: described(one, f"{where}.{name}") for name, one in keywords.items()}
        return {"kind": "optimiser", "name": made.__name__, "settings": settings}
    raise InvalidInput(
        where,
        f"{value!r} cannot be saved; use this library's records with plain settings, and "
        "optimisers of torch.optim",
    )


def rebuilt(document: Any) -> Any:
    """What was described.

    Raises:
        ValueError: nothing of this kind is known.
    """
    if not isinstance(document, dict):
        return document
    if document["kind"] == "optimiser":
        made = getattr(torch.optim, document["name"], None)
        if not (isinstance(made, type) and issubclass(made, Optimizer)):
            raise ValueError(f"optimiser {document['name']!r} is not known")
        return partial(made, **document["settings"]) if document["settings"] else made
    if document["kind"] not in KINDS:
        raise ValueError(f"kind {document['kind']!r} is not known")
    settings = {name: rebuilt(one) for name, one in document.items() if name != "kind"}
    return KINDS[document["kind"]](**settings)


def described_loss(loss: NetworkLoss) -> dict[str, Any]:
    """Describe a loss by its name, its plain options and a hash of every tensor."""
    if not isinstance(loss, nn.Module):
        return {"name": getattr(loss, "__name__", type(loss).__name__)}
    options = {n: v for n, v in vars(loss).items() if type(v) in PLAIN and not n.startswith("_")}
    tensors = {name: tensor_sha256(value) for name, value in loss.named_buffers()}
    return {"name": type(loss).__name__, **options, **tensors, "training": None}
