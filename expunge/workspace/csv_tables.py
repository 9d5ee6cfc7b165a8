"""CSV as people have it: other separators, decimal commas, other encodings, rows of another length.

    table          a row with too few or too many cells        bytes that are no text
    public         refused, its row named                      refused, its line named
    private        a blank row with its id, counted            marked (U+FFFD), counted

What one private record holds must not refuse a table (`workspace.private_values`), so such a row
keeps its id, to be forgotten by, and nothing else. Rows are counted without the header.
"""

import codecs
import csv
import io
from collections import deque
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import csv as arrow_csv

from expunge.errors import InvalidInput
from expunge.workspace.table_limits import FEWEST

__all__ = ["PLAIN", "CsvForm", "csv_blocks", "read_csv", "silent"]

SEPARATORS = {",": "','", ";": "';'", "\t": "tab", "|": "'|'"}
MARKS = {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
NAMED = 5  # rows that a notice names
UNREADABLE = "\ufffd"  # what stands for bytes that are no text
READ = 1 << 20  # bytes of a file at a time
BLOCK_BYTES = 8 << 20  # that become rows at a time
HEADER = 1 << 20  # bytes in which the first line ends
END = "\x1eend\x1e"  # a row that comes after the last one


@dataclass(frozen=True)
class CsvForm:
    """How CSV files are written.

    Args:
        separator: Between cells: one character, or the word tab.
        decimal: The mark in front of a number's fraction, "." or ",".
        encoding: Of the text, by a name that Python knows: utf-8, latin-1, cp1252, utf-16 ...
    """

    separator: str = ","
    decimal: str = "."
    encoding: str = "utf-8"

    def __post_init__(self) -> None:
        mark = self.separator
        if mark != "\t" and not (len(mark) == 1 and mark.isascii() and mark.isprintable()):
            raise InvalidInput("separator", f"{mark!r} is not one character; or write tab")
        if mark in '".' or mark.isalnum():
            raise InvalidInput("separator", f"{mark!r} cannot separate cells")
        if self.decimal not in (".", ","):
            raise InvalidInput("decimal", f"{self.decimal!r} is neither '.' nor ','")
        try:
            "".encode(self.encoding)
        except (LookupError, ValueError) as error:
            problem = f"{self.encoding!r} is no encoding of text; try latin-1, cp1252 or utf-16"
            raise InvalidInput("text_encoding", problem) from error


PLAIN = CsvForm()


def silent(line: str) -> None:
    """Take a notice, and tell nobody."""


def read_csv(
    path: Path,
    content: bytes,
    text: Collection[str] | None,
    form: CsvForm,
    *,
    id_column: str | None = None,
    notice: Callable[[str], None] = silent,
) -> pa.Table:
    """Read the content of a CSV file.

    Args:
        text: Columns that hold text; the others are guessed. None stands for a private table, of
            which everything is text.
        id_column: Of a private table; rows of another length keep what they have there.
        notice: Told what of a private table could not be read, in numbers of rows.

    Raises:
        InvalidInput: not such a file; the row or the line is named, and a remedy where there is
            one.
    """
    private = text is None
    content = _as_utf8(path, content, form, notice if private else None)
    names = _read_header(path, content, form)
    _check_quotes(path, content, form)
    ragged: list[Any] = []

    def set_aside(row: Any) -> str:
        ragged.append(row)
        return "skip"

    types = dict.fromkeys(names if text is None else text, pa.string())
    table = arrow_csv.read_csv(
        pa.BufferReader(content),
        arrow_csv.ReadOptions(use_threads=False),
        _parsing(form, set_aside),
        arrow_csv.ConvertOptions(column_types=types, decimal_point=form.decimal),
    )
    if not ragged:
        return table
    if not private or (not table.num_rows and len(ragged) >= FEWEST):
        raise _wrong_length(path, ragged[0])
    notice(_lengths_told(path, ragged))
    place = names.index(id_column) if id_column in names else None
    return _with_blank_rows(table, ragged, place, form)


def csv_blocks(
    path: Path,
    opened: Callable[[], Any],
    form: CsvForm,
    *,
    private: bool = True,
    id_column: str | None = None,
    notice: Callable[[str], None] = silent,
) -> Iterator[pa.Table]:
    """Read a CSV file as text, a stretch of rows at a time, as `read_csv` would.

    Args:
        opened: Opens the file, inflated where it is gzipped; called more than once.
        private: Rows of another length and bytes that are no text are taken; else refused.
        id_column, notice: As for `read_csv`.

    Raises:
        InvalidInput: as `read_csv`.
    """
    with opened() as content:
        source = _Utf8(path, content, form, private=private)
        names = _read_header(path, source.read(HEADER), form)
    _check_all_quotes(path, opened, form)
    ragged: list[Any] = []

    def set_aside(row: Any) -> str:
        ragged.append(row)
        return "skip"

    place = names.index(id_column) if id_column in names else None
    types = dict.fromkeys(names, pa.string())
    with opened() as content:
        source = _Utf8(path, content, form, private=private)
        reader = arrow_csv.open_csv(
            pa.PythonFile(source, mode="r"),
            arrow_csv.ReadOptions(use_threads=False, block_size=BLOCK_BYTES),
            _parsing(form, set_aside),
            arrow_csv.ConvertOptions(column_types=types),
        )
        taken = added = 0  # rows so far, and blank ones among all of them
        for batch in reader:
            if ragged and not private:
                raise _wrong_length(path, ragged[0])
            table = pa.Table.from_batches([batch])
            until = taken + table.num_rows
            here = [
                row for at, row in enumerate(ragged[added:], added) if row.number - 2 - at <= until
            ]
            yield _with_blank_rows(table, here, place, form, taken, added)
            taken, added = until, added + len(here)
        if (ragged and not private) or (len(ragged) >= FEWEST and not taken):
            raise _wrong_length(path, ragged[0])
        if ragged[added:]:
            none = pa.table({name: pa.array([], pa.string()) for name in names})
            yield _with_blank_rows(none, ragged[added:], place, form, taken, added)
    source.tell_unreadable(notice)
    if ragged:
        notice(_lengths_told(path, ragged))


def _parsing(form: CsvForm, set_aside: Callable[[Any], str]) -> arrow_csv.ParseOptions:
    return arrow_csv.ParseOptions(
        delimiter=form.separator, newlines_in_values=True, invalid_row_handler=set_aside
    )


def _wrong_length(path: Path, row: Any) -> InvalidInput:
    cells = f"{row.actual_columns} cells, and the header {row.expected_columns}"
    return InvalidInput(str(path), f"row {row.number - 1} has {cells}")


def _lengths_told(path: Path, ragged: list[Any]) -> str:
    return (
        f"{path}: {_rows_named([row.number - 1 for row in ragged])} of another length than the "
        "header: learned as blank, under the id that is there when cells are counted from the left"
    )


class _Utf8:
    """A file as UTF-8: bytes that are no text are marked and counted.

    Args:
        private: Whose table it is: in one that is not private they are refused.
    """

    def __init__(self, path: Path, content: Any, form: CsvForm, *, private: bool = True) -> None:
        self.path, self.content, self.form, self.private = path, content, form, private
        self.closed = False
        self._decoder = codecs.getincrementaldecoder(form.encoding)()
        self._strict, self._begun, self._ended = True, False, False
        self._marked, self._waiting, self._lines = 0, b"", 1

    def read(self, size: int = -1) -> bytes:
        """At most so many bytes; all that are left with -1."""
        parts, length = [self._waiting], len(self._waiting)
        while not self._ended and (size < 0 or length < size):
            parts.append(self._next())
            length += len(parts[-1])
        found = b"".join(parts)
        size = len(found) if size < 0 else size
        self._waiting = found[size:]
        return found[:size]

    def close(self) -> None:
        """Nothing: whoever opened the file closes it."""
        self.closed = True

    def _next(self) -> bytes:
        content = self.content.read(READ)
        if not self._begun:
            _check_mark(self.path, content, self.form)
            self._begun = True
        self._ended = not content
        before = self._decoder.getstate()
        try:
            text = self._decoder.decode(content, final=self._ended)
        except UnicodeDecodeError as error:
            if not self.private:
                line = self._lines + error.object.count(b"\n", 0, error.start)
                problem = f"line {line} is not {self.form.encoding}"
                raise _wrong_encoding(self.path, problem) from error
            self._strict = False
            self._decoder = codecs.getincrementaldecoder(self.form.encoding)(errors="replace")
            self._decoder.setstate(before)
            text = self._decoder.decode(content, final=self._ended)
        self._marked += text.count(UNREADABLE)
        self._lines += content.count(b"\n")
        return text.encode()

    def tell_unreadable(self, notice: Callable[[str], None]) -> None:
        """Tell how much was marked, once all is read."""
        if not self._strict:
            notice(_marked_told(self.path, self._marked, self.form))


def _marked_told(path: Path, count: int, form: CsvForm) -> str:
    return (
        f"{path}: {count:,} characters are not {form.encoding} and count "
        "as unknown; if the file is in another encoding, say so with --text-encoding"
    )


def _check_all_quotes(path: Path, opened: Callable[[], Any], form: CsvForm) -> None:
    """Check that every quotation mark of a file is closed, without holding all of it.

    Raises:
        InvalidInput: one is not; the row is named.
    """
    marks = 0
    with opened() as content:
        source = _Utf8(path, content, form)
        while block := source.read(READ):
            marks += block.count(b'"')
    if marks % 2:
        with opened() as content:
            _check_quotes(path, _Utf8(path, content, form).read(), form)


def _rows_named(numbers: list[int]) -> str:
    """So many rows, the first of them by number."""
    first = ", ".join(f"{number:,}" for number in numbers[:NAMED])
    more = ", ..." if len(numbers) > NAMED else ""
    return f"{len(numbers):,} row{'s' if len(numbers) > 1 else ''} ({first}{more})"


def _with_blank_rows(
    table: pa.Table,
    ragged: list[Any],
    place: int | None,
    form: CsvForm,
    first: int = 0,
    known: int = 0,
) -> pa.Table:
    """The table with a row of nothing but an id where each of these was, counted from 1.

    Args:
        first, known: How many rows and how many blank ones came before this part of a table.
    """
    parts, taken = [], 0
    for before, row in enumerate(ragged, known):
        until = row.number - 2 - before - first
        parts.append(table.slice(taken, until - taken))
        taken = until
        cells = next(csv.reader([row.text], delimiter=form.separator), [])
        blank: dict[str, list[str | None]] = {name: [None] for name in table.column_names}
        if place is not None and place < len(cells):
            blank[table.column_names[place]] = [cells[place]]
        parts.append(pa.table(blank, schema=table.schema))
    return pa.concat_tables([*parts, table.slice(taken)])


def _as_utf8(
    path: Path, content: bytes, form: CsvForm, notice: Callable[[str], None] | None
) -> bytes:
    """The content as UTF-8.

    Args:
        notice: Of a private table: bytes that are no text are marked and counted. With None they
            are refused.
    """
    _check_mark(path, content, form)
    try:
        decoded = content.decode(form.encoding)
    except UnicodeDecodeError as error:
        if notice is None:
            line = content.count(b"\n", 0, error.start) + 1
            raise _wrong_encoding(path, f"line {line} is not {form.encoding}") from error
        decoded = content.decode(form.encoding, errors="replace")
        notice(_marked_told(path, decoded.count(UNREADABLE), form))
        return decoded.encode()
    return content if form.encoding == PLAIN.encoding else decoded.encode()


def _check_mark(path: Path, content: bytes, form: CsvForm) -> None:
    for mark, encoding in MARKS.items():
        if content.startswith(mark) and "16" not in form.encoding:
            raise _wrong_encoding(path, f"looks like {encoding}", encoding)


def _wrong_encoding(path: Path, problem: str, encoding: str = "") -> InvalidInput:
    remedy = encoding or "latin-1, if it is in that one"
    return InvalidInput(str(path), f"{problem}: add --text-encoding {remedy}")


def _read_header(path: Path, content: bytes, form: CsvForm) -> list[str]:
    """Read the columns' names.

    Raises:
        InvalidInput: one is there twice, for Arrow would keep both; or there is one alone, in which
            another separator stands.
    """
    first = io.TextIOWrapper(
        io.BytesIO(content), encoding="utf-8-sig", newline="", errors="replace"
    )
    names = next(csv.reader(first, delimiter=form.separator), [])
    if len(names) == 1:
        for other, shown in SEPARATORS.items():
            if other != form.separator and other in names[0]:
                written = "tab" if other == "\t" else shown
                raise InvalidInput(
                    str(path), f"looks like {shown} separates: add --separator {written}"
                )
    for name in names:
        if names.count(name) > 1:
            raise InvalidInput(str(path), f"column {name!r} is there twice")
    return names


def _check_quotes(path: Path, content: bytes, form: CsvForm) -> None:
    """Check that every quotation mark is closed: else all rows after it are part of its cell.

    Raises:
        InvalidInput: one is not; the row is named.
    """
    if content.count(b'"') % 2 == 0:
        return
    lines = io.TextIOWrapper(io.BytesIO(content + f"\n{END}".encode()), "utf-8-sig", newline="")
    try:
        last = deque(enumerate(csv.reader(lines, delimiter=form.separator)), maxlen=1)
    except csv.Error:  # it has more characters than a cell can have
        raise InvalidInput(str(path), "a quotation mark is never closed: correct it") from None
    ((row, cells),) = last
    if cells != [END]:
        problem = f"row {row} opens a quotation mark that nothing closes: correct it"
        raise InvalidInput(str(path), problem)
