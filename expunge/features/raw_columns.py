"""The columns themselves beside leaves: standardised on public rows, of a row norm of at most 1.

    z = (x - mean) / deviation        columns of nothing but 0 and 1 stay as they are
    row = z / max(norm, |z|)          norm: the largest |z| of a public row

These are the columns as a linear model takes them, so that leaves left out leave that model. (A
column of 0 and 1 that is divided by its deviation grows with its rarity: among many such columns
the numbers hardly counted.)
"""

from dataclasses import dataclass

import numpy as np

__all__ = ["RawColumns"]

FARTHEST = 1e9  # deviations: squares of anything farther would overflow


@dataclass(frozen=True)
class RawColumns:
    """How columns are brought to one scale.

    Args:
        centre, width: Of each column.
        norm: What rows are divided by; longer ones are scaled down further.
    """

    centre: np.ndarray
    width: np.ndarray
    norm: float

    @classmethod
    def of(cls, rows: np.ndarray) -> "RawColumns":
        """The scales of these rows; missing values do not count."""
        values = rows.astype(np.float64)
        known = np.isfinite(values)
        counts = np.maximum(known.sum(axis=0), 1)
        means = np.where(known, values, 0.0).sum(axis=0) / counts
        squares = np.where(known, (values - means) ** 2, 0.0).sum(axis=0) / counts
        marks = np.where(known, (values == 0) | (values == 1), True).all(axis=0)
        width = np.where(marks | (squares == 0), 1.0, np.sqrt(squares))
        alone = cls(np.where(marks, 0.0, means), width, 1.0)
        longest = np.linalg.norm(alone.standardise(rows), axis=1).max(initial=0.0)
        return cls(alone.centre, alone.width, float(longest) or 1.0)

    def standardise(self, rows: np.ndarray) -> np.ndarray:
        """The columns on one scale; missing values are 0."""
        scaled = (rows.astype(np.float64) - self.centre) / self.width
        return np.nan_to_num(np.clip(scaled, -FARTHEST, FARTHEST), nan=0.0)

    def rows(self, rows: np.ndarray) -> np.ndarray:
        """Rows of norm at most 1."""
        scaled = self.standardise(rows) / self.norm
        return scaled / np.maximum(np.linalg.norm(scaled, axis=1, keepdims=True), 1.0)
