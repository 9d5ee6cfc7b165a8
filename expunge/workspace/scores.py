"""How well a model does on rows that come in blocks: accuracy, or R2 and error of a regression."""

from collections import Counter
from typing import Any

import numpy as np

from expunge.unlearning.linear.linear_head import LinearHead

__all__ = ["LabelCount", "Score"]


class Score:
    """Counts what a model says rightly, or by how much it is off."""

    def __init__(self, head: LinearHead) -> None:
        self.head, self.right, self.squares = head, 0, 0.0

    def add(self, rows: Any, labels: np.ndarray, unknown: np.ndarray) -> None:
        """Count some rows.

        Args:
            unknown: Which of them have a label that the model does not know: a mistake.
        """
        said = self.head.predict(rows)
        if self.head.classes is None:
            self.squares += float(np.sum((said - labels) ** 2))
        else:
            self.right += int(((said == labels) & ~unknown).sum())

    def document(self, labels: "LabelCount") -> dict[str, float | None]:
        """Accuracy of a classifier; R2 and error of a regression.

        R2 is null where all values are the same: there is nothing to explain.

        Args:
            labels: Of the rows that were counted.
        """
        if self.head.classes is not None:
            return {"accuracy": self.right / labels.rows}
        error = float(np.sqrt(self.squares / labels.rows))
        spread = labels.spread
        return {
            "r2": 1 - self.squares / spread if spread else None,
            "root_mean_square_error": error,
        }


class LabelCount:
    """The labels of rows that come in blocks: how many there are of each, or mean and spread.

    Blocks are merged by their means (Chan, Golub, LeVeque 1979), so that nothing cancels.

    Attributes:
        mean: Of a regression's targets.
        spread: The sum of their squared distances from the mean.
    """

    def __init__(self, *, classes: bool) -> None:
        self.classes, self.rows, self.unknown = classes, 0, 0
        self.mean = self.spread = 0.0
        self._known: Counter[Any] = Counter()

    def add(self, labels: np.ndarray, unknown: np.ndarray) -> None:
        """Count the labels of some rows."""
        before, more = self.rows, len(labels)
        self.rows += more
        self.unknown += int(unknown.sum())
        if self.classes:
            self._known.update(labels[~unknown].tolist())
            return
        mean = float(labels.mean())
        apart = mean - self.mean
        self.spread += float(np.sum((labels - mean) ** 2)) + apart**2 * before * more / self.rows
        self.mean += apart * more / self.rows

    def majority(self) -> dict[str, Any]:
        """What knowing nothing but the rows' own labels would give."""
        if not self.classes:
            error = float(np.sqrt(self.spread / self.rows))
            return {"mean": self.mean, "r2": 0.0, "root_mean_square_error": error}
        label, count = self._known.most_common(1)[0]
        return {"label": str(label), "accuracy": count / self.rows}
