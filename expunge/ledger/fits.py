"""A new fit in the place of the one before: rows go on, and who is not in its tables has left.

first      the row of its first record; rows below it are of earlier fits
records    public ones of the fit before are gone, ids and all; every record of the new tables has
           a row of its own, from `first` on; private ones that the new tables lack keep theirs
requests   pending ones whose records have all left are honoured by the fit (`left_out`)
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, Table, delete, insert, inspect, select, text, update

from expunge.ledger.moment import now
from expunge.ledger.schema import Fit, batches, fits, left_out, records, requested, requests
from expunge.ledger.sealed_records import (
    RecordCount,
    check_rows,
    count_former,
    seal_records,
    sealed_records,
)

__all__ = ["begin_fit", "current_fit", "honour_left_out", "later_fits", "left_at", "next_row"]

FIRST = Fit(1, 1, 0, 0, False, "", "honoured")
REPLACE = text(
    "INSERT INTO records (id, role, place, seal) VALUES (:id, :role, :place, :seal) "
    "ON CONFLICT (id) DO UPDATE SET role = excluded.role, place = excluded.place, "
    "seal = excluded.seal"
)


def later_fits(connection: Connection) -> list[Fit]:
    """Every fit after the first, in order."""
    if not _has(connection, fits):
        return []  # a ledger of an earlier version
    rows = connection.execute(select(fits).order_by(fits.c.number))
    return [_fit(dict(row._mapping)) for row in rows]


def _fit(row: dict[str, Any]) -> Fit:
    row["released_before"] = bool(row["released_before"])
    return Fit(**row)


def current_fit(connection: Connection) -> Fit:
    """The fit that the current model is of."""
    return (later_fits(connection) or [FIRST])[-1]


def next_row(connection: Connection, count: RecordCount) -> int:
    """The row of the next record.

    Args:
        count: How many records there are.
    """
    fit = current_fit(connection)
    return fit.first + count.records - fit.earlier


def begin_fit(
    connection: Connection,
    where: str,
    blocks: Iterable[list[dict[str, Any]]],
    model: int,
    *,
    released_before: bool,
) -> tuple[Fit, list[str]]:
    """Put these records in the place of those that are there; the fit is `committed`.

    Returns the fit, and the ids of those who left by it without having been asked for.

    Args:
        blocks: The records of the new tables, as rows of the table, public ones first; their rows
            begin with `next_row`.
        model: The first of the fit.
    """
    before = sealed_records(connection, where)
    number, first = current_fit(connection).number + 1, next_row(connection, before)
    connection.execute(delete(records).where(records.c.role == "public"))
    made = RecordCount()
    for rows in filter(None, blocks):
        connection.execute(REPLACE, rows)
        made = made.with_rows(rows)
    left = connection.execute(select(records).where(records.c.place < first)).all()
    check_rows(where, left)
    made = made.with_rows(row._asdict() for row in left)
    came_back = count_former(connection)
    seal_records(connection, replace(made, private=made.private + came_back))
    earlier = len(left) + came_back
    fit = Fit(number, model, first, earlier, released_before, now(), "committed")
    connection.execute(insert(fits), vars(fit) | {"released_before": int(released_before)})
    asked = set(connection.execute(select(requested.c.record)).scalars())
    return fit, [row.id for row in left if row.id not in asked]


def honour_left_out(connection: Connection, fit: Fit) -> None:
    """Commit the pending requests whose records this fit has none of.

    Those that were to share a model with one of them are honoured one by one.
    """
    there = (
        select(requested.c.request)
        .join(records, records.c.id == requested.c.record)
        .where(records.c.place >= fit.first)
    )
    query = select(requests.c.number).where(
        requests.c.state == "pending", requests.c.number.not_in(there)
    )
    gone = connection.execute(query).scalars().all()
    if _has(connection, batches):
        broken = select(batches.c.first).where(batches.c.request.in_(gone))
        firsts = connection.execute(broken).scalars().all()
        connection.execute(delete(batches).where(batches.c.first.in_(firsts)))
    for number in gone:
        this = requests.c.number == number
        connection.execute(update(requests).where(this).values(state="committed"))
        connection.execute(insert(left_out).values(request=number, fit=fit.number))


def left_at(connection: Connection) -> Mapping[int, int]:
    """The first model of the fit that honoured a request, by the request's number."""
    if not _has(connection, left_out):
        return {}  # a ledger of an earlier version
    query = select(left_out.c.request, fits.c.model).join(fits, fits.c.number == left_out.c.fit)
    return {row.request: row.model for row in connection.execute(query)}


def _has(connection: Connection, table: Table) -> bool:
    return inspect(connection).has_table(table.name)
