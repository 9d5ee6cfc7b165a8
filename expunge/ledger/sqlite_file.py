"""How a SQLite file is opened: by its writers, and by readers who never write and never wait.

A writer keeps a write-ahead log beside the file (`-wal`), and moves what it holds into the file
from time to time. A reader opens

    immutable    where the log is empty or missing: the file alone, without any lock
    read-only    where it is not: file and log together, by the writer's index of it (`-shm`)

Neither makes or changes a file. Every writing transaction raises the version in the file's first
page, and a log is moved into the file from the first page on; so whoever has read an immutable file
and finds its version as it was has read one state of it.
"""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import OperationalError
from sqlalchemy.pool import NullPool

from expunge.errors import Altered, InvalidInput
from expunge.ledger.schema import Overtaken

__all__ = ["check_structure", "empty_log", "file_of", "reading_connection", "writing_engine"]

PATIENCE = 30_000  # milliseconds; transactions are short
TRIES = 20  # for a log whose writer is just leaving


def file_of(where: Path | str) -> Path | None:
    """The file of a ledger; None where it is another database."""
    if isinstance(where, Path):
        return where
    url = make_url(where)
    if url.get_backend_name() != "sqlite" or url.database in (None, "", ":memory:"):
        return None
    return Path(url.database)


# ---- writers --------------------------------------------------------------------------------


def writing_engine(file: Path) -> Engine:
    """Connections that write: each transaction is alone from its first statement on."""
    engine = create_engine(URL.create("sqlite", database=str(file)))
    event.listen(engine, "connect", _prepare)
    event.listen(engine, "begin", _begin)
    return engine


def empty_log(engine: Engine) -> bool:
    """Move the log into the file and cut it to nothing; False while a reader still needs it."""
    connection = engine.raw_connection()
    try:
        return connection.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0
    finally:
        connection.close()


def _prepare(connection: Any, _: object) -> None:
    connection.isolation_level = None
    for line in (
        f"busy_timeout={PATIENCE}",
        "journal_mode=WAL",
        "synchronous=FULL",
        "foreign_keys=ON",
        "secure_delete=ON",  # what is erased is overwritten as well
    ):
        connection.execute(f"PRAGMA {line}")


def _begin(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE")
    version = connection.exec_driver_sql("PRAGMA user_version").scalar_one()
    connection.exec_driver_sql(f"PRAGMA user_version = {(version + 1) % 2**31}")


# ---- readers --------------------------------------------------------------------------------


@contextmanager
def reading_connection(file: Path) -> Iterator[Connection]:
    """One state of the file, without writing and without waiting.

    Raises:
        Overtaken: a writer changed the file meanwhile; what was read may not belong together.
        InvalidInput: a log waits that cannot be read here without writing.
    """
    for attempt in range(TRIES):
        if not _has_log(file):
            version = _version(file)
            if not _has_log(file):  # so no log was being moved into the file when it was read
                with closing(_begun(file, "immutable=1")) as connection, _unchanged(file, version):
                    yield connection
                return
        elif (connection := _begun_with_log(file)) is not None:
            with closing(connection):
                yield connection
            return
        time.sleep(0.01 * attempt)  # the last writer takes the index and then the log away
    raise InvalidInput(
        str(file),
        f"entries of an interrupted run wait in {file.name}-wal, and reading them would write; "
        "run expunge forget where the folder can be written",
    )


def _begun(file: Path, how: str) -> Connection:
    """A connection in a transaction that has begun to read."""
    address = f"file:{quote(str(file))}?{how}"
    engine = create_engine("sqlite://", creator=lambda: _opened(address), poolclass=NullPool)
    connection = engine.connect()
    try:
        connection.exec_driver_sql("BEGIN")
        connection.exec_driver_sql("PRAGMA schema_version").scalar()
    except BaseException:
        connection.close()
        raise
    return connection


def _begun_with_log(file: Path) -> Connection | None:
    """The same with file and log together; None where the index is gone, or the log by now."""
    try:
        return _begun(file, "mode=ro&readonly_shm=1")
    except OperationalError:
        return None


def _opened(address: str) -> sqlite3.Connection:
    return sqlite3.connect(address, uri=True, isolation_level=None, check_same_thread=False)


@contextmanager
def _unchanged(file: Path, version: int) -> Iterator[None]:
    """Check at the end that the file is still of this version; if not, nothing read counts."""
    problem = None
    try:
        yield
    except Exception as error:
        problem = error
    if _version(file) != version:
        raise Overtaken(f"{file}: was changed while it was read; try again") from problem
    if problem is not None:
        raise problem


def _version(file: Path) -> int:
    """What the first page says, read by SQLite: to open the file beside it would drop its locks."""
    address = f"file:{quote(str(file))}?immutable=1"
    with closing(_opened(address)) as connection:
        return connection.execute("PRAGMA user_version").fetchone()[0]


def _has_log(file: Path) -> bool:
    log = file.with_name(f"{file.name}-wal")
    try:
        return log.stat().st_size > 0
    except FileNotFoundError:
        return False


# ---- damage ----------------------------------------------------------------------------------


def check_structure(connection: Connection, where: str, table: str | None) -> None:
    """Check that a table and its indexes say the same, or with None the whole file.

    Raises:
        Altered: they do not.
    """
    if connection.dialect.name != "sqlite":
        return
    argument = "" if table is None else f"('{table}')"
    for (line,) in connection.exec_driver_sql(f"PRAGMA integrity_check{argument}"):
        if line != "ok":
            problem = " ".join(str(line).split())
            raise Altered(
                where, f"{table or 'the file'} is damaged ({problem}); restore it from a backup"
            )
