"""Rows as users hand them to an estimator, checked: dense arrays, or SciPy's sparse ones as CSR.

scikit-learn's own checks do the work. What they say of sparse rows is cut to the line that names
what is wrong.
"""

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from expunge.errors import InvalidInput

__all__ = ["alike", "checked_records", "checked_rows", "plain", "table_of"]

PRECISIONS = [np.float64, np.float32]


def checked_records(
    estimator: BaseEstimator, rows: Any, answers: Any, *, y_numeric: bool = False
) -> tuple[Any, np.ndarray]:
    """Rows and answers to learn from; the estimator takes the number of features from them.

    Raises:
        ValueError: what is wrong with them.
    """
    return _checked(estimator, rows, answers, dtype=PRECISIONS, y_numeric=y_numeric)


def checked_rows(estimator: BaseEstimator, rows: Any, dtype: Any = None, **how: Any) -> Any:
    """Rows of as many features as those at fit.

    Args:
        dtype: Their precision; float64 or float32 as they come if None.
        how: What else `validate_data` takes.

    Raises:
        ValueError: what is wrong with them.
    """
    dtype = PRECISIONS if dtype is None else dtype
    return plain(_checked(estimator, rows, dtype=dtype, reset=False, **how))


def _checked(estimator: BaseEstimator, rows: Any, *answers: Any, **how: Any) -> Any:
    try:
        return validate_data(estimator, rows, *answers, accept_sparse="csr", **how)
    except ValueError as error:
        if not sparse.issparse(rows):
            raise
        raise ValueError(str(error).splitlines()[0]) from error


def plain(rows: Any) -> Any:
    """A plain array, or sparse rows as they are."""
    return rows if sparse.issparse(rows) else np.asarray(rows)


def alike(rows: Any, sparsely: bool) -> Any:
    """The rows as CSR if other rows are sparse, and otherwise as a plain array."""
    if sparsely:
        return sparse.csr_array(rows)
    return rows.toarray() if sparse.issparse(rows) else np.asarray(rows)


def table_of(rows: Any, width: int) -> Any:
    """Rows to predict for as a table of numbers, of so many columns.

    Raises:
        InvalidInput: no table of numbers, or one of another width.
    """
    try:
        table = rows if sparse.issparse(rows) else np.asarray(rows)
        table = table if table.dtype.kind in "biuf" else table.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInput("X", "must be a table of numbers") from error
    if table.ndim != 2 or table.shape[1] != width:
        raise InvalidInput("X", f"must have {width} columns, one row for each record")
    return table
