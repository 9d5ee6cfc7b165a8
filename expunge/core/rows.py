"""Rows with an enforced norm: the constants of a loss hold by construction, not by measurement.

    x  ->  [ x * min(1, F/||x||), b ],   F^2 + b^2 = B^2

Each row is scaled by a rule that looks at that row and the public bound only (THEORY 2.10). The
intercept is a constant feature b = B/sqrt(2) that counts in the norm B and carries the ridge like
every coordinate.
"""

import math

import numpy as np

from expunge.core.checks import positive

__all__ = ["bounded_rows", "largest_unscaled", "public_row_norm"]

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
    positive("row_norm", row_norm)
    dtype = features.dtype if features.dtype in (np.float32, np.float64) else np.float64
    width = features.shape[1]
    most = largest_unscaled(row_norm) if intercept else row_norm
    # Slightly below the bound, to leave room for the rounding of the norm and of the row.
    most *= 1 - 4 * np.finfo(dtype).eps - (width + 8) * np.finfo(np.float64).eps
    shape = len(features), width + intercept
    bounded = np.empty(shape, dtype=dtype) if out is None else out
    for start in range(0, len(features), BLOCK):
        rows = slice(start, start + BLOCK)
        bounded[rows, :width] = _scale(features[rows].astype(np.float64), most)
    if intercept:
        bounded[:, -1] = most
    return bounded


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


def public_row_norm(features: np.ndarray) -> float:
    """B from public rows alone: their largest norm, with room for an equal intercept.

    Raises:
        ValueError: every public row is zero, or some are not finite.
    """
    norms = np.linalg.norm(features.astype(np.float64), axis=1)
    largest = math.sqrt(2) * float(norms.max(initial=0.0))
    if not 0 < largest < math.inf:
        problem = "every row is zero" if largest == 0 else "rows are not finite"
        raise ValueError(f"public: {problem}; give row_norm a number instead of 'public'")
    return largest
