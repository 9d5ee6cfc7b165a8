"""Ids of private records: each is given once, must be known, and is forgotten at most once."""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from torch import Tensor

__all__ = [
    "RowNumbers",
    "as_list",
    "check_names",
    "check_request",
    "count_rows",
    "given_ids",
    "grow",
    "id_rows",
    "ids_by_row",
    "new_ids",
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


class GrownRows(Mapping[Any, int]):
    """Ids and rows once records have joined; of an id that came back, the latest row.

    Args:
        first: Those at fit.
        joined: The ids that joined, in the order of their rows, for each time that some did.
        layers: The same with their rows, in a few dictionaries, the oldest and longest first.
    """

    def __init__(
        self,
        first: Mapping[Any, int],
        joined: tuple[tuple[Any, ...], ...],
        layers: tuple[dict[Any, int], ...],
    ) -> None:
        self._first, self._joined, self.layers = first, joined, layers

    def with_more(self, ids: Sequence[Any], offset: int) -> "GrownRows":
        """These ids too, at the rows from `offset` on; the time taken does not grow with others."""
        kept, added = list(self.layers), {id_: offset + i for i, id_ in enumerate(ids)}
        while kept and len(kept[-1]) <= len(added):
            added = kept.pop() | added
        return GrownRows(self._first, (*self._joined, tuple(ids)), (*kept, added))

    @property
    def by_row(self) -> Iterator[Any]:
        """The id of every row, in order; one that came back is there twice."""
        return chain(self._first, *self._joined)

    def __getitem__(self, id_: Any) -> int:
        for layer in reversed(self.layers):
            if id_ in layer:
                return layer[id_]
        return self._first[id_]

    def __iter__(self) -> Iterator[Any]:
        return iter(dict.fromkeys(self.by_row))

    def __len__(self) -> int:
        return sum(1 for _ in self)


def grow(known: Mapping[Any, int], ids: Any, offset: int) -> Mapping[Any, int]:
    """The row of each id once more have joined, at the rows from `offset` on."""
    if isinstance(known, RowNumbers) and isinstance(ids, range) and ids.start == known.count:
        return RowNumbers(known.count + len(ids), known.offset)
    grown = known if isinstance(known, GrownRows) else GrownRows(known, (), ())
    return grown.with_more(ids, offset)


def new_ids(known: Mapping[Any, int], ids: Any, count: int) -> Sequence[Any]:
    """The ids of so many records that are to join, as given or the next row numbers.

    Raises:
        ValueError: there are not as many, one is given twice, or none are and they are no numbers.
    """
    if ids is None:
        if isinstance(known, RowNumbers):
            return range(known.count, known.count + count)
        raise ValueError("ids: give one for each record; those known so far are not row numbers")
    return list(id_rows(ids, count, 0))


def ids_by_row(known: Mapping[Any, int]) -> Iterable[Any]:
    """The id of every private row, in order."""
    return known.by_row if isinstance(known, GrownRows) else known


def count_rows(known: Mapping[Any, int]) -> int:
    """How many private rows there are; an id that came back has two."""
    return sum(1 for _ in known.by_row) if isinstance(known, GrownRows) else len(known)


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


def check_names(names: Any, count: int) -> Sequence[str | None]:
    """Names of so many requests; None for each where none are given.

    Raises:
        ValueError: they are not one text for each, or one is there twice.
    """
    if names is None:
        return [None] * count
    if isinstance(names, str) or not isinstance(names, Sequence) or len(names) != count:
        raise ValueError(f"names: must be one for each of the {count} requests")
    for name in names:
        if not (isinstance(name, str) and name):
            raise ValueError(f"names: must be texts, not {name!r}")
    if len(set(names)) != count:
        raise ValueError("names: one is given twice")
    return names
