"""The seals of records, which are many: one in each row, and how many there are with their sum.

    a row       the first 64 bits of SHA-256(id, role, place), as a signed number
    records     how many are public and private, and the sum of their seals modulo 2^64

A request looks up its own records and checks their seals; nobody counts the others. An id that is
not found is believed only after all records were read.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, delete, func, insert, inspect, select

from expunge.errors import Altered
from expunge.ledger.schema import former, records, requested, requests, seals

__all__ = [
    "REMEDY",
    "RecordCount",
    "check_records",
    "check_rows",
    "count_former",
    "has_count",
    "no_longer_pending",
    "record_row",
    "seal_records",
    "sealed_records",
]

REMEDY = "restore it from a backup"
MODULUS = 2**64
BLOCK = 50_000  # rows in memory at a time


@dataclass(frozen=True)
class RecordCount:
    """How many records there are, and the sum of their seals."""

    public: int = 0
    private: int = 0
    total: int = 0

    @property
    def records(self) -> int:
        """How many there are; the next one's place."""
        return self.public + self.private

    def with_rows(self, rows: Iterable[Mapping[str, Any]]) -> "RecordCount":
        """The count once these are among them."""
        counts, total = {"public": self.public, "private": self.private}, self.total
        for row in rows:
            counts[row["role"]] += 1
            total += row["seal"]
        return RecordCount(**counts, total=total % MODULUS)

    def with_others(self, sealed: Iterable[int]) -> "RecordCount":
        """The count once records have other rows: those with these seals are former ones."""
        return replace(self, total=(self.total - sum(sealed)) % MODULUS)

    def document(self) -> str:
        """The count as it is stored, with a digest of its own."""
        text = f"{self.public} public {self.private} private {self.total:016x}"
        return f"{text} {hashlib.sha256(text.encode()).hexdigest()[:16]}"

    @classmethod
    def of(cls, document: str) -> "RecordCount":
        """The count that was stored.

        Raises:
            ValueError: it is not as it was written.
        """
        public, _, private, _, total, _ = document.split(" ")
        count = cls(int(public), int(private), int(total, 16))
        if count.document() != document:
            raise ValueError("not as it was written")
        return count


def record_row(id_: str, role: str, place: int) -> dict[str, Any]:
    """A record as a row of the table."""
    return {"id": id_, "role": role, "place": place, "seal": _seal(id_, role, place)}


def _seal(id_: str, role: str, place: int) -> int:
    words = repr((id_, role, place)).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.sha256(words).digest()[:8], signed=True)


def seal_records(connection: Connection, count: RecordCount) -> None:
    """Store how many records there are."""
    connection.execute(delete(seals).where(seals.c.name == records.name))
    connection.execute(insert(seals).values(name=records.name, value=count.document()))


def has_count(connection: Connection) -> bool:
    """Whether it is stored how many records there are; not before the tables are made."""
    return connection.execute(_THE_COUNT).first() is not None


def sealed_records(connection: Connection, where: str) -> RecordCount:
    """How many records there are, by their seal.

    Raises:
        Altered: the seal is not as it was written.
    """
    try:
        return RecordCount.of(connection.execute(_THE_COUNT).scalar() or "")
    except ValueError as error:
        problem = f"records are not as many as there were; {REMEDY}"
        raise Altered(where, problem) from error


def check_rows(where: str, rows: Iterable[Any]) -> None:
    """Check that these records are as they were written.

    Raises:
        Altered: one is not.
    """
    for row in rows:
        if row.seal != _seal(row.id, row.role, row.place):
            raise Altered(where, f"records was changed since it was written; {REMEDY}")


def check_records(connection: Connection, where: str) -> int:
    """Check every record; returns how many there are.

    Raises:
        Altered: a record is not as it was written, or they are not as many.
    """
    count, sealed = RecordCount(), sealed_records(connection, where)
    found = connection.execution_options(yield_per=BLOCK).execute(select(records))
    for rows in found.partitions():
        check_rows(where, rows)
        known = [row._asdict() for row in rows if row.role in ("public", "private")]
        count = count.with_rows(known)
    count = replace(count, private=count.private + count_former(connection))
    if count != sealed:
        raise Altered(where, f"records are not as many as there were; {REMEDY}")
    private = select(records.c.id).where(records.c.role == "private")
    if _first(connection, no_longer_pending().where(requested.c.record.not_in(private))):
        raise Altered(where, f"records that are forgotten are not private ones; {REMEDY}")
    return count.records


def count_former(connection: Connection, first: int = 0) -> int:
    """How many records, of this row or a later one, were forgotten whose ids came back since."""
    if not inspect(connection).has_table(former.name):
        return 0  # a ledger of an earlier version
    query = select(func.count()).select_from(former).where(former.c.place >= first)
    return connection.execute(query).scalar() or 0


def no_longer_pending() -> Any:
    """Which request forgot which record, ids that came back since left out."""
    honoured = requests.c.number == requested.c.request
    query = select(requested.c.request, requested.c.record).join(requests, honoured)
    return query.where(requests.c.state != "pending")


_THE_COUNT = select(seals.c.value).where(seals.c.name == records.name)


def _first(connection: Connection, query: Any) -> Sequence[Any] | None:
    return connection.execute(query.limit(1)).first()
