"""Rows with an enforced norm: the constants of a loss hold by construction, not by measurement.

    x  ->  [ x * min(1, F/||x||), b ],   F^2 + b^2 = B^2

Each row is scaled by a rule that looks at that row and the public bound only (THEORY 2.10). The
intercept is a constant feature b = B/sqrt(2) that counts in the norm B and carries the ridge like
every coordinate.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from expunge.core.checks import positive
from expunge.core.sparse_rows import BLOCK as SPARSE_BLOCK
from expunge.core.sparse_rows import SparseRows, canonical, join_rows

__all__ = [
    "bounded_rows",
    "bounded_sparse",
    "bounded_tables",
    "bounded_values",
    "largest_unscaled",
    "public_row_norm",
    "row_norms",
]

BLOCK = 256


def bounded_rows(
    features: np.ndarray,
    row_norm: float,
    *,
    intercept: bool = True,
    out: np.ndarray | None = None,
) -> np.ndarray:
    """Rows of norm at most `row_norm`, a bias feature appended; float32 stays float32.

    Args:
        out: Where to put them, so that large sets are not copied twice.

    Raises:
        ValueError: features that are not finite.
    """
    dtype, width = _precision(features), features.shape[1]
    most = _most(row_norm, dtype, width, intercept=intercept)
    shape = len(features), width + intercept
    bounded = np.empty(shape, dtype=dtype) if out is None else out
    for start in range(0, len(features), BLOCK):
        rows = slice(start, start + BLOCK)
        bounded[rows, :width] = _scale(features[rows].astype(np.float64), most)
    if intercept:
        bounded[:, -1] = most
    return bounded


def bounded_sparse(features: Any, row_norm: float, *, intercept: bool = True) -> SparseRows:
    """The same of sparse rows, whose zeros stay zero; of any SciPy form.

    Rows within the bound have the bits that they have as dense ones, those above it are scaled by
    a norm that is summed in another order.

    Raises:
        ValueError: features that are not finite.
    """
    matrix: Any = sparse.csr_array(features)
    dtype, width = _precision(matrix), matrix.shape[1]
    most = _most(row_norm, dtype, width, intercept=intercept)
    starts = range(0, max(1, matrix.shape[0]), SPARSE_BLOCK)
    parts = (canonical(matrix[start : start + SPARSE_BLOCK]) for start in starts)
    return SparseRows.of(_scale_sparse(part, most, dtype, intercept=intercept) for part in parts)


def bounded_values(features: Any, row_norm: float, *, intercept: bool = True) -> Any:
    """Bounded rows as learners take them: a tensor of dense ones, or sparse ones."""
    if sparse.issparse(features):
        return bounded_sparse(features, row_norm, intercept=intercept)
    return torch.from_numpy(bounded_rows(features, row_norm, intercept=intercept))


def bounded_tables(tables: Sequence[Any], row_norm: float) -> Any:
    """Tables of one kind, bounded, one after another; dense rows are copied once."""
    if sparse.issparse(tables[0]):
        return join_rows([bounded_sparse(table, row_norm) for table in tables])
    shape = sum(len(table) for table in tables), tables[0].shape[1] + 1
    bounded, first = np.empty(shape, dtype=_precision(tables[-1])), 0
    for table in tables:
        bounded_rows(table, row_norm, out=bounded[first : first + len(table)])
        first += len(table)
    return torch.from_numpy(bounded)


def row_norms(rows: Tensor | SparseRows | np.ndarray | Any) -> np.ndarray:
    """The norm of each row, in float64."""
    if isinstance(rows, SparseRows):
        rows = rows.matrix
    if sparse.issparse(rows):
        matrix = sparse.csr_array(rows)
        return np.sqrt(_sums(matrix, np.square(matrix.data, dtype=np.float64)))
    return np.linalg.norm(np.asarray(rows).astype(np.float64), axis=1)


def _precision(features: Any) -> Any:
    return features.dtype if features.dtype in (np.float32, np.float64) else np.dtype(np.float64)


def _most(row_norm: float, dtype: Any, width: int, *, intercept: bool) -> float:
    """Slightly below the bound, to leave room for the rounding of the norm and of the row."""
    positive("row_norm", row_norm)
    most = largest_unscaled(row_norm) if intercept else row_norm
    return most * (1 - 4 * np.finfo(dtype).eps - (width + 8) * np.finfo(np.float64).eps)


def _scale_sparse(rows: Any, most: float, dtype: Any, *, intercept: bool) -> Any:
    """Rows in their one form, those of a norm above `most` scaled down, with their intercept."""
    values, lengths = rows.data.astype(np.float64), np.diff(rows.indptr)
    if not np.isfinite(values).all():
        raise ValueError("features contain NaN or infinity")
    largest = abs(rows).max(axis=1).toarray().ravel().astype(np.float64)
    largest = np.where(largest > 0, largest, 1.0)
    unit = values / np.repeat(largest, lengths)  # squares neither overflow nor vanish
    norms = largest * np.sqrt(_sums(rows, unit * unit))
    above = norms > most
    factors = np.divide(most, norms / largest, where=above, out=np.ones_like(norms))
    scaled = unit * np.repeat(factors, lengths)
    bounded = np.where(np.repeat(above, lengths), scaled, values).astype(dtype)
    matrix = sparse.csr_array((bounded, rows.indices, rows.indptr), shape=rows.shape)
    if intercept:
        column = sparse.csr_array(np.full((rows.shape[0], 1), most, dtype=dtype))
        matrix = sparse.csr_array(sparse.hstack([matrix, column], format="csr", dtype=dtype))
    matrix.eliminate_zeros()  # of numbers too small for their precision
    return matrix


def _sums(rows: Any, values: np.ndarray) -> np.ndarray:
    """The sum of each row's values, in order: (rows,)."""
    count = rows.shape[0]
    return np.bincount(np.repeat(np.arange(count), np.diff(rows.indptr)), values, count)


def _scale(rows: np.ndarray, most: float) -> np.ndarray:
    """Scale rows of a norm above `most` down to it; leave the others as they are."""
    largest = np.abs(rows).max(axis=1, initial=0.0, keepdims=True)
    if not np.isfinite(largest).all():
        raise ValueError("features contain NaN or infinity")
    unit = rows / np.where(largest > 0, largest, 1.0)  # squares neither overflow nor vanish
    norms = largest * np.sqrt(np.einsum("ij,ij->i", unit, unit))[:, None]
    above = norms > most
    factors = np.divide(most, norms / np.where(largest > 0, largest, 1.0), where=above, out=norms)
    return np.where(above, unit * factors, rows)


def largest_unscaled(row_norm: float) -> float:
    """F: rows of a norm up to this, beside an intercept, stay as they are."""
    return row_norm / math.sqrt(2)


def public_row_norm(features: Any) -> float:
    """B from public rows alone: their largest norm, with room for an equal intercept.

    Raises:
        ValueError: every public row is zero, or some are not finite.
    """
    norms = row_norms(features)
    largest = math.sqrt(2) * float(norms.max(initial=0.0))
    if not 0 < largest < math.inf:
        problem = "every row is zero" if largest == 0 else "rows are not finite"
        raise ValueError(f"public: {problem}; give row_norm a number instead of 'public'")
    return largest
