"""Which records there are, and which joined or left at which request. Public records come first.

A row is a record's number for good: those at fit have the first ones, whoever joins later the next
ones, and an id that was forgotten and came back has a new row. `without` takes time in proportion
to the request, not to the data: it adds one short list to those of the requests before, and looking
up who has left takes a few binary searches, however many requests there were.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
import torch
from torch import Tensor

from expunge.core.growing import Growing
from expunge.sampling.batches import keys_of
from expunge.unlearning.ids import as_list
from expunge.unlearning.joined_ids import count_rows, grow, ids_by_row, new_ids
from expunge.unlearning.secrecy import Secret

__all__ = ["Roster"]


@dataclass(frozen=True, repr=False, eq=False)
class Roster(Secret):
    """The records by row, and the rows that joined and left, request by request.

    A request is one to forget records, to add some, or to put some in the place of others.

    Args:
        ids: Row of each private id; of one that came back, the latest.
        public: How many records are public; they have the first rows and never leave.
        known_keys: `keys`, where they have been made.
        departures: Rows that left, sorted, for each request; none at one that only added records.
        merged: The same rows in a few sorted arrays, the longest first, to look rows up in.
        sizes: How many rows there were at fit and after each request, those that have left too.
        room: The memory of `known_keys`.
    """

    ids: Mapping[Any, int]
    public: int
    known_keys: Tensor | None = None
    departures: tuple[np.ndarray, ...] = ()
    merged: tuple[np.ndarray, ...] = ()
    sizes: tuple[int, ...] = ()
    room: Growing | None = None

    def __post_init__(self) -> None:
        if not self.sizes:
            object.__setattr__(self, "sizes", (self.public + len(self.ids),))

    @classmethod
    def of(cls, ids: Mapping[Any, int], public: int, left: Tensor) -> "Roster":
        """The roster from which each record left at a request, as the property `left` says it.

        Args:
            ids: Row of each private id, after the public ones (`ids.id_rows`).
        """
        requests = range(1, 1 + int(left.max()))
        departures = [(left == request).nonzero()[:, 0].tolist() for request in requests]
        return cls.after(ids, public, departures)

    @classmethod
    def after(
        cls,
        ids: Mapping[Any, int],
        public: int,
        departures: Sequence[Iterable[int]],
        sizes: Sequence[int] | None = None,
    ) -> "Roster":
        """The roster after requests for these rows; no array is as long as the table.

        Args:
            departures: The rows that left at each request; none at one that added records.
            sizes: As the attribute of that name; where it is not given, nobody has joined.

        Raises:
            ValueError: the rows and sizes are none that requests could have led to.
        """
        rows = public + count_rows(ids)
        sizes = (rows,) * (1 + len(departures)) if sizes is None else sizes
        if len(sizes) != 1 + len(departures) or sizes[-1] != rows or sizes[0] < public:
            told = f"{rows} records and {len(departures)} requests"
            raise ValueError(f"sizes {list(sizes)} of {told}")
        roster = cls(ids, public, sizes=(sizes[0],))
        for gone, size in zip(departures, sizes[1:], strict=True):
            roster = roster._after(gone, size)
        return roster

    @property
    def keys(self) -> Tensor:
        """64-bit keys of the ids, for batches: (records,), made when they are first asked for."""
        if self.known_keys is None:
            named = chain((("public", row) for row in range(self.public)), ids_by_row(self.ids))
            object.__setattr__(self, "known_keys", keys_of(named))
        assert self.known_keys is not None
        return self.known_keys

    @property
    def public_only(self) -> "Roster":
        """The public records, as if there were no others."""
        return Roster({}, self.public, self.keys[: self.public])

    @property
    def private(self) -> int:
        """How many private records there have been, those that left included."""
        return self.records - self.public

    @property
    def records(self) -> int:
        """How many records there have been, those that left included: one for each row."""
        return self.sizes[-1]

    @property
    def at_fit(self) -> int:
        """How many records there were at fit, public ones included."""
        return self.sizes[0]

    @property
    def joined(self) -> int:
        """How many records have joined since fit, those that left again included."""
        return self.records - self.at_fit

    @property
    def request(self) -> int:
        """How many requests have been honoured, this one included; 0 at fit."""
        return len(self.departures)

    @property
    def forgotten(self) -> int:
        """How many private records have left."""
        return sum(len(rows) for rows in self.merged)

    @property
    def retained(self) -> int:
        """How many records are still there, public ones included."""
        return self.records - self.forgotten

    @property
    def places(self) -> int:
        """The sum of the rows still there: with `retained`, tells one set of rows from another."""
        return self.records * (self.records - 1) // 2 - sum(int(rows.sum()) for rows in self.merged)

    @property
    def last_rows(self) -> list[int]:
        """The rows that left at the last request."""
        return self.departures[-1].tolist() if self.departures else []

    @property
    def last_joined(self) -> range:
        """The rows that joined at the last request."""
        return range(self.sizes[-2], self.sizes[-1]) if self.request else range(0)

    @property
    def present(self) -> Tensor:
        """Which records are still there: (records,), a new tensor each time."""
        return self.present_after(self.request)

    def present_after(self, request: int) -> Tensor:
        """Which records were there after so many requests: (records,)."""
        there = np.ones(self.records, dtype=bool)
        there[self.sizes[request] :] = False
        for rows in self.departures[:request]:
            there[rows] = False
        return torch.from_numpy(there)

    @property
    def last(self) -> Tensor:
        """Which records left at the last request: (records,)."""
        gone = np.zeros(self.records, dtype=bool)
        for rows in self.departures[-1:]:
            gone[rows] = True
        return torch.from_numpy(gone)

    @property
    def left(self) -> Tensor:
        """The request, counted from 1, at which each record left: (records,); 0 if it is there."""
        request = np.zeros(self.records, dtype=np.int64)
        for number, rows in enumerate(self.departures, start=1):
            request[rows] = number
        return torch.from_numpy(request)

    def rows_of(self, ids: Any) -> list[int]:
        """The rows of these ids, one or several, in the order given.

        Raises:
            ValueError: an id is unknown, public, repeated or already forgotten; it is named.
        """
        listed = as_list(ids)
        if not listed:
            raise ValueError("forget: no ids given")
        if all(isinstance(id_, bool) for id_ in listed) and not any(
            isinstance(id_, bool) for id_ in self.ids
        ):
            raise ValueError("forget: give ids, not a mask of booleans")
        seen: set[Any] = set()
        for id_ in listed:
            if id_ in seen:
                raise ValueError(f"forget: id {id_!r} is given twice")
            if id_ not in self.ids:
                raise ValueError(f"forget: unknown id {id_!r}; only private records can be deleted")
            if self._has_left(self.ids[id_]):
                raise ValueError(f"forget: id {id_!r} is already forgotten")
            seen.add(id_)
        return [self.ids[id_] for id_ in listed]

    def without(self, rows: Iterable[int]) -> "Roster":
        """The roster after one more request, for these rows.

        Raises:
            ValueError: a row is public or has left, or no record would remain.
        """
        return self._after(rows, self.records)

    def with_more(
        self, ids: Any, count: int, *, again: bool = False, leaving: Iterable[int] = ()
    ) -> "Roster":
        """The roster after one more request, at which so many records joined.

        Args:
            ids: One for each; None goes on with row numbers, if all so far are row numbers.
            again: Ids that were forgotten may come back.
            leaving: Rows that leave at the same request; their ids may come back.

        Raises:
            ValueError: an id is there, has been forgotten, or is given twice; it is named.
        """
        if count < 1:
            raise ValueError("add: no records given")
        listed, gone = new_ids(self.ids, ids, count), set(leaving)
        for id_ in listed:
            if id_ not in self.ids or self.ids[id_] in gone:
                continue
            if not self._has_left(self.ids[id_]):
                raise ValueError(f"add: id {id_!r} is already there; forget it first")
            if not again:
                raise ValueError(f"add: id {id_!r} was forgotten; again=True if it is to come back")
        known = grow(self.ids, listed, self.records)
        keys, room = self.known_keys, self.room
        if keys is not None:
            room, keys = (room or Growing(keys)).longer(keys, keys_of(listed))
        grown = replace(self, ids=known, known_keys=keys, room=room)
        return grown._after(gone, self.records + count)

    def _after(self, rows: Iterable[int], size: int) -> "Roster":
        """The roster after one more request, at which rows left, or joined, or both.

        Raises:
            ValueError: as `without`, or the rows became fewer.
        """
        gone = np.unique(np.fromiter(rows, dtype=np.int64))
        for row in gone.tolist():
            if not self.public <= row < self.records or self._has_left(row):
                raise ValueError(f"forget: row {row} is no private record that is still there")
        if len(gone) >= self.retained:
            raise ValueError("forget: no record would remain, so there is no comparator")
        if size < self.records:
            raise ValueError(f"{size} rows after {self.records}: rows never become fewer")
        gone.setflags(write=False)
        return replace(
            self,
            departures=(*self.departures, gone),
            merged=_merge(self.merged, gone) if len(gone) else self.merged,
            sizes=(*self.sizes, size),
        )

    def _has_left(self, row: int) -> bool:
        for rows in self.merged:
            place = int(np.searchsorted(rows, row))
            if place < len(rows) and rows[place] == row:
                return True
        return False


def _merge(arrays: tuple[np.ndarray, ...], added: np.ndarray) -> tuple[np.ndarray, ...]:
    """Add an array to a few sorted ones; each is longer than the next, so there are few."""
    kept = list(arrays)
    while kept and len(kept[-1]) <= len(added):
        added = np.sort(np.concatenate([kept.pop(), added]))
    added.setflags(write=False)
    return (*kept, added)
