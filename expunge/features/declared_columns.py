"""Columns encoded from what a schema declares about them; no record is looked at to fit.

number      (2 x - low - high) / (high - low), clipped to [-1, 1]; a missing value is 0, and so is
            one that cannot be read: no single record decides whether there is a model
category    one column for each declared value; anything else is 0 in all of them
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

from expunge.errors import InvalidInput
from expunge.features.column_ranges import declared_range

__all__ = ["DeclaredColumns"]


class DeclaredColumns(TransformerMixin, BaseEstimator):
    """Numbers and categories encoded by declared ranges and values, without public records.

    Columns that are not declared are left out. The declarations are the caller's word and must not
    be read off private records; the certificate says so.

    Args:
        ranges: For each column of numbers, by name or number, its lowest and highest value.
        categories: For each column of categories, the values that may occur.
    """

    is_declared = True

    def __init__(
        self,
        ranges: Mapping[Any, Any] | None = None,
        categories: Mapping[Any, Any] | None = None,
    ) -> None:
        self.ranges = ranges
        self.categories = categories

    def fit(self, X: Any = None, y: Any = None) -> "DeclaredColumns":  # noqa: N803
        """Check the declarations; the rows are not looked at."""
        self._declared()
        return self

    def transform(self, X: Any) -> np.ndarray:  # noqa: N803
        """The declared columns as numbers in [-1, 1]."""
        ranges, categories = self._declared()
        parts = [_scale(_column(X, name), *pair)[:, None] for name, pair in ranges.items()]
        parts += [_one_hot(_column(X, name), known) for name, known in categories.items()]
        return np.hstack(parts)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns, and of columns and values."""
        ranges, categories = self._declared()
        names = [str(name) for name in ranges]
        names += [f"{name}_{value}" for name, known in categories.items() for value in known]
        return np.asarray(names, dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        tags.input_tags.allow_nan = tags.input_tags.categorical = tags.input_tags.string = True
        return tags

    def _declared(self) -> tuple[dict[Any, tuple[float, float]], dict[Any, list[Any]]]:
        """Ranges and categories by column.

        Raises:
            InvalidInput: they make no sense; the column is named.
        """
        for name, value in (("ranges", self.ranges), ("categories", self.categories)):
            if value is not None and not isinstance(value, Mapping):
                raise InvalidInput(name, "must be a dictionary of columns")
        ranges = {
            column: declared_range(f"ranges[{column!r}]", pair)
            for column, pair in (self.ranges or {}).items()
        }
        categories = {}
        for column, known in (self.categories or {}).items():
            categories[column] = _known_values(f"categories[{column!r}]", known)
        if not ranges and not categories:
            raise InvalidInput("ranges", "declare the columns that are used, or their categories")
        return ranges, categories


def _column(rows: Any, name: Any) -> np.ndarray:
    """One column of a DataFrame or an array.

    Raises:
        InvalidInput: it is not there.
    """
    try:
        if hasattr(rows, "columns"):
            return np.asarray(rows[name])
        return np.asarray(rows)[:, name]
    except (LookupError, TypeError) as error:
        raise InvalidInput("X", f"has no column {name!r}, which is declared") from error


def _known_values(where: str, known: Any) -> list[Any]:
    """The declared values of a column.

    Raises:
        InvalidInput: they are no list of texts and numbers, each given once.
    """
    try:
        values = None if isinstance(known, str) else np.asarray(known).tolist()
        for value in values or ():
            if isinstance(value, int | float) and not math.isnan(value):
                float(value)  # beyond a float it could be compared with nothing
        once = isinstance(values, list) and 0 < len(set(values)) == len(values)
    except (TypeError, ValueError, OverflowError):
        values, once = None, False
    if values is None or not once:
        raise InvalidInput(where, "must be a list of values, each given once")
    return values


def _scale(values: np.ndarray, low: float, high: float) -> np.ndarray:
    scaled = (2 * _numbers(values) - low - high) / (high - low)
    return np.nan_to_num(np.clip(scaled, -1, 1), nan=0.0)


def _numbers(values: np.ndarray) -> np.ndarray:
    """Values as float64, NaN where one cannot be read."""
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        return np.array([_number(value) for value in values.tolist()], dtype=np.float64)


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def _one_hot(values: np.ndarray, known: list[Any]) -> np.ndarray:
    return np.stack([values == value for value in known], axis=1).astype(np.float64)
