"""How well a model does on records that are never deleted: a confusion matrix, or an error."""

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from expunge.workspace.stored_settings import STRICT, damaged, read_setting

if TYPE_CHECKING:
    from expunge.unlearning.linear.linear_head import LinearHead

__all__ = ["evaluation", "read_evaluation"]

Count = Annotated[int, Field(ge=0, le=2**53)]


@dataclass(frozen=True)
class _Errors:
    __pydantic_config__: ClassVar = STRICT

    records: Count
    root_mean_square_error: Annotated[float, Field(ge=0)]


@dataclass(frozen=True)
class _Confusion:
    __pydantic_config__: ClassVar = STRICT

    records: Count
    labels: list[str]
    confusion: list[list[Count]]
    accuracy: Annotated[float, Field(ge=0, le=1)]


def evaluation(head: "LinearHead", rows: Any, labels: np.ndarray) -> dict[str, Any]:
    """Evaluate a model, as a document for the report; rows are encoded."""
    predictions = head.predict(rows)
    if head.classes is None:
        error = float(np.sqrt(np.mean((predictions - labels) ** 2)))
        return {"records": len(labels), "root_mean_square_error": error}
    matrix = np.zeros((len(head.classes), len(head.classes)), dtype=int)
    np.add.at(matrix, tuple(np.searchsorted(head.classes, y) for y in (labels, predictions)), 1)
    return {
        "records": len(labels),
        "labels": [str(name) for name in head.classes],
        "confusion": matrix.tolist(),
        "accuracy": float(np.trace(matrix) / max(1, matrix.sum())),
    }


def read_evaluation(document: str) -> dict[str, Any]:
    """Read an evaluation from the ledger.

    Raises:
        InvalidInput: it is not as it was written.
    """
    known = read_setting(_Errors | _Confusion, "evaluation", document)
    if isinstance(known, _Confusion):
        size = len(known.labels)
        if [len(row) for row in known.confusion] != [size] * size:
            raise damaged("evaluation", f"confusion: not a square of {size} labels")
    return asdict(known)
