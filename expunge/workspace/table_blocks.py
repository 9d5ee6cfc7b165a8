"""Tables that need not fit into memory: one file or many, read in blocks of rows.

Nothing of a CSV is guessed: every column is text, so that no record decides a type (`read_table`
with `text=None` reads a whole file in the same way).
"""

import csv
import glob
import gzip
import io
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from expunge.errors import InvalidInput
from expunge.workspace.csv_tables import PLAIN, CsvForm, csv_blocks, silent
from expunge.workspace.parquet_tables import parquet_batches
from expunge.workspace.table_limits import USUAL, TableLimits, inflate
from expunge.workspace.tables import first_line, kind_of

__all__ = ["BLOCK", "table_blocks", "table_files"]

BLOCK = 65_536  # rows


def table_files(path: Path) -> list[Path]:
    """The files of a table: the file itself, those of a folder, or those that match a pattern.

    Raises:
        InvalidInput: there are none.
    """
    if path.is_dir():
        found = sorted(one for one in path.iterdir() if one.is_file() and one.name[0] != ".")
    elif not path.exists() and glob.has_magic(str(path)):
        found = sorted(map(Path, glob.glob(str(path))))
    else:
        return [path]
    if not found:
        raise InvalidInput(str(path), "no files")
    return found


def table_blocks(
    path: Path,
    limits: TableLimits = USUAL,
    rows: int = BLOCK,
    *,
    form: CsvForm = PLAIN,
    private: bool = True,
    id_column: str | None = None,
    notice: Callable[[str], None] = silent,
) -> Iterator[tuple[Path, pa.Table]]:
    """The rows of a table, block by block, with the file that each is from.

    All blocks of a file but its last have the same number of rows.

    Args:
        form: How CSV files are written.
        private: Whose table it is: of one that is not private a row of another length is refused.
        id_column, notice: What a row of another length keeps, and who is told.

    Raises:
        InvalidInput: a file that is no table, has other columns than the first, or is too large.
    """
    names: list[str] | None = None
    csv_files = _CsvReader(form, private, id_column, notice)
    for file in table_files(path):
        count = 0
        for block in _blocks_of(file, limits, rows, csv_files):
            names = block.column_names if names is None else names
            if set(block.column_names) != set(names):
                raise InvalidInput(str(file), f"has other columns than the first file of {path}")
            count += block.num_rows
            yield file, block.select(names)
        if not count:
            raise InvalidInput(str(file), "no rows")


@dataclass(frozen=True)
class _CsvReader:
    """How the CSV files of a table are read."""

    form: CsvForm
    private: bool
    id_column: str | None
    notice: Callable[[str], None]

    def read(self, file: Path) -> Iterator[pa.Table]:
        def opened() -> Any:
            return gzip.open(file) if file.suffix == ".gz" else file.open("rb")

        return csv_blocks(
            file,
            opened,
            self.form,
            private=self.private,
            id_column=self.id_column,
            notice=self.notice,
        )


def _blocks_of(
    file: Path, limits: TableLimits, rows: int, csv_files: _CsvReader
) -> Iterator[pa.Table]:
    with _complaints(file):
        batches = csv_files.read(file) if kind_of(file) == "csv" else _parquet(file, limits)
        size, waiting, count = 0, [], 0
        for batch in batches:
            size += batch.nbytes
            limits.check_size(file, size)
            waiting.append(batch)
            count += batch.num_rows
            if count >= rows:
                table = pa.concat_tables(waiting)
                whole = count - count % rows
                for first in range(0, whole, rows):
                    yield table.slice(first, rows)
                waiting, count = [table.slice(whole)], count - whole
        if count:
            yield pa.concat_tables(waiting)


@contextmanager
def _complaints(file: Path) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, UnicodeDecodeError, zlib.error, EOFError, csv.Error) as error:
        raise InvalidInput(str(file), f"cannot be read ({first_line(error)})") from error
    except OSError as error:
        if error.errno is not None:  # not there, or not to be read: the system says it best
            raise
        raise InvalidInput(str(file), f"cannot be read ({first_line(error)})") from error


def _parquet(file: Path, limits: TableLimits) -> Iterator[pa.Table]:
    with file.open("rb") as opened:
        if file.suffix == ".gz":
            source: Any = io.BytesIO(inflate(file, opened.read(), limits))
        else:
            source = opened
        for batch in parquet_batches(file, source, limits):
            yield pa.Table.from_batches([batch])
