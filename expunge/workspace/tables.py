"""Tables on disk: CSV or Parquet, plain or gzipped. Ids are text, exactly as written."""

import csv
import gzip
import io
import math
import re
import zlib
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute
from pyarrow import csv as arrow_csv
from pyarrow import parquet

from expunge.core.whole_file import check_writable, write_whole
from expunge.errors import InvalidInput
from expunge.workspace.table_limits import USUAL, TableLimits, inflate, read_parquet

__all__ = [
    "check_columns",
    "check_output",
    "compute",
    "decode",
    "first_line",
    "ids_of",
    "is_text",
    "kind_of",
    "number_in",
    "read_header",
    "read_ids",
    "read_table",
    "refuse_mixed",
    "write_table",
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
) -> pa.Table:
    """Read a CSV or Parquet file as a table.

    Args:
        text: Columns that hold text, whatever they look like; CSV guesses the others. With None
            nothing of a CSV is guessed: every column is text, so that no record decides a type.
        content: What the file holds, where it was read already.

    Raises:
        InvalidInput: not such a table, an empty one, one that repeats a column, or too large a one.
    """
    kind = kind_of(path)
    content = path.read_bytes() if content is None else content
    try:
        if path.suffix == ".gz":
            content = inflate(path, content, limits)
        if kind == "csv":
            names = read_header(path, content)
            types = dict.fromkeys(names, pa.binary()) if text is None else {}
            types |= dict.fromkeys(text or (), pa.string())
            options = arrow_csv.ConvertOptions(column_types=types)
            reading = arrow_csv.ReadOptions(use_threads=False)
            table = arrow_csv.read_csv(pa.BufferReader(content), reading, convert_options=options)
            table = decode(table) if text is None else table
        else:
            table = read_parquet(path, content, limits)
    except (
        pa.ArrowException,
        UnicodeDecodeError,
        zlib.error,
        EOFError,
        csv.Error,
        OSError,
    ) as error:
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


def write_table(table: pa.Table, path: Path) -> None:
    """Write a table, whole or not at all.

    In CSV a text that a spreadsheet would run as a formula (=1+1) gets an apostrophe in front.
    """
    kind, buffer = kind_of(path), io.BytesIO()
    if kind == "csv":
        arrow_csv.write_csv(_without_formulas(table), buffer)
    else:
        parquet.write_table(table, buffer)
    content = buffer.getvalue()
    write_whole(path, gzip.compress(content, mtime=0) if path.suffix == ".gz" else content)


def ids_of(path: Path, table: pa.Table, column: str, row: int = 1) -> list[str]:
    """The id column, as text.

    Args:
        row: The number of the first row, in the whole of which the table is a block.

    Raises:
        InvalidInput: it is not there, empty somewhere, repeated, or of a type that cannot be an id.
    """
    if column not in table.column_names:
        raise InvalidInput(str(path), f"no column {column!r}; there are {_list_columns(table)}")
    values = table[column]
    if not (pa.types.is_integer(values.type) or is_text(values.type)):
        raise InvalidInput(str(path), f"ids in {column!r} are {values.type}; use text or integers")
    ids = values.cast(pa.string()).to_pylist()
    seen: set[str] = set()
    for number, record in enumerate(ids, start=row):
        if record is None or not record.strip():
            raise InvalidInput(str(path), f"row {number} has no id")
        if record != record.strip() or not record.isprintable():
            problem = "begins or ends with blanks, or holds characters that cannot be printed"
            raise InvalidInput(str(path), f"id {record!r} {problem}")
        if record in seen:
            raise InvalidInput(str(path), f"id {record!r} is there twice")
        seen.add(record)
    return ids


def read_ids(text: str) -> list[str]:
    """One id a line; empty lines do not count."""
    lines = text.removeprefix("\ufeff").splitlines()
    return [line.strip() for line in lines if line.strip()]


def kind_of(path: Path) -> str:
    """Which kind of table a file is, by its name.

    Raises:
        InvalidInput: the name says none.
    """
    suffix = path.with_suffix("").suffix if path.suffix == ".gz" else path.suffix
    if suffix.lower() not in KINDS:
        raise InvalidInput(str(path), "the name must end in .csv or .parquet, and maybe .gz")
    return KINDS[suffix.lower()]


def number_in(text: str | None) -> float | None:
    """The number that a CSV's field holds: NaN where it is missing, None where it is not a number.

    >>> number_in("1e3"), number_in(" true"), number_in("NA"), number_in("about 7")
    (1000.0, 1.0, nan, None)
    """
    written = "" if text is None else text.strip()
    if written in MISSING:
        return math.nan
    if written.lower() in WORDS:
        return WORDS[written.lower()]
    if not NUMBER.fullmatch(written):
        return None
    return float(written)


def refuse_mixed(path: Path, name: str, values: Collection[str | None], remedy: str) -> None:
    """Refuse a public column of text that looks like numbers with a slip in it.

    Args:
        values: The different ones.

    Raises:
        InvalidInput: most are numbers and some are not; one of these is named.
    """
    odd = [value for value in values if value and number_in(value) is None]
    numbers = sum(1 for value in values if value and number_in(value) is not None)
    if odd and numbers > len(odd):
        problem = f"column {name!r}: {odd[0]!r} is not a number, and most others are"
        raise InvalidInput(str(path), f"{problem}: correct it, or {remedy}")


def _without_formulas(table: pa.Table) -> pa.Table:
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


def decode(table: pa.Table) -> pa.Table:
    """Read bytes as text; those that are not UTF-8 are marked, not refused."""
    for place, field in enumerate(table.schema):
        column = table.column(place)
        try:
            read = column.cast(pa.string())
        except pa.ArrowInvalid:
            marked = [
                None if raw is None else raw.decode(errors="replace") for raw in column.to_pylist()
            ]
            read = pa.chunked_array([pa.array(marked, pa.string())])
        table = table.set_column(place, field.name, read)
    return table


def read_header(path: Path, content: bytes) -> list[str]:
    """Read the columns' names, and refuse one that is there twice: Arrow would keep both."""
    first = io.TextIOWrapper(
        io.BytesIO(content), encoding="utf-8-sig", newline="", errors="replace"
    )
    names = next(csv.reader(first), [])
    check_columns(path, names)
    return names


def check_columns(path: Path, names: Sequence[str]) -> None:
    """Refuse a column that is there twice.

    Raises:
        InvalidInput: one is; it is named.
    """
    for name in names:
        if names.count(name) > 1:
            raise InvalidInput(str(path), f"column {name!r} is there twice")


def is_text(kind: pa.DataType) -> bool:
    """Strings, also as a dictionary of them."""
    if pa.types.is_dictionary(kind):
        return is_text(kind.value_type)
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)


def _list_columns(table: pa.Table) -> str:
    return ", ".join(repr(name) for name in table.column_names[:20])


def first_line(error: Exception) -> str:
    """What went wrong, without the row that Arrow quotes: it may be a private record."""
    line = str(error).splitlines()[0] if str(error) else type(error).__name__
    return re.sub(r"(Expected \d+ columns, got \d+):.*", r"\1", line)
