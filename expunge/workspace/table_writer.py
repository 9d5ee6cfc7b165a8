"""A table written block by block: there whole once the last block is written, or not at all."""

import gzip
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import csv as arrow_csv
from pyarrow import parquet

from expunge.core.whole_file import writing_whole
from expunge.workspace.tables import kind_of, without_formulas

__all__ = ["TableWriter", "write_table", "writing_table"]


class TableWriter:
    """Takes the blocks of a table, all with the same columns.

    In CSV a text that a spreadsheet would run as a formula (=1+1) gets an apostrophe in front.
    """

    def __init__(self, kind: str, file: Any) -> None:
        self.kind, self.file = kind, file
        self._writer: Any = None

    def write(self, table: pa.Table) -> None:
        """Write the next rows."""
        table = without_formulas(table) if self.kind == "csv" else table
        if self._writer is None:
            make: Any = arrow_csv.CSVWriter if self.kind == "csv" else parquet.ParquetWriter
            self._writer = make(self.file, table.schema)
        self._writer.write_table(table)

    def close(self) -> None:
        """Write what ends the file."""
        if self._writer is not None:
            self._writer.close()


@contextmanager
def writing_table(path: Path) -> Iterator[TableWriter]:
    """A table to write into; nothing is there if the block fails.

    Raises:
        InvalidInput, OSError: it cannot be written there.
    """
    kind = kind_of(path)
    with writing_whole(path) as whole, ExitStack() as opened:
        file: Any = whole
        if path.suffix == ".gz":
            file = opened.enter_context(gzip.GzipFile("", "wb", fileobj=whole, mtime=0))
        writer = TableWriter(kind, pa.PythonFile(file, mode="w"))
        try:
            yield writer
        finally:  # also of a block that fails: nothing writes to the file later
            writer.close()


def write_table(table: pa.Table, path: Path) -> None:
    """Write a table, whole or not at all."""
    with writing_table(path) as writer:
        writer.write(table)
