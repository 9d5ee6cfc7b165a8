"""Dates as numbers or parts, by declaration: what a date means is not for a program to guess.

    days    one column of that name: days since 1970
    parts   NAME.year, a number; NAME.month and NAME.weekday, categories

A date is written as 2024-07-31; a time of day after it does not count. The columns that come of it
are then encoded like any others.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa

from expunge.errors import InvalidInput
from expunge.workspace.encoding import Category
from expunge.workspace.private_values import Unread
from expunge.workspace.stored_settings import read_setting
from expunge.workspace.tables import compute, is_text

__all__ = ["DateKind", "part_rules", "read_dates", "spread_dates"]

DateKind = Literal["days", "parts"]
WEEKDAYS = ("1", "2", "3", "4", "5", "6", "7")  # Monday first
MONTHS = tuple(f"{month:02d}" for month in range(1, 13))
WRITTEN = r"^\d{4}-\d{2}-\d{2}([T ].*)?$"


def read_dates(document: str | None) -> dict[str, DateKind]:
    """Read which columns are dates from the ledger; None is none.

    Raises:
        InvalidInput: it is not as `fit` wrote it.
    """
    return {} if document is None else read_setting(dict[str, DateKind], "dates", document)


def part_rules(dates: Mapping[str, DateKind]) -> dict[str, Category]:
    """The rules of months and weekdays, which need no record to be known."""
    return {
        f"{name}.{part}": Category(values)
        for name, kind in dates.items()
        if kind == "parts"
        for part, values in (("month", MONTHS), ("weekday", WEEKDAYS))
    }


def spread_dates(
    path: Path,
    table: pa.Table,
    dates: Mapping[str, DateKind],
    *,
    tally: Unread | None = None,
    first: int = 1,
) -> pa.Table:
    """The table with its declared dates as the columns that they become.

    Args:
        first: The number of the first row, in the whole of which the table is a block.
        tally: Of a private table: counts cells that hold no date, and count as missing. With None
            such a cell is refused.

    Raises:
        InvalidInput: the column is missing or holds no dates, or a cell does not.
    """
    for name, kind in dates.items():
        if name not in table.column_names:
            raise InvalidInput(str(path), f"no column {name!r}, which is declared a date")
        days, unread = _days(path, name, table[name])
        if unread and tally is None:
            row = first + unread[0]
            raise InvalidInput(str(path), f"row {row} holds no date in column {name!r}: 2024-07-31")
        if tally is not None:
            nobody = np.zeros(table.num_rows, dtype=bool)  # a column of none at all is taken
            tally.count(f"column {name!r}", "as a date", len(unread), nobody)
        place = table.column_names.index(name)
        if kind == "days":
            number = days.cast(pa.int32()).cast(pa.float64())
            table = table.set_column(place, name, number)
            continue
        table = table.remove_column(place)
        for column, values in _parts(name, days).items():
            table = table.append_column(column, values)
    return table


def _days(path: Path, name: str, column: pa.ChunkedArray) -> tuple[pa.ChunkedArray, list[int]]:
    """Dates, null where there is none, and the places of those that are not just missing."""
    kind = column.type
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return column.cast(pa.date32(), safe=False), []
    if not (is_text(kind) or pa.types.is_null(kind)):
        problem = f"column {name!r} is {kind}, and declared a date"
        raise InvalidInput(str(path), problem)
    texts = compute.utf8_trim_whitespace(column.cast(pa.string()))
    written = compute.fill_null(compute.match_substring_regex(texts, WRITTEN), False)
    first = compute.utf8_slice_codeunits(texts, 0, 10)
    kept = compute.if_else(written, first, pa.scalar(None, pa.string()))
    days = compute.strptime(kept, format="%Y-%m-%d", unit="s", error_is_null=True)
    days = days.cast(pa.date32())
    real = compute.equal(days.cast(pa.string()), kept)  # not one that was rolled over to March
    days = compute.if_else(compute.fill_null(real, False), days, pa.scalar(None, pa.date32()))
    given = compute.fill_null(compute.not_equal(texts, ""), False)
    odd = compute.and_(given, compute.is_null(days)).to_pylist()
    return days, [place for place, is_odd in enumerate(odd) if is_odd]


def _parts(name: str, days: pa.ChunkedArray) -> dict[str, pa.ChunkedArray]:
    month = compute.utf8_lpad(compute.month(days).cast(pa.string()), 2, "0")
    weekday = compute.day_of_week(days, count_from_zero=False).cast(pa.string())
    return {
        f"{name}.year": compute.year(days).cast(pa.float64()),
        f"{name}.month": month,
        f"{name}.weekday": weekday,
    }
