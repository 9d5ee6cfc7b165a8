"""Products of rows and weights, for dense rows and sparse ones.

products        rows theta'                  (rows, outputs)
add_pull        total += residual' rows      (outputs, features), only where rows have numbers
add_whole_products    total += q' q, q = round(rows/unit)    (features, features) or diagonal
"""

import numpy as np
import torch
from torch import Tensor

from expunge.core.sparse_rows import SparseRows

__all__ = ["add_pull", "add_whole_products", "largest_of", "products"]


def products(rows: Tensor | SparseRows, theta: Tensor) -> Tensor:
    """Each row's product with each row of theta, in their precision: (rows, outputs)."""
    if not isinstance(rows, SparseRows):
        return rows @ theta.T
    matrix, weights = rows.matrix, theta.numpy()
    return torch.from_numpy(np.stack([matrix @ each for each in weights], axis=1))


def add_pull(total: Tensor, residual: Tensor, rows: Tensor | SparseRows) -> None:
    """Add the sum of the rows, each times its residual, to the total."""
    if not isinstance(rows, SparseRows):
        total += residual.T @ rows
        return
    matrix = rows.matrix
    there = np.zeros(matrix.shape[1], dtype=bool)
    there[matrix.indices] = True
    columns = np.flatnonzero(there)
    place = np.empty(matrix.shape[1], dtype=matrix.indices.dtype)
    place[columns] = np.arange(len(columns), dtype=place.dtype)
    packed = type(matrix)(
        (matrix.data, place[matrix.indices], matrix.indptr), shape=(len(rows), len(columns))
    )
    pulled = packed.T @ residual.numpy()  # (columns, outputs)
    total.numpy()[:, columns] += pulled.T


def largest_of(rows: Tensor | SparseRows) -> Tensor:
    """The largest |number| of each row: (rows,)."""
    return rows.largest() if isinstance(rows, SparseRows) else rows.abs().amax(1)


def add_whole_products(total: Tensor, rows: Tensor | SparseRows, unit: float) -> None:
    """Add the products of the rows in whole units: of all pairs of features, or the squares."""
    if not isinstance(rows, SparseRows):
        whole = (rows / unit).round()
        total += whole.T @ whole if total.ndim == 2 else whole.square().sum(0)
        return
    matrix = rows.matrix
    whole = type(matrix)(
        (np.rint(matrix.data / unit), matrix.indices, matrix.indptr), shape=matrix.shape
    )
    if total.ndim == 2:
        pairs = (whole.T @ whole).tocoo()
        total.numpy()[pairs.row, pairs.col] += pairs.data
    else:
        total += torch.from_numpy(np.bincount(whole.indices, whole.data**2, len(total)))
