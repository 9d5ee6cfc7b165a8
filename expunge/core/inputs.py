"""Several inputs of a model, a row of each for every record, handled as one tensor is.

    model(x)                    one input: a tensor
    model(x1, x2)               columns by position
    model(ids=..., mask=...)    columns by name

Whoever calls module(inputs) need not know: `taking_columns` has a module hand them on.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from expunge.errors import InvalidInput

__all__ = ["Columns", "Inputs", "joined", "mapped", "taking_columns", "tensors_in"]


@dataclass(frozen=True, eq=False)
class Columns:
    """Several inputs of a model, each with one row for every record.

    Args:
        columns: Two or more, with as many rows each.
        named: Called by name, not by place.
    """

    columns: dict[str, Tensor]
    named: bool

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def __getitem__(self, rows: Any) -> "Columns":
        return self.each(lambda column: column[rows])

    def __setitem__(self, rows: Any, value: "Columns | float") -> None:
        for name, column in self.columns.items():
            column[rows] = value.columns[name] if isinstance(value, Columns) else value

    def each(self, function: Callable[[Tensor], Tensor]) -> "Columns":
        return replace(self, columns={n: function(c) for n, c in self.columns.items()})

    def of_one(self, record: dict[str, Tensor]) -> "Columns":
        """A table of one record, given without its row."""
        return replace(self, columns={name: part[None] for name, part in record.items()})

    @property
    def shape(self) -> torch.Size:
        """The shape that all columns share, (rows,); each has its own beyond."""
        return torch.Size([len(self)])

    @property
    def device(self) -> torch.device:
        return next(iter(self.columns.values())).device

    def to(self, device: str | torch.device) -> "Columns":
        return self.each(lambda column: column.to(device))

    def clone(self) -> "Columns":
        return self.each(torch.clone)

    def split(self, size: int) -> list["Columns"]:
        return [self[start : start + size] for start in range(0, len(self), size)]

    @property
    def arguments(self) -> tuple[tuple[Tensor, ...], dict[str, Tensor]]:
        """The arguments with which a model is called."""
        return ((), self.columns) if self.named else (tuple(self.columns.values()), {})


Inputs = Tensor | Columns


def mapped(function: Callable[[Tensor], Tensor], inputs: Inputs) -> Inputs:
    """The function of the tensor, or of every column."""
    return inputs.each(function) if isinstance(inputs, Columns) else function(inputs)


def joined(parts: list[Inputs]) -> Inputs:
    """Rows of all parts, public ones before private ones.

    Raises:
        InvalidInput: rows of different shapes.
    """
    first = parts[0]
    if not isinstance(first, Columns):
        return _stacked("inputs", [part for part in parts if isinstance(part, Tensor)])
    columns = [part.columns for part in parts if isinstance(part, Columns)]
    named = {name: _stacked(name, [part[name] for part in columns]) for name in first.columns}
    return replace(first, columns=named)


def _stacked(name: str, parts: list[Tensor]) -> Tensor:
    shapes = {tuple(part.shape[1:]) for part in parts}
    if len(shapes) > 1:
        told = " and ".join(str(shape) for shape in sorted(shapes))
        raise InvalidInput(
            "public", f"{name}: rows of {told}, public and private ones must be alike"
        )
    return torch.cat(parts)


def tensors_in(inputs: Inputs) -> Iterator[tuple[str, Tensor]]:
    """Every tensor, by a name that a reader would give it, in an order that is always the same."""
    if isinstance(inputs, Tensor):
        yield "inputs", inputs
    else:
        yield from sorted(inputs.columns.items()) if inputs.named else inputs.columns.items()


def taking_columns(module: nn.Module) -> nn.Module:
    """The module, which from now on hands columns on as several arguments."""
    if _handed_on not in module._forward_pre_hooks.values():
        module.register_forward_pre_hook(_handed_on, with_kwargs=True)
    return module


def _handed_on(
    _: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if len(args) == 1 and isinstance(args[0], Columns):
        placed, named = args[0].arguments
        return placed, {**kwargs, **named}
    return args, kwargs
