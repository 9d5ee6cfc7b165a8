"""Private rows that no step can turn into numbers: they count as rows of zeros.

    row  ->  its features where the steps give finite ones, 0 in every feature elsewhere

One row decides nothing but its own features. If it could stop a fit, whoever waits for a model
would learn something about it (THEORY 5.1 d).
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from expunge.core.sparse_rows import canonical
from expunge.features.row_blocks import count_rows, take_rows

__all__ = ["blank", "finite_rows", "usable_rows"]


def usable_rows(transform: Callable[[Any], Any], rows: Any) -> np.ndarray:
    """Which rows go through without an error, found by quarters: (rows,) booleans."""
    usable = np.zeros(count_rows(rows), dtype=bool)

    def mark(numbers: np.ndarray) -> None:
        try:
            transform(take_rows(rows, numbers))
        except MemoryError:
            raise
        except Exception:  # whatever a transformer does with a value
            if len(numbers) > 1:
                for part in np.array_split(numbers, min(4, len(numbers))):
                    mark(part)
        else:
            usable[numbers] = True

    if len(usable):
        mark(np.arange(len(usable)))
    return usable


def finite_rows(features: Any) -> np.ndarray:
    """Which rows hold finite numbers alone: (rows,) booleans."""
    if not sparse.issparse(features):
        return np.isfinite(features).all(axis=1)
    wrong = _row_numbers(features)[~np.isfinite(features.data)]
    return np.bincount(wrong, minlength=features.shape[0]) == 0


def blank(features: Any, kept: np.ndarray) -> Any:
    """The features, zero in every row that is not kept."""
    if not sparse.issparse(features):
        return np.where(kept[:, None], features, features.dtype.type(0))
    emptied = features.copy()
    emptied.data[~kept[_row_numbers(features)]] = 0
    return canonical(emptied)


def _row_numbers(features: Any) -> np.ndarray:
    """The row of every stored number."""
    return np.repeat(np.arange(features.shape[0]), np.diff(features.indptr))
