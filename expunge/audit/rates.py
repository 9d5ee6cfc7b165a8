"""Exact limits for rates that were counted (Clopper and Pearson 1934)."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import beta

__all__ = ["at_least", "at_most"]


def at_least(hits: ArrayLike, of: int, level: float) -> np.ndarray:
    """Lower limits, each of which holds with this confidence."""
    counted = np.asarray(hits)
    limits = beta.ppf(1 - level, np.maximum(counted, 1), of - counted + 1)
    return np.where(counted == 0, 0.0, limits)


def at_most(hits: ArrayLike, of: int, level: float) -> np.ndarray:
    """Upper limits, each of which holds with this confidence."""
    counted = np.asarray(hits)
    limits = beta.ppf(level, counted + 1, np.maximum(of - counted, 1))
    return np.where(counted == of, 1.0, limits)
