"""Rows with an enforced norm: the constants of a loss hold by construction, not by measurement.

    x  ->  [ x * min(1, F/||x||), b ],   F^2 + b^2 = B^2

Each row is scaled by a rule that looks at that row and the public bound only (THEORY 2.10). The
intercept is a constant feature b = B/sqrt(2) that counts in the norm B and carries the ridge like
every coordinate.
"""

import math

import numpy as np

__all__ = ["bounded_rows", "public_row_norm"]

BLOCK = 8192


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
    dtype = features.dtype if features.dtype in (np.float32, np.float64) else np.float64
    norms = _norms(features)
    if not np.isfinite(norms).all():
        raise ValueError("features contain NaN or infinity")
    most = row_norm / math.sqrt(2) if intercept else row_norm
    # A hair below the bound, so that rounding to the row's own precision stays within it.
    most *= 1 - 4 * np.finfo(dtype).eps
    scale = np.minimum(1.0, most / np.maximum(norms, np.finfo(np.float64).tiny))
    shape = len(features), features.shape[1] + intercept
    bounded = np.empty(shape, dtype=dtype) if out is None else out
    np.multiply(features, scale[:, None].astype(dtype), out=bounded[:, : features.shape[1]])
    if intercept:
        bounded[:, -1] = most
    return bounded


def public_row_norm(features: np.ndarray) -> float:
    """B from public rows alone: their largest norm, with room for an equal intercept."""
    return math.sqrt(2) * float(_norms(features).max())


def _norms(features: np.ndarray) -> np.ndarray:
    """Euclidean norms in float64, a block of rows at a time."""
    norms = np.empty(len(features))
    for start in range(0, len(features), BLOCK):
        block = features[start : start + BLOCK].astype(np.float64)
        norms[start : start + BLOCK] = np.sqrt(np.einsum("ij,ij->i", block, block))
    return norms
