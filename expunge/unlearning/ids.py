"""Ids of private records: each is given once, must be known, and is forgotten at most once."""

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import Tensor

__all__ = [
    "RowNumbers",
    "as_list",
    "check_request",
    "given_ids",
    "id_rows",
]


def given_ids(ids: Any, features: Any) -> Any:
    """Ids as they are given; for "index" a DataFrame's.

    Raises:
        ValueError: the features are not a DataFrame.
    """
    if not (isinstance(ids, str) and ids == "index"):
        return ids
    if not hasattr(features, "index") or callable(features.index):
        raise ValueError("ids: 'index' needs a DataFrame")
    return features.index


@dataclass(frozen=True, eq=False)
class RowNumbers(Mapping[Any, int]):
    """The default ids 0..count-1 and their rows, without a dictionary of as many entries."""

    count: int
    offset: int

    def __getitem__(self, id_: Any) -> int:
        if id_ not in range(self.count):
            raise KeyError(id_)
        return self.offset + int(id_)

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.count))

    def __len__(self) -> int:
        return self.count


class NamedRows(Mapping[Any, int]):
    """Given ids and their rows, which nothing can change."""

    def __init__(self, rows: Mapping[Any, int]) -> None:
        self._rows = dict(rows)

    def __getitem__(self, id_: Any) -> int:
        return self._rows[id_]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


def id_rows(ids: Any, count: int, offset: int) -> Mapping[Any, int]:
    """The row of each private id, row numbers by default; public rows come first.

    Raises:
        ValueError: there are not as many ids as records, one is missing, or one is given twice.
    """
    if ids is None:
        return RowNumbers(count, offset)
    listed = as_list(ids)
    if len(listed) != count:
        raise ValueError(f"ids: {len(listed)} ids for {count} private records")
    rows: dict[Any, int] = {}
    for i, id_ in enumerate(listed):
        if id_ is None or not _equals_itself(id_):
            raise ValueError(f"ids: {id_!r} is no id: nobody could ask for that record again")
        if id_ in rows:
            raise ValueError(f"ids: {id_!r} is given twice")
        rows[id_] = offset + i
    return NamedRows(rows)


def _equals_itself(id_: Any) -> bool:
    """Whether an id can be looked up; NaN, and the missing values of data frames, cannot."""
    try:
        return bool(id_ == id_)
    except (TypeError, ValueError):
        return False


def as_list(ids: Any) -> list[Any]:
    """A collection of ids, or a single one, as a list of plain Python values."""
    if isinstance(ids, np.ndarray | Tensor) or hasattr(ids, "to_numpy"):
        return np.asarray(ids).ravel().tolist()
    if isinstance(ids, str | bytes) or not isinstance(ids, Iterable):
        ids = [ids]
    plain = [id_.item() if isinstance(id_, np.generic) else id_ for id_ in ids]
    for id_ in plain:
        if not isinstance(id_, Hashable):
            raise ValueError(f"ids: {id_!r} is no id; texts and whole numbers are")
    return plain


def check_request(name: Any) -> None:
    """Check that a request's name is a text.

    Raises:
        ValueError: the name is not a text, or is empty.
    """
    if not (name is None or (isinstance(name, str) and name)):
        raise ValueError(f"request: must be a text that names the request, not {name!r}")
