"""Rows as users have them, cut by number: arrays, DataFrames, sparse matrices, lists of texts."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from expunge.errors import InvalidInput

__all__ = ["BLOCK", "blocks", "count_rows", "dense", "take_rows"]

BLOCK = 4096  # rows; a row's block and its place there follow from its number alone


def count_rows(rows: Any) -> int:
    """How many rows there are.

    Raises:
        InvalidInput: a single value or a single row of numbers, or something without rows.
    """
    shape = getattr(rows, "shape", None)
    if shape is not None and len(shape):
        if len(shape) == 1 and getattr(rows, "dtype", np.dtype(object)).kind in "biufc":
            raise InvalidInput(
                "X", "is one row of numbers, not a table. Reshape your data: X[None]"
            )
        return int(shape[0])
    if shape is None and hasattr(rows, "__array__"):
        return count_rows(np.asarray(rows))
    loose = shape is None and not hasattr(rows, "iloc") and not isinstance(rows, Sequence)
    if shape is not None or loose or isinstance(rows, str | bytes):
        raise InvalidInput("X", f"must have rows, not be a single {type(rows).__name__}")
    return len(rows)


def take_rows(rows: Any, which: slice | np.ndarray) -> Any:
    """These rows, in the form that the table has."""
    if hasattr(rows, "iloc"):
        return rows.iloc[which]
    if sparse.issparse(rows):
        return rows.tocsr()[which]
    if isinstance(rows, list | tuple) and isinstance(which, np.ndarray):
        return [rows[number] for number in which]
    return rows[which] if hasattr(rows, "__getitem__") else np.asarray(rows)[which]


def blocks(rows: Any) -> Iterator[Any]:
    """The rows in blocks of `BLOCK`; one block without rows where there are none."""
    for start in range(0, max(count_rows(rows), 1), BLOCK):
        yield take_rows(rows, slice(start, start + BLOCK))


def dense(rows: Any) -> np.ndarray:
    """The rows as a plain array."""
    return rows.toarray() if sparse.issparse(rows) else np.asarray(rows)
