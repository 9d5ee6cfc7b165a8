"""All that a connection to the ledger can be asked, and told."""

from collections.abc import Mapping

from sqlalchemy import delete, insert, select

from expunge.ledger.lease_entries import LeaseEntries
from expunge.ledger.model_entries import ModelEntries
from expunge.ledger.schema import settings

__all__ = ["Entries"]


class Entries(ModelEntries, LeaseEntries):
    """What a connection to the ledger sees; only those of `Ledger.writing` may write."""

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

    def set_anew(self, values: Mapping[str, str]) -> None:
        """Put these settings in the place of all that there are."""
        self._connection.execute(delete(settings))
        rows = [{"name": name, "value": value} for name, value in values.items()]
        self._connection.execute(insert(settings), rows)
