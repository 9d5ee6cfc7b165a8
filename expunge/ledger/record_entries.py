"""The records: who they are, which rows they have, who has left and who has joined."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from operator import itemgetter
from typing import Any

from sqlalchemy import Connection, Table, func, insert, select
from sqlalchemy.exc import IntegrityError

from expunge.errors import InvalidInput
from expunge.ledger.connected import Connected
from expunge.ledger.fits import current_fit, later_fits
from expunge.ledger.newcomers import add_rows, arrival_problems
from expunge.ledger.schema import (
    Addition,
    Fit,
    IdOutcome,
    Model,
    Role,
    additions,
    records,
    requested,
    requests,
)
from expunge.ledger.sealed_records import (
    check_records,
    check_rows,
    count_former,
    no_longer_pending,
    record_row,
    seal_records,
    sealed_records,
)
from expunge.ledger.sqlite_file import check_structure

__all__ = ["RecordEntries", "check_printable"]

CHUNK = 500  # ids in one query
BLOCK = 50_000  # records that are added at a time


class RecordEntries(Connected):
    """What the ledger says of records."""

    def add_records(self, ids: Iterable[str], role: Role, *, first: int = 0) -> None:
        """Add records, whose rows follow those that are there, in this order.

        Args:
            first: The row of the first of all.

        Raises:
            InvalidInput: an id is there already; it is named.
        """
        count = sealed_records(self._connection, self._where)
        ids = iter(ids)
        while some := list(islice(ids, BLOCK)):
            begin = first + count.records
            rows = [record_row(id_, role, begin + at) for at, id_ in enumerate(some)]
            try:
                with self._connection.begin_nested():
                    _insert_rows(self._connection, records, rows)
            except IntegrityError as error:
                raise InvalidInput("ids", self._repeated(some)) from error
            count = count.with_rows(rows)
        seal_records(self._connection, count)

    def _repeated(self, ids: Sequence[str]) -> str:
        """Which of these ids is there already, or twice among them."""
        known = self.rows_of(ids)
        twice = [record for record, n in Counter(ids).items() if n > 1 or record in known]
        return f"{twice[0]!r} is there twice"

    def places(self, ids: Sequence[str]) -> list[int]:
        """The rows of these records in the model's tables, public ones first.

        Raises:
            InvalidInput: an id is not known, or its record left before this fit; it is named.
        """
        known, first = self.rows_of(ids), self.fit().first
        for id_ in ids:
            if id_ not in known:
                raise InvalidInput("ids", f"{id_!r} is unknown")
            if known[id_].place < first:
                raise InvalidInput("ids", f"{id_!r} left before this fit")
        return [known[id_].place - first for id_ in ids]

    def record_blocks(self) -> Iterator[list[dict[str, Any]]]:
        """Every record as a row of the table, many at a time.

        Raises:
            Altered: one is not as it was written.
        """
        connection = self._connection.execution_options(yield_per=BLOCK)
        for rows in connection.execute(select(records)).partitions():
            check_rows(self._where, rows)
            yield [row._asdict() for row in rows]

    def forgotten(self) -> set[str]:
        """The ids of all records that are forgotten, in any fit, but for those that came back."""
        gone = no_longer_pending().subquery()
        left = select(records.c.id).where(records.c.place < self.fit().first)
        return {*self._scalars(select(gone.c.record)), *self._scalars(left)}

    def in_this_fit(self, ids: Sequence[str]) -> list[str]:
        """Those of these ids whose records the tables of this fit have, or had."""
        known, first = self.rows_of(ids), self.fit().first
        return [id_ for id_ in ids if known[id_].place >= first]

    def fit(self) -> Fit:
        """The fit that the current model is of."""
        return current_fit(self._connection)

    def fits(self) -> list[Fit]:
        """Every fit after the first, in order."""
        return later_fits(self._connection)

    def counts(self) -> dict[str, int]:
        """How many records are public, private and still present, and forgotten, in any fit."""
        count, here = sealed_records(self._connection, self._where), self.counts_of_fit()
        private = here["records"] - count.public - here["forgotten"]
        gone = count.private - private
        return {"public": count.public, "private": private, "forgotten": gone}

    def counts_of_fit(self) -> dict[str, int]:
        """How many records this fit has had, public ones too, and how many of them it forgot."""
        count, fit = sealed_records(self._connection, self._where), self.fit()
        gone = no_longer_pending()
        if fit.first:
            gone = gone.join(records, records.c.id == requested.c.record)
            gone = gone.where(records.c.place >= fit.first)
        forgotten = self._scalar(select(func.count()).select_from(gone.subquery()))
        forgotten += count_former(self._connection, fit.first)
        return {"records": count.records - fit.earlier, "forgotten": forgotten}

    def outcomes(self, ids: Sequence[str], *, doubt: bool = True) -> dict[str, IdOutcome]:
        """What a request would make of each of these ids, as the records stand now.

        Args:
            doubt: Read all records before it is believed that one of them is not there.
        """
        outcomes = self._outcomes(ids)
        if doubt and "unknown" in outcomes.values():  # damage might pass for an unknown id
            check_structure(self._connection, self._where, records.name)
            check_records(self._connection, self._where)
        return outcomes

    def _outcomes(self, ids: Sequence[str]) -> dict[str, IdOutcome]:
        """The same, taking the ledger's word that an id is unknown."""
        known, asked = self.rows_of(ids), self.requests_of(ids)
        pending, first = set(self._scalars(_PENDING)), self.fit().first
        gone = {record for record, number in asked.items() if number not in pending}
        gone |= {record for record, row in known.items() if row.place < first}
        return {record: _outcome(known.get(record), record in gone) for record in ids}

    def check_arrivals(self, ids: Sequence[str], *, again: bool, replace: bool) -> None:
        """Check that records with these ids can join; only they are looked at.

        Args:
            again, replace: As for `arrival_problems`.

        Raises:
            InvalidInput: some cannot; every one of them is named.
        """
        check_printable(ids, None)
        culprits = [f"{record!r} is given twice" for record, n in Counter(ids).items() if n > 1]
        arriving = self._outcomes(ids).items()
        culprits += arrival_problems(arriving, again=again, replace=replace)
        if culprits:
            raise InvalidInput("ids", "; ".join(culprits))

    def join_records(self, ids: Sequence[str], model: Model) -> Addition:
        """Note that these records have joined, at the rows after all others, at this model.

        It is `honoured` once what came before is erased, as a request is.

        Raises:
            InvalidInput: an id is there; it is named.
        """
        self._make_later()
        return add_rows(self._connection, self._where, ids, model.number)

    def additions(self) -> list[Addition]:
        """Which records joined when, the earliest first."""
        if not self._has(additions):
            return []
        rows = self._connection.execute(select(additions).order_by(additions.c.number))
        return [Addition(**row._mapping) for row in rows]

    def rows_of(self, ids: Sequence[str]) -> dict[str, Any]:
        """The rows of these records, of those that there are."""
        known: dict[str, Any] = {}
        for some in _in_chunks(ids):
            query = select(records).where(records.c.id.in_(some))
            known |= {row.id: row for row in self._connection.execute(query)}
        check_rows(self._where, known.values())
        return known

    def requests_of(self, ids: Sequence[str]) -> dict[str, int]:
        """The request that asked for each of these records, of those that were asked for."""
        asked: dict[str, int] = {}
        for some in _in_chunks(ids):
            query = select(requested).where(requested.c.record.in_(some))
            asked |= {row.record: row.request for row in self._connection.execute(query)}
        return asked


def check_printable(ids: Sequence[str], name: str | None) -> None:
    """Check that ids and a request's name can be shown to whoever asks.

    Raises:
        InvalidInput: one holds other characters.
    """
    for field, value in (*(("ids", record) for record in ids), ("request", name or "")):
        if not value.isprintable():
            raise InvalidInput(field, f"{value!r} holds characters that cannot be printed")


_PENDING = select(requests.c.number).where(requests.c.state == "pending")


def _outcome(record: Any, gone: bool) -> IdOutcome:
    """What a request makes of a record, None where it is not there; gone by an earlier request."""
    if record is None:
        return "unknown"
    if record.role == "public":
        return "public"
    return "already forgotten" if gone else "forgotten"


def _insert_rows(connection: Connection, table: Table, rows: Sequence[dict[str, Any]]) -> None:
    """Insert plain rows by the driver's own statement, which takes a third of the time."""
    compiled: Any = insert(table).compile(dialect=connection.dialect)
    if compiled.positiontup is None:
        connection.execute(insert(table), rows)
        return
    taken = itemgetter(*compiled.positiontup)
    connection.exec_driver_sql(str(compiled), [taken(row) for row in rows])


def _in_chunks(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    """These ids, as many at a time as a statement takes."""
    for start in range(0, len(ids), CHUNK):
        yield ids[start : start + CHUNK]
