"""The ledger's seal: a digest of every table, renewed by whoever writes, checked by whoever opens.

    schema          SHA-256 of the statements that made the tables, and of how text is stored
    any table       SHA-256 of its rows in sorted order
    records         a seal in each row, and their number and sum (`sealed_records`)

Records are many and never change. So opening the ledger does not look at them, a request checks
those that it names, and only `check_everything` reads them all. Within SQLite the other tables and
their indexes are held against each other: a query may read either.

This finds accidents and edits. Whoever renews the digests too is found by a certificate that was
kept elsewhere.
"""

import hashlib
from collections.abc import Iterable
from typing import Any

from sqlalchemy import Connection, Table, delete, insert, inspect, select

from expunge.errors import Altered, InvalidInput
from expunge.ledger.schema import LATER, metadata, records, seals
from expunge.ledger.sealed_records import REMEDY, check_records, sealed_records
from expunge.ledger.sqlite_file import check_structure

__all__ = ["check_everything", "check_seal", "renew_seal"]

SCHEMA = "schema"
EARLIER = "an earlier version of expunge wrote it; fit again in another folder"
WHOLE = tuple(table for table in metadata.sorted_tables if table not in (records, seals))
MASTER = "SELECT type, name, tbl_name, sql FROM sqlite_master"


def check_seal(connection: Connection, where: str) -> None:
    """Check the seal of every table but the records, of which only the sum is checked.

    Raises:
        Altered: a table is not what was written; it is named.
        InvalidInput: the ledger has no seal.
    """
    sealed = _stored(connection, where)
    for table in (*_there(connection), seals):
        check_structure(connection, where, table.name)
    digests = _digests(connection)
    for name in sorted(sealed.keys() - digests.keys() - {records.name}):
        raise Altered(where, f"{name} is missing; {REMEDY}")
    for name, digest in digests.items():
        if sealed.get(name) != digest:
            raise Altered(where, f"{name} was changed since it was written; {REMEDY}")
    sealed_records(connection, where)


def check_everything(connection: Connection, where: str) -> int:
    """Check every row and the whole file; returns how many rows there are.

    Raises:
        Altered: something is not what was written; it is named.
    """
    check_seal(connection, where)
    check_structure(connection, where, None)
    count = check_records(connection, where)
    return count + sum(len(_rows(connection, table)) for table in _there(connection))


def renew_seal(connection: Connection) -> None:
    """Seal the tables as they are; the seal of the records stays what it is."""
    sealed = dict(_rows(connection, seals))
    for name, digest in _digests(connection).items():
        if sealed.get(name) != digest:
            _store(connection, name, digest)


def _stored(connection: Connection, where: str) -> dict[str, str]:
    if not inspect(connection).has_table(seals.name):
        known = inspect(connection).has_table(records.name)
        raise InvalidInput(where, EARLIER if known else "not a ledger (no such table: seals)")
    if "place" not in {column["name"] for column in inspect(connection).get_columns(records.name)}:
        raise InvalidInput(where, EARLIER)
    return dict(_rows(connection, seals))


def _there(connection: Connection) -> list[Table]:
    """The tables that are sealed as a whole; a ledger of an earlier version lacks some."""
    known = inspect(connection).get_table_names()
    return [table for table in WHOLE if table.name in known or table not in LATER]


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
