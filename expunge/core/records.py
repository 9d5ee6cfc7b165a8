"""Records as users have them: tensors, or a DataLoader of a map-style dataset, read in order.

    (X, y)                          two tensors or arrays
    ((X1, X2), y)                   several inputs, a tuple: model(x1, x2)
    ({"a": X1, "b": X2}, y)         by name: model(a=x1, b=x2)
    {"a": X1, "b": X2, "label": y}  the same, as Hugging Face datasets in torch format give them
    DataLoader(dataset)             the dataset's items 0, 1, ..., each in one of these forms

A single input is always model(x), under whatever name it came. The loader's batches, shuffling and
workers are not used: ids belong to the dataset's own order. A loader that picks records by a
sampler is refused: its dataset holds others. A collate_fn of the user's is called with one item at
a time, so that no record is padded by another's length; what it makes of the item is the user's.
"""

from collections.abc import Callable, Mapping, Sized
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    IterableDataset,
    RandomSampler,
    SequentialSampler,
    default_collate,
    default_convert,
)

from expunge.core.inputs import Columns, Inputs, tensors_in
from expunge.errors import InvalidInput

__all__ = ["refuse_other_form", "tensors_of"]

LABELS = ("label", "labels", "target", "targets", "y")
TARGETS = "targets"
ARRAYS = (Tensor, np.ndarray)


class _Fields(NamedTuple):
    """Records in their parts: inputs by name, and targets.

    Args:
        kind: How the model is called with them.
        inputs: One or more, by name.
    """

    kind: str
    inputs: dict[str, Tensor]
    targets: Tensor

    @property
    def whole(self) -> tuple[Inputs, Tensor]:
        columns = list(self.inputs.values())
        if len(columns) == 1:
            return columns[0], self.targets
        return Columns(self.inputs, named=self.kind == "by name"), self.targets


def tensors_of(records: Any, what: str) -> tuple[Inputs, Tensor]:
    """Inputs and targets, one row for each record, copies of what was given.

    Raises:
        InvalidInput: `what` names the argument; the problem, and the field that has it, are told.
    """
    if isinstance(records, DataLoader):
        _refuse_picking(records, what)
        fields = _read(records.dataset, what, _own_collate(records))
    elif isinstance(records, Mapping) or (isinstance(records, tuple | list) and len(records) == 2):
        fields = _fields(records, what)
    elif hasattr(records, "__getitem__") and hasattr(records, "__len__"):
        fields = _read(records, what, None)
    else:
        raise InvalidInput(what, "give (inputs, targets) or a DataLoader of a map-style dataset")
    if not fields.targets.ndim:
        raise InvalidInput(what, f"{TARGETS} must be one for each record, not a single value")
    if not len(fields.targets):
        raise InvalidInput(what, "holds no records")
    for name, part in (*fields.inputs.items(), (TARGETS, fields.targets)):
        if part.ndim == 0 or len(part) != len(fields.targets):
            rows = 0 if part.ndim == 0 else len(part)
            raise InvalidInput(what, f"{rows} {name} and {len(fields.targets)} targets")
        if part.is_floating_point() and not bool(torch.isfinite(part).all()):
            raise InvalidInput(what, f"{name}: contains NaN or infinity")
    return fields.whole


def refuse_other_form(inputs: Inputs, like: Inputs, what: str) -> None:
    """Refuse inputs of another form than the private records'.

    Raises:
        InvalidInput: the model is not called with them as with the private records.
    """
    kinds = [(type(each), getattr(each, "named", None)) for each in (inputs, like)]
    given, known = dict(tensors_in(inputs)), dict(tensors_in(like))
    if kinds[0] != kinds[1] or given.keys() != known.keys():
        raise InvalidInput(
            what, f"has the inputs {', '.join(given)}; the private records have {', '.join(known)}"
        )


def _refuse_picking(loader: DataLoader, what: str) -> None:
    """Refuse a loader that leaves out records of its dataset.

    Raises:
        InvalidInput: not every record of the dataset would be read.
    """
    if isinstance(loader.dataset, IterableDataset):
        return  # refused by its own name
    batches = loader.batch_sampler  # one of the user's has a sampler of its own
    samplers = [loader.sampler, getattr(batches, "sampler", loader.sampler)]
    whole = all(
        type(sampler) in (SequentialSampler, RandomSampler)
        and sampler.data_source is loader.dataset  # pyright: ignore[reportAttributeAccessIssue]
        and len(sampler) == len(loader.dataset)  # pyright: ignore[reportArgumentType]
        for sampler in samplers
    )
    if not whole or type(batches) not in (BatchSampler, type(None)):
        raise InvalidInput(
            what, "the loader picks records by a sampler; give torch.utils.data.Subset instead"
        )


def _own_collate(loader: DataLoader) -> Callable[[Any], Any] | None:
    own = loader.collate_fn
    return None if own in (default_collate, default_convert) else own


def _read(dataset: Any, what: str, collate: Callable[[Any], Any] | None) -> _Fields:
    """Every column of a map-style dataset, its items read in order."""
    if isinstance(dataset, IterableDataset) or not isinstance(dataset, Sized):
        raise InvalidInput(what, "an iterable dataset has no stable order; give a map-style one")
    items = [_item(dataset[i], what, collate) for i in range(len(dataset))]  # pyright: ignore[reportIndexIssue]
    if not items:
        raise InvalidInput(what, "no records")
    kind, inputs, _ = items[0]
    for i, item in enumerate(items):
        if item.kind != kind or item.inputs.keys() != inputs.keys():
            raise InvalidInput(
                what,
                f"item {i} has the inputs {', '.join(item.inputs)} {item.kind}, item 0 "
                f"{', '.join(inputs)} {kind}",
            )
    columns = {n: _stacked([item.inputs[n] for item in items], n, what) for n in inputs}
    return _Fields(kind, columns, _stacked([item.targets for item in items], TARGETS, what))


def _item(item: Any, what: str, collate: Callable[[Any], Any] | None) -> _Fields:
    if collate is None:
        if isinstance(item, tuple | list) and len(item) == 2:
            _refuse_list_of_tensors(item[0], what)
        return _fields(item, what)
    kind, inputs, targets = _fields(collate([item]), what)  # a batch of its own
    for name, part in (*inputs.items(), (TARGETS, targets)):
        if part.ndim == 0 or len(part) != 1:
            raise InvalidInput(what, f"collate_fn makes {tuple(part.shape)} of one item's {name}")
    return _Fields(kind, {name: part[0] for name, part in inputs.items()}, targets[0])


def _fields(item: Any, what: str) -> _Fields:
    """An item, or a whole table: its inputs by name and its targets."""
    if isinstance(item, Mapping):
        labels = [name for name in LABELS if name in item]
        if len(labels) != 1 or len(item) == 1:
            raise InvalidInput(
                what,
                f"has the columns {', '.join(map(str, item))}; keep one of targets "
                f"({', '.join(LABELS)}) and one or more of inputs",
            )
        inputs, targets = {n: c for n, c in item.items() if n != labels[0]}, item[labels[0]]
    elif isinstance(item, tuple | list) and len(item) == 2:
        inputs, targets = item
    else:
        raise InvalidInput(what, "items must be pairs (input, target)")
    if isinstance(targets, tuple) and any(isinstance(part, ARRAYS) for part in targets):
        raise InvalidInput(what, "targets: a tuple of tensors; one tensor is needed")
    return _Fields(*_inputs(inputs, what), _tensor(targets, TARGETS, what))


def _inputs(given: Any, what: str) -> tuple[str, dict[str, Tensor]]:
    """How the model is called, and with what."""
    if isinstance(given, Mapping):
        if not given or not all(isinstance(name, str) for name in given):
            raise InvalidInput(what, "inputs: a dict of one or more tensors by name is needed")
        kind, several = "by name", dict(given)
    elif isinstance(given, tuple) and any(isinstance(part, (*ARRAYS, Mapping)) for part in given):
        kind, several = "by place", {f"inputs[{i}]": part for i, part in enumerate(given)}
        for name, part in several.items():
            if not isinstance(part, ARRAYS):
                raise InvalidInput(
                    what, f"{name} is {type(part).__name__} beside tensors; make it a tensor"
                )
    else:
        kind, several = "alone", {"inputs": given}
    if len(several) == 1:
        kind, several = "alone", {"inputs": next(iter(several.values()))}
    return kind, {name: _tensor(part, name, what) for name, part in several.items()}


def _refuse_list_of_tensors(part: Any, what: str) -> None:
    if isinstance(part, list) and any(isinstance(value, ARRAYS) for value in part):
        raise InvalidInput(
            what, "inputs: a list of tensors; give a tuple for several inputs, or one tensor"
        )


def _stacked(column: list[Tensor], name: str, what: str) -> Tensor:
    types = {part.dtype for part in column}
    if len(types) > 1:
        raise InvalidInput(what, f"{name}: items of different types ({sorted(map(str, types))})")
    try:
        return torch.stack(column)
    except RuntimeError as error:
        raise InvalidInput(
            what,
            f"{name}: items of different shapes ({error}); pad them, in the dataset or by "
            "collate_fn, to a length that no private record decides",
        ) from error


def _tensor(part: Any, name: str, what: str) -> Tensor:
    """Copy a part of a record into a tensor on the CPU.

    Raises:
        InvalidInput: it does not hold numbers.
    """
    try:
        made = part if isinstance(part, Tensor) else torch.from_numpy(np.array(part))
    except (TypeError, ValueError) as error:
        raise InvalidInput(what, f"{name}: not a tensor of numbers ({error})") from error
    return made.detach().cpu().clone()
