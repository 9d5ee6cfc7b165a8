"""How well a model does on records that are never deleted: a confusion matrix, or an error."""

from typing import Any

import numpy as np

from expunge.unlearning.linear.linear_head import LinearHead

__all__ = ["evaluation"]


def evaluation(head: LinearHead, rows: np.ndarray, labels: np.ndarray) -> dict[str, Any]:
    """Evaluate a model, as a document for the report; rows are encoded."""
    predictions = head.predict(rows)
    if head.classes is None:
        error = float(np.sqrt(np.mean((predictions - labels) ** 2)))
        return {"records": len(rows), "root_mean_square_error": error}
    matrix = np.zeros((len(head.classes), len(head.classes)), dtype=int)
    np.add.at(matrix, tuple(np.searchsorted(head.classes, y) for y in (labels, predictions)), 1)
    return {
        "records": len(rows),
        "labels": [str(name) for name in head.classes],
        "confusion": matrix.tolist(),
        "accuracy": float(np.trace(matrix) / max(1, matrix.sum())),
    }
