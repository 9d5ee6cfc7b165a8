"""Reading and writing the ledger. A `with ledger.writing()` block happens whole or not at all.

SQLite with a write-ahead log and full synchronisation: a commit survives a power cut, readers never
wait, and one process writes at a time. No torch, no models.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlalchemy import (
    URL,
    Connection,
    Engine,
    create_engine,
    event,
    func,
    insert,
    select,
    update,
)
from sqlalchemy.exc import DatabaseError, IntegrityError, OperationalError

from expunge.errors import InvalidInput
from expunge.ledger.schema import (
    Busy,
    Model,
    Request,
    Role,
    certificates,
    metadata,
    models,
    records,
    requested,
    requests,
    settings,
)
from expunge.ledger.sealing import add_to_seal, check_everything, check_seal, renew_seal

__all__ = ["Entries", "Ledger"]

CHUNK = 500  # ids in one query


class Ledger:
    """The database of a workspace: settings, records, requests, models and certificates.

    Args:
        where: A SQLite file, or an SQLAlchemy URL.
    """

    def __init__(self, where: Path | str) -> None:
        self.where = where
        frozen = _is_frozen(where)
        self._engine = create_engine(_url(where, frozen))
        if self._engine.dialect.name == "sqlite":
            event.listen(self._engine, "connect", _begin_by_hand)
            event.listen(self._engine, "begin", _begin)
            if not frozen:
                event.listen(self._engine, "connect", _prepare)

    def create(self) -> None:
        """Make the tables, and seal them."""
        metadata.create_all(self._engine)
        with self._errors(), _writer(self._engine).begin() as connection:
            renew_seal(connection)

    def close(self) -> None:
        self._engine.dispose()

    @contextmanager
    def reading(self) -> Iterator["Entries"]:
        """A consistent view.

        Raises:
            InvalidInput: not a ledger.
            Altered: it is not as it was written.
        """
        with self._errors(), self._engine.begin() as connection:
            check_seal(connection, str(self.where))
            yield Entries(connection)

    @contextmanager
    def writing(self) -> Iterator["Entries"]:
        """The only writer until the block ends; an exception undoes everything.

        Raises:
            Busy: another process is writing, or the file can only be read.
            InvalidInput: not a ledger.
            Altered: it is not as it was written.
        """
        with self._errors(), _writer(self._engine).begin() as connection:
            check_seal(connection, str(self.where))
            yield Entries(connection)
            renew_seal(connection)

    def check(self) -> int:
        """Check every row and the whole file; returns how many rows there are.

        Raises:
            InvalidInput: not a ledger.
            Altered: it is not as it was written.
        """
        with self._errors(), self._engine.begin() as connection:
            return check_everything(connection, str(self.where))

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except IntegrityError:
            raise
        except OperationalError as error:
            if "locked" in str(error.orig):
                raise Busy(f"{self.where}: another process is working on it") from error
            if "readonly" in str(error.orig):
                raise Busy(f"{self.where}: can only be read") from error
            known = "no such table" in str(error.orig)
            problem = "not a ledger" if known else "cannot be used"
            raise InvalidInput(str(self.where), f"{problem} ({error.orig})") from error
        except DatabaseError as error:
            raise InvalidInput(str(self.where), f"not a ledger ({error.orig})") from error


class Entries:
    """What a connection to the ledger sees; only those of `Ledger.writing` may write."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

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

    def set(self, name: str, value: str) -> None:
        self._connection.execute(insert(settings).values(name=name, value=value))

    # ---- records ----------------------------------------------------------------------------

    def add_records(self, ids: Iterable[str], role: Role) -> None:
        rows = [{"id": record, "role": role} for record in ids]
        if rows:
            self._connection.execute(insert(records), rows)
            add_to_seal(self._connection, [(row["id"], row["role"]) for row in rows])

    def counts(self) -> dict[str, int]:
        """How many records are public, private and still present, and forgotten."""
        gone = records.c.forgotten_by.is_not(None)
        query = select(records.c.role, gone, func.count()).group_by(records.c.role, gone)
        tally = {(role, bool(out)): n for role, out, n in self._connection.execute(query)}
        return {
            "public": tally.get(("public", False), 0),
            "private": tally.get(("private", False), 0),
            "forgotten": tally.get(("private", True), 0),
        }

    # ---- requests ---------------------------------------------------------------------------

    def add_request(self, ids: Sequence[str], name: str | None = None) -> Request:
        """Record a pending request for these records.

        Raises:
            InvalidInput: naming an id that is repeated, unknown, public, already forgotten or
                already asked for, or a request's name that is taken.
        """
        if not ids:
            raise InvalidInput("ids", "none given")
        if name is not None and not name.strip():
            raise InvalidInput("request", "the name is empty")
        self._check_ids(ids)
        self._check_remainder(len(ids))
        number = 1 + (self._scalar(select(func.max(requests.c.number))) or 0)
        name = f"request {number}" if name is None else name
        if self._scalar(select(requests.c.number).where(requests.c.name == name)) is not None:
            raise InvalidInput("request", f"the name {name!r} is taken")
        row = {"number": number, "name": name, "received": _now(), "state": "pending"}
        self._connection.execute(insert(requests), row)
        self._connection.execute(
            insert(requested), [{"request": number, "record": record} for record in ids]
        )
        return Request(number, name, row["received"], "pending", tuple(ids))

    def requests(self, state: str | None = None) -> list[Request]:
        """Requests in the order of arrival."""
        query = select(requests).order_by(requests.c.number)
        if state is not None:
            query = query.where(requests.c.state == state)
        return [
            Request(**row._mapping, records=self._records_of(row.number))
            for row in self._connection.execute(query)
        ]

    def _records_of(self, number: int) -> tuple[str, ...]:
        query = select(requested.c.record).where(requested.c.request == number)
        return tuple(self._connection.execute(query.order_by(requested.c.record)).scalars())

    def _check_ids(self, ids: Sequence[str]) -> None:
        for record in ids:
            if not record.isprintable():
                raise InvalidInput("ids", f"{record!r} holds characters that cannot be printed")
        known: dict[str, Any] = {}
        asked: dict[str, int] = {}
        for start in range(0, len(ids), CHUNK):
            some = ids[start : start + CHUNK]
            query = select(records).where(records.c.id.in_(some))
            known |= {row.id: row for row in self._connection.execute(query)}
            pending = select(requested).where(requested.c.record.in_(some))
            asked |= {row.record: row.request for row in self._connection.execute(pending)}
        seen: set[str] = set()
        for record in ids:
            if record in seen:
                raise InvalidInput("ids", f"{record!r} is given twice")
            seen.add(record)
            if record not in known:
                raise InvalidInput("ids", f"{record!r} is unknown")
            if known[record].role == "public":
                raise InvalidInput(
                    "ids", f"{record!r} is public; only private records can be deleted"
                )
            if known[record].forgotten_by is not None:
                raise InvalidInput("ids", f"{record!r} is already forgotten")
            if record in asked:
                raise InvalidInput(
                    "ids", f"{record!r} is already in request {asked[record]}, which is pending"
                )

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
        secret: str,
        records_file: str,
        evaluation: str | None = None,
        files: str = "{}",
        honours: Request | None = None,
        certificate: str | None = None,
    ) -> Model:
        """Record the new current model; close the request that it honours and mark its records."""
        number = 1 + (self._scalar(select(func.max(models.c.number))) or 0)
        model = Model(
            number,
            sha256,
            _now(),
            None if honours is None else honours.number,
            secret,
            records_file,
            files,
            evaluation,
        )
        # Digests of files with records that are gone would let somebody try what was in them.
        self._connection.execute(update(models).values(files="{}"))
        self._connection.execute(insert(models), vars(model))
        if honours is not None:
            self._close(honours)
        if certificate is not None:
            row = {"model": number, "document": certificate}
            self._connection.execute(insert(certificates), row)
        return model

    def _close(self, request: Request) -> None:
        named = select(requested.c.record).where(requested.c.request == request.number)
        self._connection.execute(
            update(records).where(records.c.id.in_(named)).values(forgotten_by=request.number)
        )
        self._connection.execute(
            update(requests).where(requests.c.number == request.number).values(state="honoured")
        )

    def models(self) -> list[Model]:
        """Models, the oldest first; the last is current."""
        rows = self._connection.execute(select(models).order_by(models.c.number))
        return [Model(**row._mapping) for row in rows]

    def certificates(self) -> dict[int, str]:
        """Canonical JSON of every certificate, by number."""
        query = select(certificates.c.number, certificates.c.document)
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

    def _scalar(self, query: Any) -> Any:
        return self._connection.execute(query).scalar()


def _is_frozen(where: Path | str) -> bool:
    """Whether it is a SQLite file that is only read, because its disk cannot be written (a backup).

    A file beside which a killed run left entries is not: reading those entries writes.
    """
    if not isinstance(where, Path) or not where.exists() or os.access(where.parent, os.W_OK):
        return False
    waiting = where.with_name(f"{where.name}-wal")
    return not (waiting.exists() and waiting.stat().st_size)


def _url(where: Path | str, frozen: bool) -> URL | str:
    if isinstance(where, str):
        return where
    if not frozen:
        return URL.create("sqlite", database=str(where))
    address = f"file:{quote(str(where))}"
    return URL.create("sqlite", database=address, query={"immutable": "1", "uri": "true"})


def _begin_by_hand(connection: Any, _: object) -> None:
    connection.isolation_level = None


def _prepare(connection: Any, _: object) -> None:
    for line in (
        "journal_mode=WAL",
        "synchronous=FULL",
        "foreign_keys=ON",
        "busy_timeout=2000",
        "secure_delete=ON",  # what is erased is overwritten as well
    ):
        connection.execute(f"PRAGMA {line}")


def _begin(connection: Connection) -> None:
    writes = connection.get_execution_options().get("writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _writer(engine: Engine) -> Engine:
    return engine.execution_options(writes=True)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
