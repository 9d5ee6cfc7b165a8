"""A connection that asks a ledger."""

from sqlalchemy import Column, Integer, MetaData, Table, create_engine

from expunge.ledger.connected import Connected
from expunge.ledger.schema import lease, metadata


class Asking(Connected):
    def there(self, table):
        return self._has(table)


def test_a_table_is_there_once_it_was_made():
    engine = create_engine("sqlite://")
    with engine.begin() as connection:
        asking = Asking(connection, "memory")
        assert not asking.there(lease)
        metadata.create_all(connection)
        assert asking.there(lease)
        assert not asking.there(Table("others", MetaData(), Column("a", Integer)))
    engine.dispose()
