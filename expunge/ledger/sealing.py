"""The ledger's seal: a digest of every table, renewed by whoever writes, checked by whoever opens.

    schema          SHA-256 of the statements that made the tables, and of how text is stored
    any table       SHA-256 of its rows in sorted order
    records         number of rows, and the sum of SHA-256(id, role) modulo 2^256

Records are many and never change but for the request that forgot them, which the requests say too.
So their sum grows as they are added, opening counts them, and only `check_everything` reads them
all. Within SQLite tables and indexes are held against each other: a query may read either.

This finds accidents and edits. Whoever renews the digests too is found by a certificate that was
kept elsewhere.
"""

import hashlib
from collections.abc import Iterable
from typing import Any

from sqlalchemy import Connection, Table, delete, func, insert, inspect, select

from expunge.errors import Altered, InvalidInput
from expunge.ledger.schema import journal, metadata, records, requested, requests, seals

__all__ = ["add_to_seal", "check_everything", "check_seal", "renew_seal"]

SCHEMA = "schema"
WHOLE = tuple(table for table in metadata.sorted_tables if table not in (records, seals))
MODULUS = 2**256
EMPTY = "0 rows 0"
REMEDY = "restore it from a backup"
MASTER = "SELECT type, name, tbl_name, sql FROM sqlite_master"


def check_seal(connection: Connection, where: str) -> None:
    """Check the seal of every table, and that records are as many as there were.

    Raises:
        Altered: a table is not what was written; it is named.
        InvalidInput: the ledger has no seal.
    """
    sealed = _stored(connection, where)
    for table in (*_there(connection), seals):
        _check_structure(connection, where, table.name)
    digests = _digests(connection)
    for name in sorted(sealed.keys() - digests.keys() - {records.name}):
        raise Altered(where, f"{name} is missing; {REMEDY}")
    for name, digest in digests.items():
        if sealed.get(name) != digest:
            raise Altered(where, f"{name} was changed since it was written; {REMEDY}")
    _check_counts(connection, where, sealed.get(records.name, EMPTY))


def check_everything(connection: Connection, where: str) -> int:
    """Check every row and the whole file; returns how many rows there are.

    Raises:
        Altered: something is not what was written; it is named.
    """
    check_seal(connection, where)
    _check_structure(connection, where, None)
    rows = [(row.id, row.role) for row in connection.execute(select(records))]
    if _stored(connection, where).get(records.name, EMPTY) != _add(EMPTY, rows):
        raise Altered(where, f"records was changed since it was written; {REMEDY}")
    query = select(records.c.id, records.c.forgotten_by).where(records.c.forgotten_by.is_not(None))
    gone = {(row.forgotten_by, row.id) for row in connection.execute(query)}
    if gone != {tuple(row) for row in connection.execute(_no_longer_pending())}:
        raise Altered(where, f"records that are forgotten are not those requested; {REMEDY}")
    return len(rows) + sum(len(_rows(connection, table)) for table in _there(connection))


def renew_seal(connection: Connection) -> None:
    """Seal the tables as they are; the seal of the records stays what it is."""
    sealed = dict(_rows(connection, seals))
    for name, digest in _digests(connection).items():
        if sealed.get(name) != digest:
            _store(connection, name, digest)


def add_to_seal(connection: Connection, rows: Iterable[tuple[str, str]]) -> None:
    """Add new records to the seal: pairs of id and role."""
    query = select(seals.c.value).where(seals.c.name == records.name)
    before = connection.execute(query).scalar()
    _store(connection, records.name, _add(before or EMPTY, rows))


def _stored(connection: Connection, where: str) -> dict[str, str]:
    if not inspect(connection).has_table(seals.name):
        known = inspect(connection).has_table(records.name)
        earlier = "holds no seals: an earlier version of expunge wrote it; fit in another folder"
        raise InvalidInput(where, earlier if known else "not a ledger (no such table: seals)")
    return dict(_rows(connection, seals))


def _there(connection: Connection) -> list[Table]:
    """The tables that are sealed as a whole; a ledger of an earlier version has no journal."""
    known = inspect(connection).get_table_names()
    return [table for table in WHOLE if table.name in known or table.name != journal.name]


def _rows(connection: Connection, table: Table) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in connection.execute(select(table))]


def _store(connection: Connection, name: str, value: str) -> None:
    connection.execute(delete(seals).where(seals.c.name == name))
    connection.execute(insert(seals).values(name=name, value=value))


def _digests(connection: Connection) -> dict[str, str]:
    tables = {table.name: _digest(_rows(connection, table)) for table in _there(connection)}
    if connection.dialect.name != "sqlite":
        return tables
    stored_as = [
        (pragma, connection.exec_driver_sql(f"PRAGMA {pragma}").scalar())
        for pragma in ("encoding", "auto_vacuum")
    ]
    return {SCHEMA: _digest([*connection.exec_driver_sql(MASTER), *stored_as]), **tables}


def _digest(rows: Iterable[Any]) -> str:
    written = sorted(repr(tuple(row)) for row in rows)
    return hashlib.sha256("\n".join(written).encode("utf-8", "surrogatepass")).hexdigest()


def _add(sealed: str, rows: Iterable[tuple[str, str]]) -> str:
    """The seal of records once these are among them."""
    count, _, total = sealed.split(" ")
    number, value = int(count), int(total, 16)
    for row in rows:
        number += 1
        digest = hashlib.sha256(repr(tuple(row)).encode("utf-8", "surrogatepass")).digest()
        value = (value + int.from_bytes(digest)) % MODULUS
    return f"{number} rows {value:x}"


def _check_counts(connection: Connection, where: str, sealed: str) -> None:
    gone = records.c.forgotten_by.is_not(None)
    query = select(records.c.role, gone, func.count()).group_by(records.c.role, gone)
    tally = {(role, bool(out)): count for role, out, count in connection.execute(query)}
    known = {("private", False), ("private", True), ("public", False)}
    asked = select(func.count()).select_from(_no_longer_pending().subquery())
    if (
        not tally.keys() <= known
        or str(sum(tally.values())) != sealed.split(" ")[0]
        or tally.get(("private", True), 0) != connection.execute(asked).scalar()
    ):
        raise Altered(where, f"records are not as many as there were; {REMEDY}")


def _no_longer_pending() -> Any:
    """Which request forgot which record."""
    honoured = requests.c.number == requested.c.request
    query = select(requested.c.request, requested.c.record).join(requests, honoured)
    return query.where(requests.c.state != "pending")


def _check_structure(connection: Connection, where: str, table: str | None) -> None:
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
            raise Altered(where, f"{table or 'the file'} is damaged ({problem}); {REMEDY}")
