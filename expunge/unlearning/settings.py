"""Strategies in JSON: settings by name, code never.

A strategy is rebuilt whole, because it is a registered record of plain settings; an optimiser by
its name in torch.optim, alone or in a functools.partial.
"""

from dataclasses import fields, is_dataclass
from functools import partial
from typing import Any

import torch
from torch.optim import Optimizer

from expunge.errors import InvalidInput
from expunge.unlearning.networks.training import Training
from expunge.unlearning.schemes import SCHEMES
from expunge.unlearning.strategy import registered_name, registered_type

__all__ = ["describe", "rebuild"]

PARTS: dict[str, type] = {"Training": Training} | SCHEMES  # records that strategies are made of
PLAIN = (bool, int, float, str, type(None))


def describe(value: Any, where: str) -> Any:
    """Describe settings in values that JSON can hold.

    Raises:
        InvalidInput: something in it is no plain setting; `where` names its place.
    """
    if type(value) in PLAIN:
        return value
    if type(value) in (tuple, list):
        return [describe(part, where) for part in value]
    kind = _kind_of(value)
    if kind is not None:
        settings = {
            field.name: describe(getattr(value, field.name), f"{where}.{field.name}")
            for field in fields(value)
        }
        return {"kind": kind, **settings}
    made = value.func if isinstance(value, partial) and not value.args else value
    if isinstance(made, type) and made is getattr(torch.optim, made.__name__, None):
        keywords = value.keywords if isinstance(value, partial) else {}
        settings = {name: describe(part, f"{where}.{name}") for name, part in keywords.items()}
        return {"kind": "optimiser", "name": made.__name__, "settings": settings}
    raise InvalidInput(
        where,
        f"{value!r} cannot be saved; use this library's records with plain settings, and "
        "optimisers of torch.optim",
    )


def rebuild(document: Any) -> Any:
    """Rebuild settings from what `describe` made of them.

    Raises:
        ValueError: no record or optimiser has this name.
    """
    if not isinstance(document, dict):
        return document
    if document["kind"] == "optimiser":
        made = getattr(torch.optim, document["name"], None)
        if not (isinstance(made, type) and issubclass(made, Optimizer)):
            raise ValueError(f"optimiser {document['name']!r} is not known")
        return partial(made, **document["settings"]) if document["settings"] else made
    settings = {name: rebuild(value) for name, value in document.items() if name != "kind"}
    return (PARTS.get(document["kind"]) or registered_type(document["kind"]))(**settings)


def _kind_of(value: Any) -> str | None:
    """The name under which a record can be rebuilt; None if it cannot."""
    if not is_dataclass(value) or isinstance(value, type):
        return None
    name = type(value).__name__
    return name if PARTS.get(name) is type(value) else registered_name(value)
