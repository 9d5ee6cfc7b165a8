"""The label column: text or integers for classes, floats for a regression."""

from pathlib import Path

import numpy as np
import pyarrow as pa

from expunge.errors import InvalidInput
from expunge.workspace.options import Options
from expunge.workspace.tables import compute, is_text, list_columns

__all__ = ["check_labelled", "labels_of"]


def labels_of(path: Path, table: pa.Table, options: Options) -> np.ndarray:
    """The label column: text or integers for classes, floats for a regression.

    Raises:
        InvalidInput: a label is missing, or is not what the task needs.
    """
    name = options.label
    column = check_labelled(path, table, name)
    kind = column.type
    if pa.types.is_floating(kind) and not compute.all(compute.is_finite(column)).as_py():
        raise InvalidInput(str(path), f"labels in {name!r} are not all finite")
    numeric = pa.types.is_integer(kind) or pa.types.is_floating(kind)
    if options.task == "regression":
        if not numeric:
            raise InvalidInput(str(path), f"labels in {name!r} are {kind}, not numbers")
        return column.cast(pa.float64()).to_numpy()
    if options.classes is not None:
        return np.asarray(_whole(path, column, name).cast(pa.string()).to_pylist())
    if is_text(kind):
        return np.asarray(column.to_pylist())
    if pa.types.is_boolean(kind):
        return np.asarray(column.cast(pa.string()).to_pylist())
    if numeric:
        return _whole(path, column, name).cast(pa.int64()).to_numpy()
    raise InvalidInput(str(path), f"labels in {name!r} are {kind}; use text or integers")


def check_labelled(path: Path, table: pa.Table, name: str, first: int = 1) -> pa.ChunkedArray:
    """Return the label column after checking that every row has a label.

    Args:
        first: The number of the first row, in the whole of which the table is a block.

    Raises:
        InvalidInput: there is no such column, or a row without a label.
    """
    if name not in table.column_names:
        raise InvalidInput(str(path), f"no column {name!r}; there are {list_columns(table)}")
    column = table[name]
    empty = compute.is_null(column, nan_is_null=True)
    if is_text(column.type):
        column = column.cast(pa.string())
        empty = compute.or_(empty, compute.equal(column, "").fill_null(True))
    if compute.any(empty).as_py():
        row = first + empty.combine_chunks().index(True).as_py()
        raise InvalidInput(str(path), f"row {row} has no label")
    return column


def _whole(path: Path, column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    """Numbers that are classes have no fractions."""
    if not pa.types.is_floating(column.type):
        return column
    if not compute.all(compute.equal(compute.floor(column), column)).as_py():
        raise InvalidInput(
            str(path), f"labels in {name!r} are fractions: use --task regression, or name classes"
        )
    return column.cast(pa.int64())
