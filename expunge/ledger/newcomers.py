"""Records that join: new ids get the next rows, and an id that comes back is a new record.

records     the row of each id; of one that came back, the new one
former      the row that it had, and the request that forgot it, so that all are still counted
requested   no longer names it: it can be asked for again
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, bindparam, delete, func, insert, select, update

from expunge.errors import InvalidInput
from expunge.ledger.fits import next_row
from expunge.ledger.moment import now
from expunge.ledger.schema import (
    Addition,
    IdOutcome,
    additions,
    former,
    records,
    requested,
)
from expunge.ledger.sealed_records import (
    RecordCount,
    check_rows,
    no_longer_pending,
    record_row,
    seal_records,
    sealed_records,
)

__all__ = ["add_rows", "arrival_problems", "retire"]

CHUNK = 500  # ids in one statement


def arrival_problems(
    outcomes: Iterable[tuple[str, IdOutcome]], *, again: bool, replace: bool
) -> list[str]:
    """Why ids cannot join, each of them named.

    Args:
        outcomes: What a request to forget would make of each id.
        again: Ids that were forgotten may come back.
        replace: Only ids that are there may join, in place of the records that have them.
    """
    fine: set[IdOutcome] = {"forgotten"} if replace else {"unknown"}
    fine |= {"already forgotten"} if again and not replace else set()
    problems: dict[IdOutcome, str] = {
        "public": "is public, and public records stay as they are",
        "forgotten": "is there already; a record that is to be corrected needs --replace",
        "already forgotten": "was forgotten; --again lets it come back",
        "unknown": "is unknown, so there is nothing to replace; add it without --replace",
    }
    if replace:
        problems["already forgotten"] = "was forgotten; add it with --again, without --replace"
    return [f"{id_!r} {problems[outcome]}" for id_, outcome in outcomes if outcome not in fine]


def add_rows(connection: Connection, where: str, ids: Sequence[str], model: int) -> Addition:
    """Give these ids, which can join, the next rows; the addition is `committed`.

    Raises:
        InvalidInput: an id is there; it is named.
    """
    count = sealed_records(connection, where)
    first = next_row(connection, count)
    for start in range(0, len(ids), CHUNK):
        some = ids[start : start + CHUNK]
        rows = [record_row(id_, "private", first + start + at) for at, id_ in enumerate(some)]
        count = _write(connection, where, rows, count)
    seal_records(connection, count)
    number = 1 + (connection.execute(select(func.max(additions.c.number))).scalar() or 0)
    addition = Addition(number, model, first, first + len(ids), now(), "committed")
    connection.execute(insert(additions), vars(addition))
    return addition


def _write(
    connection: Connection, where: str, rows: list[dict[str, Any]], count: RecordCount
) -> RecordCount:
    """Write rows of records, also of ids that come back; returns how many there are then."""
    query = select(records).where(records.c.id.in_([row["id"] for row in rows]))
    known = {row.id: row for row in connection.execute(query)}
    check_rows(where, known.values())
    fresh = [row for row in rows if row["id"] not in known]
    if fresh:
        connection.execute(insert(records), fresh)
    back = [row for row in rows if row["id"] in known]
    if back:
        retire(connection, known)
        this = records.c.id == bindparam("known")
        values = {name: bindparam(name) for name in ("place", "seal")}
        connection.execute(
            update(records).where(this).values(values),
            [{"known": row["id"], "place": row["place"], "seal": row["seal"]} for row in back],
        )
    return count.with_rows(rows).with_others(row.seal for row in known.values())


def retire(connection: Connection, known: Mapping[str, Any]) -> None:
    """Note which rows these ids had, and take them off the requests that forgot them.

    Raises:
        InvalidInput: a record is still there; it is named.
    """
    forgot: dict[str, int] = {}
    for start in range(0, len(known), CHUNK):
        some = list(known)[start : start + CHUNK]
        gone = no_longer_pending().where(requested.c.record.in_(some))
        forgot |= {row.record: row.request for row in connection.execute(gone)}
    for id_ in known:
        if id_ not in forgot:
            raise InvalidInput("ids", f"{id_!r} is there already")
    rows = [
        {"place": row.place, "record": id_, "request": forgot[id_]} for id_, row in known.items()
    ]
    connection.execute(insert(former), rows)
    this = requested.c.record == bindparam("known")
    connection.execute(delete(requested).where(this), [{"known": id_} for id_ in known])
