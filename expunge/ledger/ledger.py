"""Reading and writing the ledger. A `with ledger.writing()` block happens whole or not at all.

SQLite with a write-ahead log and full synchronisation: a commit survives a power cut, readers never
wait and never write (`ledger.sqlite_file`), and one process writes at a time. No torch, no models.
"""

import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Table, create_engine, func, insert, inspect, select, update
from sqlalchemy.exc import DatabaseError, IntegrityError, OperationalError

from expunge.errors import InvalidInput
from expunge.ledger.newcomers import add_rows, arrival_problems
from expunge.ledger.schema import (
    LATER,
    Addition,
    Busy,
    IdOutcome,
    JournalEntry,
    Lease,
    Model,
    Overtaken,
    Request,
    Role,
    State,
    additions,
    certificates,
    former,
    journal,
    lease,
    metadata,
    models,
    records,
    requested,
    requests,
    settings,
)
from expunge.ledger.sealed_records import (
    RecordCount,
    check_records,
    check_rows,
    count_former,
    has_count,
    no_longer_pending,
    record_row,
    seal_records,
    sealed_records,
)
from expunge.ledger.sealing import check_everything, check_seal, renew_seal
from expunge.ledger.sqlite_file import (
    check_structure,
    empty_log,
    file_of,
    reading_connection,
    writing_engine,
)

__all__ = ["Entries", "Ledger"]

CHUNK = 500  # ids in one query
BLOCK = 50_000  # records that are added at a time
WORK = "work"  # the name of the one lease


class Ledger:
    """The database of a workspace: settings, records, requests, models and certificates.

    Args:
        where: A SQLite file, or an SQLAlchemy URL.
    """

    def __init__(self, where: Path | str) -> None:
        self.where = where
        self._file = file_of(where)
        self._engine = (
            create_engine(str(where)) if self._file is None else writing_engine(self._file)
        )

    def create(self) -> None:
        """Make the tables, and seal them."""
        with self._errors(), self._engine.begin() as connection:
            metadata.create_all(connection)
            if not has_count(connection):
                seal_records(connection, RecordCount())
            renew_seal(connection)

    def close(self) -> None:
        self._engine.dispose()

    @contextmanager
    def reading(self) -> Iterator["Entries"]:
        """A consistent view, which writes nothing and waits for nobody.

        Raises:
            Overtaken: a writer changed the file meanwhile; look again.
            InvalidInput: not a ledger, or one that cannot be read without writing.
            Altered: it is not as it was written.
        """
        with self._errors(), self._reader() as connection:
            check_seal(connection, str(self.where))
            yield Entries(connection, str(self.where))

    @contextmanager
    def writing(self) -> Iterator["Entries"]:
        """The only writer until the block ends; an exception undoes everything.

        Raises:
            Busy: another process is writing, or the file can only be read.
            InvalidInput: not a ledger.
            Altered: it is not as it was written.
        """
        with self._errors(), self._engine.begin() as connection:
            check_seal(connection, str(self.where))
            yield Entries(connection, str(self.where))
            renew_seal(connection)

    def check(self) -> int:
        """Check every row and the whole file; returns how many rows there are.

        Raises:
            InvalidInput: not a ledger.
            Altered: it is not as it was written.
        """
        with self._errors(), self._reader() as connection:
            return check_everything(connection, str(self.where))

    def empty_log(self) -> bool:
        """Leave nothing of earlier entries beside the file; False while a reader needs them."""
        with self._errors():
            return self._file is None or empty_log(self._engine)

    def _reader(self) -> AbstractContextManager[Connection]:
        return self._engine.begin() if self._file is None else reading_connection(self._file)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except IntegrityError:
            raise
        except (DatabaseError, sqlite3.Error) as error:
            problem = str(error.orig) if isinstance(error, DatabaseError) else str(error)
            if "locked" in problem:
                raise Busy(f"{self.where}: another process is working on it") from error
            if "readonly" in problem:
                raise Busy(f"{self.where}: can only be read") from error
            usable = not isinstance(error, OperationalError | sqlite3.OperationalError)
            usable |= "no such table" in problem
            verdict = "not a ledger" if usable else "cannot be used"
            raise InvalidInput(str(self.where), f"{verdict} ({problem})") from error


class Entries:
    """What a connection to the ledger sees; only those of `Ledger.writing` may write."""

    def __init__(self, connection: Connection, where: str) -> None:
        self._connection, self._where = connection, where

    # ---- settings ---------------------------------------------------------------------------

    def setting(self, name: str) -> str:
        """Return the value of a setting.

        Raises:
            KeyError: there is no setting of this name.
        """
        value = self._scalar(select(settings.c.value).where(settings.c.name == name))
        if value is None:
            raise KeyError(name)
        return value

    def find_setting(self, name: str) -> str | None:
        """The value of a setting; None in a ledger of an earlier version, which lacks it."""
        return self._scalar(select(settings.c.value).where(settings.c.name == name))

    def set(self, name: str, value: str) -> None:
        self._connection.execute(insert(settings).values(name=name, value=value))

    # ---- records ----------------------------------------------------------------------------

    def add_records(self, ids: Iterable[str], role: Role) -> None:
        """Add records, whose rows follow those that are there, in this order.

        Raises:
            InvalidInput: an id is there already; it is named.
        """
        count = sealed_records(self._connection, self._where)
        ids = iter(ids)
        while some := list(islice(ids, BLOCK)):
            rows = [record_row(id_, role, count.records + at) for at, id_ in enumerate(some)]
            try:
                with self._connection.begin_nested():
                    _insert_rows(self._connection, records, rows)
            except IntegrityError as error:
                raise InvalidInput("ids", self._repeated(some)) from error
            count = count.with_rows(rows)
        seal_records(self._connection, count)

    def _repeated(self, ids: Sequence[str]) -> str:
        """Which of these ids is there already, or twice among them."""
        known = self._records(ids)
        twice = [record for record, n in Counter(ids).items() if n > 1 or record in known]
        return f"{twice[0]!r} is there twice"

    def places(self, ids: Sequence[str]) -> list[int]:
        """The rows of these records in the model's tables, public ones first.

        Raises:
            InvalidInput: an id is not known; it is named.
        """
        known = self._records(ids)
        for id_ in ids:
            if id_ not in known:
                raise InvalidInput("ids", f"{id_!r} is unknown")
        return [known[id_].place for id_ in ids]

    def counts(self) -> dict[str, int]:
        """How many records are public, private and still present, and forgotten."""
        count = sealed_records(self._connection, self._where)
        gone = self._scalar(select(func.count()).select_from(no_longer_pending().subquery()))
        gone += count_former(self._connection)
        return {"public": count.public, "private": count.private - gone, "forgotten": gone}

    def check_arrivals(self, ids: Sequence[str], *, again: bool, replace: bool) -> None:
        """Check that records with these ids can join; only they are looked at.

        Args:
            again, replace: As for `arrival_problems`.

        Raises:
            InvalidInput: some cannot; every one of them is named.
        """
        _check_printable(ids, None)
        known, asked = self._records(ids), self._asked(ids)
        pending = set(self._scalars(_PENDING))
        gone = {record for record, number in asked.items() if number not in pending}
        outcomes: dict[str, IdOutcome] = {
            record: _outcome(known.get(record), record in gone) for record in ids
        }
        culprits = [f"{record!r} is given twice" for record, n in Counter(ids).items() if n > 1]
        culprits += arrival_problems(outcomes.items(), again=again, replace=replace)
        if culprits:
            raise InvalidInput("ids", "; ".join(culprits))

    def join_records(self, ids: Sequence[str], model: Model) -> Addition:
        """Note that these records have joined, at the rows after all others, at this model.

        It is `honoured` once what came before is erased, as a request is.

        Raises:
            InvalidInput: an id is there; it is named.
        """
        for table in LATER:
            if not self._has(table):
                table.create(self._connection)  # a ledger of an earlier version
        return add_rows(self._connection, self._where, ids, model.number)

    def additions(self) -> list[Addition]:
        """Which records joined when, the earliest first."""
        if not self._has(additions):
            return []
        rows = self._connection.execute(select(additions).order_by(additions.c.number))
        return [Addition(**row._mapping) for row in rows]

    # ---- requests ---------------------------------------------------------------------------

    def add_request(self, ids: Sequence[str], name: str | None = None) -> Request:
        """Record a pending request for these records.

        Raises:
            InvalidInput: naming every id that is repeated, unknown, public, already forgotten or
                already asked for, or a request's name that is taken.
        """
        name = self.check_request(ids, name)
        number = 1 + (self._scalar(select(func.max(requests.c.number))) or 0)
        row = {"number": number, "name": name, "received": _now(), "state": "pending"}
        self._connection.execute(insert(requests), row)
        self._connection.execute(
            insert(requested), [{"request": number, "record": record} for record in ids]
        )
        return Request(number, name, row["received"], "pending", tuple(ids))

    def check_request(self, ids: Sequence[str], name: str | None = None) -> str:
        """Check that a request for these records can be recorded; returns the name it would have.

        Raises:
            InvalidInput: as for `add_request`.
        """
        if not ids:
            raise InvalidInput("ids", "none given")
        if name is not None and not name.strip():
            raise InvalidInput("request", "the name is empty")
        _check_printable(ids, name)
        self._check_ids(ids)
        self._check_remainder(len(ids))
        number = 1 + (self._scalar(select(func.max(requests.c.number))) or 0)
        name = f"request {number}" if name is None else name
        if self._scalar(select(requests.c.number).where(requests.c.name == name)) is not None:
            raise InvalidInput("request", f"the name {name!r} is taken")
        return name

    def find_request(self, ids: Sequence[str], name: str | None = None) -> Request | None:
        """The request that was made before for exactly these records, under this name if any.

        Raises:
            InvalidInput: an id or the name holds characters that cannot be printed.
        """
        _check_printable(ids, name)
        if name is not None:
            query = select(requests.c.number).where(requests.c.name == name)
        else:
            query = select(requested.c.request).where(requested.c.record == (ids or ("",))[0])
        number = self._scalar(query)
        if number is None or self._named_by(number) != sorted(ids):
            return None
        return self.request(number)

    def outcomes(self, ids: Sequence[str]) -> dict[str, IdOutcome]:
        """What a request would make of each of these ids, as the records stand now."""
        known, asked = self._records(ids), self._asked(ids)
        if len(known) < len(set(ids)):  # damage might pass for an unknown id
            check_structure(self._connection, self._where, records.name)
            check_records(self._connection, self._where)
        pending = set(self._scalars(_PENDING))
        gone = {record for record, number in asked.items() if number not in pending}
        return {record: _outcome(known.get(record), record in gone) for record in ids}

    def request(self, number: int) -> Request:
        """The request of this number."""
        row = self._connection.execute(select(requests).where(requests.c.number == number)).one()
        return Request(**row._mapping, records=self._records_of(number))

    def state_of(self, number: int) -> State:
        """How far the request of this number is."""
        return self._scalar(select(requests.c.state).where(requests.c.number == number))

    def requests(self, state: State | None = None) -> list[Request]:
        """Requests in the order of arrival."""
        query = select(requests).order_by(requests.c.number)
        if state is not None:
            query = query.where(requests.c.state == state)
        return [
            Request(**row._mapping, records=self._records_of(row.number))
            for row in self._connection.execute(query)
        ]

    def _records_of(self, number: int) -> tuple[str, ...]:
        came_back = []
        if self._has(former):
            came_back = self._scalars(select(former.c.record).where(former.c.request == number))
        return tuple(sorted([*self._named_by(number), *came_back]))

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
        outcomes, asked = self.outcomes(ids), self._asked(ids)
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

    def _records(self, ids: Sequence[str]) -> dict[str, Any]:
        """The rows of these records, of those that there are."""
        known: dict[str, Any] = {}
        for some in _in_chunks(ids):
            query = select(records).where(records.c.id.in_(some))
            known |= {row.id: row for row in self._connection.execute(query)}
        check_rows(self._where, known.values())
        return known

    def _asked(self, ids: Sequence[str]) -> dict[str, int]:
        """The request that asked for each of these records, of those that were asked for."""
        asked: dict[str, int] = {}
        for some in _in_chunks(ids):
            query = select(requested).where(requested.c.record.in_(some))
            asked |= {row.record: row.request for row in self._connection.execute(query)}
        return asked

    def _check_remainder(self, more: int) -> None:
        """Check that a record remains; without any there is nothing to compare a model with."""
        counts = self.counts()
        asked = sum(len(request.records) for request in self.requests("pending"))
        if counts["public"] + counts["private"] <= asked + more:
            raise InvalidInput("ids", "no record would remain, so there is no comparator")

    # ---- models and certificates ------------------------------------------------------------

    def add_model(
        self,
        *,
        sha256: str,
        seal: str,
        evaluation: str | None = None,
        honours: Request | None = None,
        certificate: str | None = None,
    ) -> Model:
        """Record the new current model; commit the request that it honours and mark its records.

        The request is `honoured` once what knew its records is erased: `close_committed`.

        Raises:
            Overtaken: the request is no longer pending.
        """
        number = 1 + (self._scalar(select(func.max(models.c.number))) or 0)
        model = Model(
            number,
            sha256,
            _now(),
            None if honours is None else honours.number,
            seal,
            evaluation,
        )
        # Digests of files with records that are gone would let somebody try what was in them.
        self._connection.execute(update(models).values(seal=""))
        self._connection.execute(insert(models), vars(model))
        if honours is not None:
            self._commit(honours)
        if certificate is not None:
            row = {"model": number, "document": certificate}
            self._connection.execute(insert(certificates), row)
        return model

    def _commit(self, request: Request) -> None:
        waiting = requests.c.number == request.number, requests.c.state == "pending"
        moved = self._connection.execute(update(requests).where(*waiting).values(state="committed"))
        if moved.rowcount != 1:
            raise Overtaken(f"request {request.number} is no longer pending")

    def close_committed(self) -> None:
        """Call honoured what is committed: the files that were to be erased for it are."""
        for table in (requests, *(each for each in (journal, additions) if self._has(each))):
            committed = update(table).where(table.c.state == "committed")
            self._connection.execute(committed.values(state="honoured"))

    def has_committed(self) -> bool:
        """Whether a request, an addition or a refresh still has files to erase."""
        done = any(each.state == "committed" for each in (*self.journal(), *self.additions()))
        return done or bool(self.requests("committed"))

    def refresh_model(self, model: Model, *, seal: str) -> Model:
        """Record that a model has new secret state; it and its certificate stay as they are."""
        if not self._has(journal):
            journal.create(self._connection)  # a ledger of an earlier version
        this = models.c.number == model.number
        self._connection.execute(update(models).where(this).values(seal=seal))
        row = {"what": "refresh", "model": model.number, "done": _now(), "state": "committed"}
        self._connection.execute(insert(journal), row)
        return replace(model, seal=seal)

    def journal(self) -> list[JournalEntry]:
        """What was done without a request, the oldest first."""
        if not self._has(journal):
            return []
        rows = self._connection.execute(select(journal).order_by(journal.c.number))
        return [JournalEntry(**row._mapping) for row in rows]

    def models(self) -> list[Model]:
        """Models, the oldest first; the last is current."""
        rows = self._connection.execute(select(models).order_by(models.c.number))
        return [Model(**row._mapping) for row in rows]

    def certificates(self, state: State | None = None) -> dict[int, str]:
        """Canonical JSON of every certificate, by number.

        Args:
            state: Only those of requests and additions in this state.
        """
        query = select(certificates.c.number, certificates.c.document)
        if state is not None:
            numbers = {request.number for request in self.requests(state)}
            made = {model.number for model in self.models() if model.request in numbers}
            made |= {each.model for each in self.additions() if each.state == state}
            query = query.where(certificates.c.model.in_(made))
        rows = self._connection.execute(query.order_by(certificates.c.number))
        return {row.number: row.document for row in rows}

    def certificate_of(self, model: Model) -> str | None:
        query = select(certificates.c.document).where(certificates.c.model == model.number)
        return self._scalar(query)

    def erase_earlier(self, than: Model) -> None:
        """Forget hash and scores of earlier models: both tell who was among their records."""
        earlier = models.c.number < than.number
        erased = {"sha256": "erased", "evaluation": None}
        self._connection.execute(update(models).where(earlier).values(**erased))

    # ---- the lease --------------------------------------------------------------------------

    def lease(self) -> Lease | None:
        """The last lease that was taken; None before the first."""
        if not self._has(lease):
            return None
        row = self._connection.execute(_THE_LEASE).first()
        return None if row is None else Lease(row.number, row.holder, row.taken)

    def take_lease(self, holder: str) -> Lease:
        """Take the lease from whoever had it, under the next number."""
        row = self._connection.execute(_THE_LEASE.with_for_update()).first()
        taken = Lease(1 if row is None else row.number + 1, holder, _now())
        change = insert(lease) if row is None else update(lease).where(lease.c.name == WORK)
        self._connection.execute(change.values(name=WORK, **vars(taken)))
        return taken

    def check_lease(self, held: Lease) -> None:
        """Check that nobody has taken the lease since.

        Raises:
            Overtaken: somebody has.
        """
        row = self._connection.execute(_THE_LEASE.with_for_update()).first()
        if row is None or row.number != held.number:
            number = None if row is None else row.number
            raise Overtaken(f"lease {held.number} was taken over by lease {number}")

    def return_lease(self, held: Lease) -> None:
        """Give the lease back, unless somebody has taken it."""
        ours = lease.c.name == WORK, lease.c.number == held.number
        self._connection.execute(update(lease).where(*ours).values(holder=None))

    def _has(self, table: Table) -> bool:
        """Whether the ledger has this table; one of an earlier version may not."""
        return inspect(self._connection).has_table(table.name)

    def _scalar(self, query: Any) -> Any:
        return self._connection.execute(query).scalar()

    def _scalars(self, query: Any) -> Any:
        return self._connection.execute(query).scalars()


def _check_printable(ids: Sequence[str], name: str | None) -> None:
    for field, value in (*(("ids", record) for record in ids), ("request", name or "")):
        if not value.isprintable():
            raise InvalidInput(field, f"{value!r} holds characters that cannot be printed")


_THE_LEASE = select(lease).where(lease.c.name == WORK)
_PENDING = select(requests.c.number).where(requests.c.state == "pending")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


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
