"""Parquet in batches, whose size is seen before they become large.

A text that is given once and repeated in every row is kilobytes in the file and gigabytes in a
table. So texts are read as numbers of a dictionary, their sizes are added up, and only what is
within the limit becomes a column of texts. Lists, structures and maps are not read: nothing can be
learned from them as they are, so a column of them is there by name and type, and empty.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute
from pyarrow import parquet

from expunge.errors import InvalidInput
from expunge.workspace.plain_columns import plain_type
from expunge.workspace.table_limits import TableLimits

__all__ = ["BATCH", "parquet_batches"]

compute: Any = pyarrow.compute
BATCH = 4096  # rows at a time
TEXT, FIXED = "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY"


def parquet_batches(path: Path, source: Any, limits: TableLimits) -> Iterator[pa.RecordBatch]:
    """The rows of a Parquet file; dictionaries and views become the values that they stand for.

    Args:
        path: Of the file, for a complaint.
        source: What it holds: a buffer, or an open file.

    Raises:
        InvalidInput: it is too large, or repeats a column.
        ArrowException, OSError: it is not Parquet, or damaged.
    """
    whole = parquet.ParquetFile(source, pre_buffer=False)
    footer, names = whole.metadata, whole.schema_arrow.names
    for name in names:
        if names.count(name) > 1:
            raise InvalidInput(str(path), f"column {name!r} is there twice")
    _check_footer(path, footer, limits)
    flat = [name for name, kind in _fields(whole) if not pa.types.is_nested(kind)]
    texts = [leaf.path for leaf in _leaves(footer) if leaf.physical_type == TEXT]
    texts = [name for name in texts if name in flat]
    file = parquet.ParquetFile(source, metadata=footer, read_dictionary=texts, pre_buffer=False)
    size = 0
    # Arrow's threads may outlive a process that exits on bad input, and abort it.
    for batch in file.iter_batches(BATCH, columns=flat, use_threads=False):
        limits.check_size(path, size + batch.nbytes)
        size += sum(_size(column) for column in batch.columns)
        limits.check_size(path, size)
        columns = [_column(batch, name, kind) for name, kind in _fields(whole)]
        yield pa.RecordBatch.from_arrays(columns, names=names)


def _fields(file: parquet.ParquetFile) -> Iterator[tuple[str, Any]]:
    """The columns' names and plain types."""
    return ((field.name, plain_type(field.type)) for field in file.schema_arrow)


def _check_footer(path: Path, footer: Any, limits: TableLimits) -> None:
    """Refuse what must be larger than allowed, or may be within the rows of a single batch.

    Raises:
        InvalidInput: it is too large.
    """
    for leaf in _leaves(footer):
        if leaf.physical_type == FIXED and not leaf.max_repetition_level:
            limits.check_size(path, BATCH * leaf.length)
    for number in range(footer.num_row_groups):
        limits.check_size(path, footer.row_group(number).total_byte_size)


def _leaves(footer: Any) -> list[Any]:
    return [footer.schema.column(place) for place in range(len(footer.schema))]


def _size(column: Any) -> int:
    """How many bytes of values a column holds, once each text is in its own row."""
    if not pa.types.is_dictionary(column.type):
        return column.nbytes
    lengths = compute.binary_length(column.dictionary).take(column.indices)
    return 4 * len(column) + (compute.sum(lengths).as_py() or 0)


def _column(batch: pa.RecordBatch, name: str, kind: Any) -> Any:
    """The column as one of this plain type; as it is where Arrow knows no way."""
    if pa.types.is_nested(kind):
        return pa.nulls(batch.num_rows, kind)
    column = batch.column(name)
    try:
        return column if column.type == kind else column.cast(kind)
    except pa.ArrowNotImplementedError:
        return column
