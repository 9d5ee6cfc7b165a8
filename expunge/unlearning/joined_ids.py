"""Ids of records once some have joined: each has the next row, and one that came back has two."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from expunge.unlearning.ids import RowNumbers, id_rows

__all__ = ["count_rows", "grow", "ids_by_row", "new_ids", "restore_ids"]


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


def restore_ids(
    ids: Sequence[Any] | None, private: int, public: int, sizes: Sequence[int] | None
) -> Mapping[Any, int]:
    """The row of each private id of a fit that was saved.

    Args:
        ids: By row, as `ids_by_row` lists them; None for row numbers.
        private: How many private rows there are.
        sizes: As `Roster` has them; None if nobody has joined.
    """
    first = private if sizes is None or ids is None else sizes[0] - public
    known = id_rows(None if ids is None else ids[:first], first, public)
    return known if ids is None or first == private else grow(known, ids[first:], public + first)
