"""Records as users have them: tensors, or a DataLoader of a map-style dataset, read in order.

    (X, y)                          two tensors or arrays
    DataLoader(dataset)             the dataset's items 0, 1, ...: pairs (x, y)
    ... in torch format             or dicts, as Hugging Face datasets give them

The loader's batches, shuffling and workers are not used: ids belong to the dataset's own order. A
loader that picks or changes records (a sampler, a collate_fn) is refused: its dataset holds others.
"""

from collections.abc import Mapping, Sized
from typing import Any

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

from expunge.accounting.refusal import InvalidInput

__all__ = ["tensors_of"]

LABELS = ("label", "labels", "target", "targets", "y")


def tensors_of(records: Any, what: str) -> tuple[Tensor, Tensor]:
    """Inputs and targets, one row for each record, copies of what was given.

    Raises:
        InvalidInput: `what` names the argument; the problem is told.
    """
    if isinstance(records, DataLoader):
        _refuse_picking(records, what)
        inputs, targets = _columns(records.dataset, what)
    elif isinstance(records, tuple | list) and len(records) == 2:
        inputs, targets = (_tensor(part, what) for part in records)
    elif hasattr(records, "__getitem__") and hasattr(records, "__len__"):
        inputs, targets = _columns(records, what)
    else:
        raise InvalidInput(what, "give (inputs, targets) or a DataLoader of a map-style dataset")
    if inputs.ndim == 0 or len(inputs) != len(targets):
        raise InvalidInput(what, f"{len(inputs)} inputs and {len(targets)} targets")
    for part in (inputs, targets):
        if part.is_floating_point() and not bool(torch.isfinite(part).all()):
            raise InvalidInput(what, "contains NaN or infinity")
    return inputs, targets


def _refuse_picking(loader: DataLoader, what: str) -> None:
    """Raises: InvalidInput: not every record of the dataset, as it is, would be read."""
    if isinstance(loader.dataset, IterableDataset):
        return  # refused by its own name
    whole = type(loader.sampler) in (SequentialSampler, RandomSampler) and (
        len(loader.sampler) == len(loader.dataset)  # pyright: ignore[reportArgumentType]
    )
    if not whole or type(loader.batch_sampler) not in (BatchSampler, type(None)):
        raise InvalidInput(
            what, "the loader picks records by a sampler; give torch.utils.data.Subset instead"
        )
    if loader.collate_fn not in (default_collate, default_convert):
        raise InvalidInput(what, "the loader changes records by collate_fn; do it in the dataset")


def _columns(dataset: Any, what: str) -> tuple[Tensor, Tensor]:
    """Both columns of a map-style dataset, its items read in order."""
    if isinstance(dataset, IterableDataset) or not isinstance(dataset, Sized):
        raise InvalidInput(what, "an iterable dataset has no stable order; give a map-style one")
    items = [_pair(dataset[i], what) for i in range(len(dataset))]  # pyright: ignore[reportIndexIssue]
    if not items:
        raise InvalidInput(what, "no records")
    try:
        inputs, targets = (torch.stack(column) for column in zip(*items, strict=True))
    except RuntimeError as error:
        raise InvalidInput(what, f"items of different shapes ({error})") from error
    return inputs, targets


def _pair(item: Any, what: str) -> tuple[Tensor, Tensor]:
    if isinstance(item, Mapping):
        labels = [name for name in LABELS if name in item]
        others = [name for name in item if name not in LABELS]
        if len(labels) != 1 or len(others) != 1:
            raise InvalidInput(
                what,
                f"items have the columns {', '.join(map(str, item))}; keep one of inputs and one "
                f"of targets ({', '.join(LABELS)})",
            )
        item = item[others[0]], item[labels[0]]
    if not (isinstance(item, tuple | list) and len(item) == 2):
        raise InvalidInput(what, "items must be pairs (input, target)")
    return _tensor(item[0], what), _tensor(item[1], what)


def _tensor(part: Any, what: str) -> Tensor:
    """Raises: InvalidInput: no numbers."""
    try:
        made = part if isinstance(part, Tensor) else torch.from_numpy(np.array(part))
    except (TypeError, ValueError) as error:
        raise InvalidInput(what, f"not a tensor of numbers ({error})") from error
    return made.detach().cpu().clone()
