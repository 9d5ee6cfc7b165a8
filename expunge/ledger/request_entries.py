"""The requests: what was asked for, by which name, and how far it is."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

from sqlalchemy import func, insert, select

from expunge.errors import InvalidInput
from expunge.ledger.moment import now
from expunge.ledger.record_entries import RecordEntries, check_printable
from expunge.ledger.schema import Request, State, former, requested, requests

__all__ = ["RequestEntries"]


class RequestEntries(RecordEntries):
    """What the ledger says of requests."""

    def add_request(self, ids: Sequence[str], name: str | None = None) -> Request:
        """Record a pending request for these records.

        Raises:
            InvalidInput: naming every id that is repeated, unknown, public, already forgotten or
                already asked for, or a request's name that is taken.
        """
        (request,) = self.record([(self.check_request(ids, name), ids)])
        return request

    def record(self, asked: Sequence[tuple[str, Sequence[str]]]) -> list[Request]:
        """Record pending requests, by their names, which were checked."""
        first = self._next_request()
        made = [
            Request(number, name, now(), "pending", tuple(ids))
            for number, (name, ids) in enumerate(asked, start=first)
        ]
        columns = ("number", "name", "received", "state")
        rows = [{column: getattr(one, column) for column in columns} for one in made]
        self._connection.execute(insert(requests), rows)
        named = [{"request": one.number, "record": id_} for one in made for id_ in one.records]
        self._connection.execute(insert(requested), named)
        return made

    def check_request(self, ids: Sequence[str], name: str | None = None) -> str:
        """Check that a request for these records can be recorded; returns the name it would have.

        Raises:
            InvalidInput: as for `add_request`.
        """
        if not ids:
            raise InvalidInput("ids", "none given")
        check_printable(ids, None)
        self._check_ids(ids)
        self._check_remainder(len(ids))
        return self.check_name(name)

    def check_name(self, name: str | None) -> str:
        """Check that the next request can have this name; returns it, or the usual one for None.

        Raises:
            InvalidInput: it is taken, empty, or cannot be printed.
        """
        if name is not None and not name.strip():
            raise InvalidInput("request", "the name is empty")
        check_printable((), name)
        name = f"request {self._next_request()}" if name is None else name
        if self._scalar(select(requests.c.number).where(requests.c.name == name)) is not None:
            raise InvalidInput("request", f"the name {name!r} is taken")
        return name

    def _next_request(self) -> int:
        return 1 + (self._scalar(select(func.max(requests.c.number))) or 0)

    def find_request(self, ids: Sequence[str], name: str | None = None) -> Request | None:
        """The request that was made before for exactly these records, under this name if any.

        Raises:
            InvalidInput: an id or the name holds characters that cannot be printed.
        """
        check_printable(ids, name)
        if name is not None:
            query = select(requests.c.number).where(requests.c.name == name)
        else:
            query = select(requested.c.request).where(requested.c.record == (ids or ("",))[0])
        number = self._scalar(query)
        if number is None or self._named_by(number) != sorted(ids):
            return None
        return self.request(number)

    def request(self, number: int) -> Request:
        """The request of this number."""
        row = self._connection.execute(select(requests).where(requests.c.number == number)).one()
        return Request(**row._mapping, records=self._records_of([number])[number])

    def state_of(self, number: int) -> State:
        """How far the request of this number is."""
        return self._scalar(select(requests.c.state).where(requests.c.number == number))

    def requests(self, state: State | None = None) -> list[Request]:
        """Requests in the order of arrival."""
        query = select(requests).order_by(requests.c.number)
        if state is not None:
            query = query.where(requests.c.state == state)
        found = self._connection.execute(query).all()
        named = self._records_of(select(query.subquery().c.number))
        return [Request(**row._mapping, records=named[row.number]) for row in found]

    def _records_of(self, numbers: Any) -> defaultdict[int, tuple[str, ...]]:
        """The ids that these requests name, those that came back since as well, in order."""
        named: dict[int, list[str]] = {}
        for table in (requested, *([former] if self._has(former) else [])):
            query = select(table.c.request, table.c.record).where(table.c.request.in_(numbers))
            for row in self._connection.execute(query):
                named.setdefault(row.request, []).append(row.record)
        return defaultdict(tuple, {number: tuple(sorted(ids)) for number, ids in named.items()})

    def _named_by(self, number: int) -> list[str]:
        """The ids that a request names, without those that came back since."""
        return sorted(
            self._scalars(select(requested.c.record).where(requested.c.request == number))
        )

    def _check_ids(self, ids: Sequence[str]) -> None:
        """Check that these records can be deleted.

        Raises:
            InvalidInput: some cannot; every one of them is named.
        """
        outcomes, asked = self.outcomes(ids), self.requests_of(ids)
        culprits = [f"{record!r} is given twice" for record, n in Counter(ids).items() if n > 1]
        for record, outcome in outcomes.items():
            if outcome == "public":
                culprits.append(f"{record!r} is public, and only private records can be deleted")
            elif outcome != "forgotten":
                culprits.append(f"{record!r} is {outcome}")
            elif record in asked:
                number = asked[record]
                culprits.append(f"{record!r} is already in request {number}, which is pending")
        if culprits:
            raise InvalidInput("ids", "; ".join(culprits))

    def _check_remainder(self, more: int) -> None:
        """Check that a record remains; without any there is nothing to compare a model with."""
        counts = self.counts()
        pending = self.requests("pending")
        asked = sum(len(self.in_this_fit(request.records)) for request in pending)
        if counts["public"] + counts["private"] <= asked + more:
            raise InvalidInput("ids", "no record would remain, so there is no comparator")
