"""Reading and writing the ledger. A `with ledger.writing()` block happens whole or not at all.

SQLite with a write-ahead log and full synchronisation: a commit survives a power cut, readers never
wait and never write (`ledger.sqlite_file`), and one process writes at a time. No torch, no models.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from sqlalchemy import Connection, create_engine
from sqlalchemy.exc import DatabaseError, IntegrityError, OperationalError

from expunge.errors import InvalidInput
from expunge.ledger.entries import Entries
from expunge.ledger.schema import Busy, metadata
from expunge.ledger.sealed_records import RecordCount, has_count, seal_records
from expunge.ledger.sealing import check_everything, check_seal, renew_seal
from expunge.ledger.sqlite_file import empty_log, file_of, reading_connection, writing_engine

__all__ = ["Ledger"]


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
    def reading(self) -> Iterator[Entries]:
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
    def writing(self) -> Iterator[Entries]:
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
