"""How a workspace learns: what `fit` was told, kept in the ledger."""

import json
from dataclasses import dataclass
from typing import Literal

from expunge.errors import InvalidInput

__all__ = ["Options", "row_norm_of"]


@dataclass(frozen=True)
class Options:
    """How a workspace learns.

    Args:
        id, label: Names of columns. The public table need not have ids.
        epsilon, delta: Of every certificate; delta None takes 1e-5 or 1/(10 n), whichever is less.
        strategy, observer, l2, released, adaptive_requests: As for `CertifiedClassifier`.
        row_norm: B; None takes it from the public records, or 2 without any.
        classes: All labels; None takes those of the public records.
        drop: Columns to leave out.
        task: Labels are classes, or numbers.
        target_norm: Y of a regression; None takes the largest of the public records.
    """

    id: str
    label: str
    epsilon: float = 1.0
    delta: float | None = None
    strategy: str = "auto"
    observer: Literal["final", "all"] = "final"
    l2: float = 1e-3
    row_norm: float | Literal["public"] | None = None
    classes: tuple[str, ...] | None = None
    drop: tuple[str, ...] = ()
    task: Literal["classification", "regression"] = "classification"
    target_norm: float | None = None
    released: bool = True
    adaptive_requests: bool = False

    @classmethod
    def of(cls, document: str) -> "Options":
        """Read the options from the ledger."""
        stored = json.loads(document)
        classes = stored["classes"]
        return cls(
            **stored
            | {
                "drop": tuple(stored["drop"]),
                "classes": None if classes is None else tuple(classes),
            }
        )


def row_norm_of(text: str | None) -> float | Literal["public"] | None:
    """A number, the word public, or nothing.

    Raises:
        InvalidInput: anything else.
    """
    if text is None or text == "public":
        return text
    try:
        return float(text)
    except ValueError as error:
        raise InvalidInput("row_norm", f"{text!r} is neither a number nor public") from error
