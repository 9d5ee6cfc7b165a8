"""Ids of private records: each is given once, must be known, and is forgotten at most once."""

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import Tensor

__all__ = ["RowNumbers", "as_list", "check_request", "frame_index", "id_rows"]


def frame_index(features: Any) -> Any:
    """A DataFrame's index, as ids.

    Raises:
        ValueError: there is none.
    """
    if not hasattr(features, "index") or callable(features.index):
        raise ValueError("ids: 'index' needs a DataFrame")
    return features.index


@dataclass(frozen=True, eq=False)
class RowNumbers(Mapping[Any, int]):
    """The default ids 0..count-1 and their rows, without a dictionary of as many entries."""

    count: int
    offset: int

    def __getitem__(self, one: Any) -> int:
        if one not in range(self.count):
            raise KeyError(one)
        return self.offset + int(one)

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.count))

    def __len__(self) -> int:
        return self.count


def id_rows(ids: Any, count: int, offset: int) -> Mapping[Any, int]:
    """Row of each private id, row numbers by default; public rows come first.

    Raises:
        ValueError: as many ids as records are needed, each once.
    """
    if ids is None:
        return RowNumbers(count, offset)
    listed = as_list(ids)
    if len(listed) != count:
        raise ValueError(f"ids: {len(listed)} ids for {count} private records")
    rows: dict[Any, int] = {}
    for i, one in enumerate(listed):
        if one in rows:
            raise ValueError(f"ids: {one!r} is given twice")
        rows[one] = offset + i
    return rows


def as_list(ids: Any) -> list[Any]:
    """The ids as plain Python values; a collection of them, or a single one, is given."""
    if isinstance(ids, np.ndarray | Tensor) or hasattr(ids, "to_numpy"):
        return np.asarray(ids).ravel().tolist()
    if isinstance(ids, str | bytes) or not isinstance(ids, Iterable):
        ids = [ids]
    plain = [one.item() if isinstance(one, np.generic) else one for one in ids]
    for one in plain:
        if not isinstance(one, Hashable):
            raise ValueError(f"ids: {one!r} is no id; texts and whole numbers are")
    return plain


def check_request(name: Any) -> None:
    """Refuse a request's name that is no text.

    Raises:
        ValueError: it is none.
    """
    if not (name is None or (isinstance(name, str) and name)):
        raise ValueError(f"request: must be a text that names the request, not {name!r}")
