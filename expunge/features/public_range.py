"""Private rows beyond what public rows show, counted for the operator alone.

What was fitted on public rows has never seen such values. Of a few, nothing follows: the largest of
m rows is topped by a share of about 1/m of further rows of the same kind. A column is named where
more lie outside than that explains:

    share > LIKELY / m        by chance with a probability below (1 + LIKELY) exp(-LIKELY), 8e-5
"""

from typing import Any

import numpy as np
from scipy import sparse

from expunge.features.row_blocks import count_rows

__all__ = ["describe_outside"]

LIKELY = 12
NAMED = 3  # columns in one message


def describe_outside(private: Any, public: Any) -> str | None:
    """One sentence on private rows beyond the public range; None if chance explains them.

    Columns that are no numbers are not looked at; neither are texts and sparse rows.
    """
    ours, theirs = _columns(private), _columns(public)
    if not ours or not theirs or not count_rows(public):
        return None
    most = LIKELY / count_rows(public) * count_rows(private)
    beyond = {
        name: _outside(values, theirs[name]) for name, values in ours.items() if name in theirs
    }
    strange = {name: rows for name, rows in beyond.items() if rows.sum() > most}
    if not strange:
        return None
    count = int(np.any(list(strange.values()), axis=0).sum())
    worst = sorted(strange, key=lambda name: -int(strange[name].sum()))
    named = ", ".join(f"{name} ({int(strange[name].sum()):,})" for name in worst[:NAMED])
    more = f" and {len(worst) - NAMED} more" if len(worst) > NAMED else ""
    return (
        f"{count:,} of {count_rows(private):,} private rows lie outside the public range, more "
        f"than chance explains: columns {named}{more}. What was fitted on public rows has not seen "
        "such values; add public rows that cover them, or declare ranges"
    )


def _columns(rows: Any) -> dict[str, np.ndarray]:
    """The columns that are numbers, by name or number."""
    if sparse.issparse(rows):
        return {}
    if hasattr(rows, "columns") and hasattr(rows, "dtypes"):
        numeric = {str(name): _numbers(rows[name]) for name in rows.columns if rows[name].ndim == 1}
        return {name: values for name, values in numeric.items() if values is not None}
    values = _numbers(rows)
    if values is None or values.ndim != 2:
        return {}
    return {f"number {number}": values[:, number] for number in range(values.shape[1])}


def _numbers(column: Any) -> np.ndarray | None:
    """The values as numbers; None if they are anything else, or texts that read like numbers."""
    try:
        values = np.asarray(column)
        return values.astype(np.float64) if values.dtype.kind in "iufb" else None
    except (TypeError, ValueError):
        return None


def _outside(values: np.ndarray, public: np.ndarray) -> np.ndarray:
    """Which values are beyond the public ones; missing ones are not."""
    known = public[np.isfinite(public)]
    if not len(known):
        return np.isfinite(values)
    return (values < known.min()) | (values > known.max())
