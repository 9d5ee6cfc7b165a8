"""Tables on disk: CSV or Parquet, plain or gzipped. Ids are text, exactly as written."""

import csv
import math
import re
import zlib
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute

from expunge.core.whole_file import check_writable
from expunge.errors import InvalidInput
from expunge.workspace.csv_tables import PLAIN, CsvForm, read_csv, silent
from expunge.workspace.given_ids import composed
from expunge.workspace.parquet_tables import parquet_batches
from expunge.workspace.table_limits import USUAL, TableLimits, inflate

__all__ = [
    "check_output",
    "compute",
    "first_line",
    "ids_of",
    "is_text",
    "kind_of",
    "list_columns",
    "number_in",
    "numbers_in",
    "read_ids",
    "read_table",
    "refuse_mixed",
    "without_formulas",
]

compute: Any = (
    pyarrow.compute
)  # its functions are made when it loads, out of sight of type checkers
# What Arrow takes for a missing number, and for a boolean.
MISSING = {
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN",
    "N/A", "NA", "NULL", "NaN", "n/a", "nan", "null",
}  # fmt: skip
WORDS = {"true": 1.0, "false": 0.0}
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?[iI]nf(inity)?")
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
KINDS = {".csv": "csv", ".parquet": "parquet", ".pq": "parquet"}


def read_table(
    path: Path,
    text: Collection[str] | None = (),
    limits: TableLimits = USUAL,
    *,
    content: bytes | None = None,
    form: CsvForm = PLAIN,
    id_column: str | None = None,
    notice: Callable[[str], None] = silent,
) -> pa.Table:
    """Read a CSV or Parquet file as a table.

    Args:
        text: Columns that hold text, whatever they look like; CSV guesses the others. With None
            nothing of a CSV is guessed: every column is text, so that no record decides a type.
        content: What the file holds, where it was read already.
        form: How a CSV is written.
        id_column, notice: Of a private table: what a row of another length keeps, and who is told.

    Raises:
        InvalidInput: not such a table, an empty one, one that repeats a column, or too large a one.
    """
    kind = kind_of(path)
    content = path.read_bytes() if content is None else content
    try:
        if path.suffix == ".gz":
            content = inflate(path, content, limits)
        if kind == "csv":
            table = read_csv(path, content, text, form, id_column=id_column, notice=notice)
        else:
            batches = list(parquet_batches(path, pa.BufferReader(content), limits))
            table = pa.Table.from_batches(batches) if batches else pa.table({})
    except (pa.ArrowException, zlib.error, EOFError, csv.Error, OSError) as error:
        raise InvalidInput(str(path), f"cannot be read ({first_line(error)})") from error
    if not table.num_rows:
        raise InvalidInput(str(path), "no rows")
    return table


def check_output(path: Path) -> None:
    """Check, before long work, that a table can be written there.

    Raises:
        InvalidInput, OSError: it cannot.
    """
    kind_of(path)
    check_writable(path)


def ids_of(path: Path, table: pa.Table, column: str, row: int = 1) -> list[str]:
    """The id column, as text in Unicode's composed form (NFC).

    Args:
        row: The number of the first row, in the whole of which the table is a block.

    Raises:
        InvalidInput: it is not there, empty somewhere, repeated, or of a type that cannot be an id.
    """
    if column not in table.column_names:
        raise InvalidInput(str(path), f"no column {column!r}; there are {list_columns(table)}")
    values = table[column]
    if not (pa.types.is_integer(values.type) or is_text(values.type)):
        raise InvalidInput(str(path), f"ids in {column!r} are {values.type}; use text or integers")
    seen: dict[str, None] = {}
    for number, given in enumerate(values.cast(pa.string()).to_pylist(), start=row):
        if given is None or not given.strip():
            raise InvalidInput(str(path), f"row {number} has no id")
        record = composed(given)
        if record != record.strip() or not record.isprintable():
            problem = "begins or ends with blanks, or holds characters that cannot be printed"
            raise InvalidInput(str(path), f"id {record!r} {problem}")
        if record in seen:
            raise InvalidInput(str(path), f"id {record!r} is there twice")
        seen[record] = None
    return list(seen)


def read_ids(text: str) -> list[str]:
    """One id a line, as it stands there; empty lines do not count."""
    lines = text.removeprefix("\ufeff").splitlines()
    return [line for line in lines if line.strip()]


def kind_of(path: Path) -> str:
    """Which kind of table a file is, by its name.

    Raises:
        InvalidInput: the name says none.
    """
    suffix = path.with_suffix("").suffix if path.suffix == ".gz" else path.suffix
    if suffix.lower() not in KINDS:
        raise InvalidInput(str(path), "the name must end in .csv or .parquet, and maybe .gz")
    return KINDS[suffix.lower()]


def number_in(text: str | None, decimal: str = ".") -> float | None:
    """The number that a CSV's field holds: NaN where it is missing, None where it is not a number.

    >>> number_in("1e3"), number_in(" true"), number_in("NA"), number_in("about 7")
    (1000.0, 1.0, nan, None)
    >>> number_in("2,5", decimal=","), number_in("2.5", decimal=",")
    (2.5, None)
    """
    written = "" if text is None else text.strip()
    if written in MISSING:
        return math.nan
    if written.lower() in WORDS:
        return WORDS[written.lower()]
    if decimal != ".":
        written = written.replace(".", "?").replace(decimal, ".")
    if not NUMBER.fullmatch(written):
        return None
    return float(written)


def numbers_in(column: pa.ChunkedArray, decimal: str = ".") -> tuple[np.ndarray, np.ndarray]:
    """The numbers of a column of text by `number_in`, NaN where there is none: (rows,) float64.

    With them (rows,) where there is a text that is neither a number nor missing.
    """
    texts = column.cast(pa.string()).combine_chunks()
    missing = compute.fill_null(compute.is_in(texts, value_set=pa.array(sorted(MISSING))), True)
    if decimal == ".":  # Arrow is fast, and reads every number that it takes as Python does
        try:
            given = compute.if_else(missing, pa.scalar(None, pa.string()), texts)
            values = given.cast(pa.float64()).to_numpy(zero_copy_only=False)
            absent = missing.to_numpy(zero_copy_only=False)
            if np.isfinite(values[~absent]).all():
                return values, np.zeros(len(values), dtype=bool)
        except pa.ArrowInvalid:
            pass
    coded = texts.dictionary_encode()
    read = [number_in(text, decimal) for text in coded.dictionary.to_pylist()]
    each = np.array([math.nan if value is None else value for value in read] + [math.nan])
    unread = np.array([value is None for value in read] + [False])
    places = coded.indices.fill_null(len(read)).to_numpy(zero_copy_only=False)
    return each[places], unread[places]


def refuse_mixed(
    path: Path,
    name: str,
    values: Collection[str | None],
    remedy: str,
    column: pa.ChunkedArray | None = None,
) -> None:
    """Refuse a public column of text that looks like numbers with a slip in it.

    Args:
        values: The different ones.
        column: Where they stand, so that the row can be named.

    Raises:
        InvalidInput: most are numbers and some are not, one of which is named; or most would be
            with a decimal comma.
    """
    odd = [value for value in values if value and number_in(value) is None]
    numbers = sum(1 for value in values if value and number_in(value) is not None)
    commas = sum(1 for value in odd if number_in(value, decimal=",") is not None)
    if commas and commas + numbers > len(odd) - commas:
        problem = f"column {name!r} looks like numbers with a decimal comma"
        raise InvalidInput(str(path), f"{problem}: add --decimal ','")
    if odd and numbers > len(odd):
        where = ""
        if column is not None:
            where = f" in row {1 + compute.index(column.cast(pa.string()), odd[0]).as_py()}"
        problem = f"column {name!r}: {odd[0]!r}{where} is not a number, and most others are"
        raise InvalidInput(str(path), f"{problem}: correct it, or {remedy}")


def without_formulas(table: pa.Table) -> pa.Table:
    """The table with names and texts that no spreadsheet runs; numbers stay as they are."""
    for place, field in enumerate(table.schema):
        if is_text(field.type):
            texts = table.column(place).cast(pa.string()).to_pylist()
            safe = pa.array([None if text is None else _escape(text) for text in texts])
            table = table.set_column(place, field.name, safe.cast(pa.string()))
    return table.rename_columns([_escape(name) for name in table.column_names])


def _escape(text: str) -> str:
    """The text, with an apostrophe in front where a spreadsheet would take it for a formula.

    >>> _escape("=1+1"), _escape("-5"), _escape("@a"), _escape("a=b")
    ("'=1+1", '-5', "'@a", 'a=b')
    """
    return f"'{text}" if text.startswith(FORMULA) and number_in(text) is None else text


def is_text(kind: pa.DataType) -> bool:
    """Strings, also as a dictionary of them."""
    if pa.types.is_dictionary(kind):
        return is_text(kind.value_type)
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)


def list_columns(table: pa.Table) -> str:
    """The names of the first columns, for a complaint."""
    return ", ".join(repr(name) for name in table.column_names[:20])


def first_line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
