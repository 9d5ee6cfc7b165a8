"""Records that are to join a fitted linear model, held to what `fit` held the others to.

Rows are scaled to the fit's own norm and kept in its precision, labels must be among its labels:
nothing here looks at an estimator's parameters, which may have changed since.
"""

from typing import Any

import numpy as np
import torch
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import column_or_1d
from torch import Tensor

from expunge.core.rows import bounded_values
from expunge.core.sparse_rows import SparseRows
from expunge.errors import InvalidInput
from expunge.unlearning.linear.checked_rows import alike, checked_rows
from expunge.unlearning.linear.linear_fitted import LinearFitted

__all__ = ["arrivals"]


def arrivals(
    estimator: BaseEstimator, fitted: LinearFitted, features: Any, answers: Any
) -> tuple[Tensor | SparseRows, Tensor]:
    """Rows and targets as the row store has them.

    Args:
        answers: Labels, or the targets of a regression.

    Raises:
        InvalidInput: another number of features or of answers, values that are not finite, or a
            label that was not there at fit.
    """
    rows = _rows(estimator, fitted, features)
    targets = _targets(answers) if fitted.classes is None else _encoded(answers, fitted.classes)
    if len(targets) != len(rows):
        raise InvalidInput("y", f"{len(targets)} values for {len(rows)} rows")
    return rows, torch.from_numpy(targets)


def _rows(estimator: BaseEstimator, fitted: LinearFitted, features: Any) -> Tensor | SparseRows:
    """Rows of the fit's form, width and precision, within its norm."""
    if len(getattr(features, "shape", np.shape(features))) != 2:
        raise InvalidInput("X", "must be a table, one row for each record")
    kind = torch.empty(0, dtype=fitted.job.features.dtype).numpy().dtype
    try:
        given = checked_rows(estimator, features, kind, ensure_all_finite=False)
    except (TypeError, ValueError) as error:
        raise InvalidInput("X", " ".join(str(error).split())) from error
    rows = alike(given, fitted.job.rows_are_sparse)
    if not np.isfinite(rows.data if sparse.issparse(rows) else rows).all():
        raise InvalidInput("X", "contains NaN or infinity")
    return bounded_values(rows, fitted.job.loss.row_norm, intercept=fitted.job.intercept)


def _encoded(answers: Any, classes: np.ndarray) -> np.ndarray:
    """The place of each label among the fit's.

    Raises:
        InvalidInput: a label is not one of them.
    """
    places = {label: place for place, label in enumerate(classes.tolist())}
    labels = _one_each(answers).tolist()
    for label in labels:
        if label not in places:
            raise InvalidInput(
                "y", f"label {label!r} is not among those of the fit; fit again with classes=[...]"
            )
    return np.array([places[label] for label in labels], dtype=np.int64)


def _targets(answers: Any) -> np.ndarray:
    """Targets as finite numbers.

    Raises:
        InvalidInput: they are not.
    """
    targets = _one_each(answers)
    if targets.dtype.kind not in "biuf":
        raise InvalidInput("y", f"targets must be numbers, not {targets.dtype}")
    if not np.isfinite(targets).all():
        raise InvalidInput("y", "contains NaN or infinity")
    return targets.astype(np.float64)


def _one_each(answers: Any) -> np.ndarray:
    try:
        return np.asarray(column_or_1d(answers))
    except (TypeError, ValueError) as error:
        raise InvalidInput("y", " ".join(str(error).split())) from error
