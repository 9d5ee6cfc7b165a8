"""The bound on rows as a scikit-learn step, for models that are exported (`core.rows`).

x  ->  f x * min(1, F/||f x||)
"""

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

from expunge.core.rows import bounded_rows

__all__ = ["RowScaler"]


class RowScaler(TransformerMixin, BaseEstimator):
    """Rows times a factor, those of a norm above a bound scaled down to it; learns nothing.

    Args:
        factor: What every number is multiplied by first.
        row_norm: B of the model; its intercept's share of it is not added here.
    """

    def __init__(self, factor: float = 1.0, row_norm: float = 1.0) -> None:
        self.factor = factor
        self.row_norm = row_norm

    def fit(self, X: object, y: object = None) -> "RowScaler":  # noqa: N803
        return self

    def transform(self, X: np.ndarray) -> np.ndarray:  # noqa: N803
        rows = (np.asarray(X, dtype=np.float64) * self.factor).astype(np.float32)
        return bounded_rows(rows, self.row_norm)[:, :-1]

    def __sklearn_is_fitted__(self) -> bool:
        return True
