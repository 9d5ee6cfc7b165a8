"""The moment that an entry is made, as the ledger writes it."""

from datetime import UTC, datetime

__all__ = ["now"]


def now() -> str:
    """The time in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")
