"""A connection to the ledger: what every part of its entries has."""

from typing import Any

from sqlalchemy import Connection, Table, inspect

from expunge.ledger.schema import LATER

__all__ = ["Connected"]


class Connected:
    """What a connection to the ledger sees; only those of `Ledger.writing` may write."""

    def __init__(self, connection: Connection, where: str) -> None:
        self._connection, self._where = connection, where

    def _has(self, table: Table) -> bool:
        """Whether the ledger has this table; one of an earlier version may not."""
        return inspect(self._connection).has_table(table.name)

    def _make_later(self) -> None:
        """Make the tables that a ledger of an earlier version lacks."""
        for table in LATER:
            if not self._has(table):
                table.create(self._connection)

    def _scalar(self, query: Any) -> Any:
        return self._connection.execute(query).scalar()

    def _scalars(self, query: Any) -> Any:
        return self._connection.execute(query).scalars()
