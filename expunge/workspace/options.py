"""How a workspace learns: what `fit` was told, kept in the ledger."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from expunge.errors import InvalidInput
from expunge.workspace.stored_settings import STRICT, read_setting

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
        publish_names: Certificates state the name of their request, which is otherwise for the
            ledger alone.
    """

    __pydantic_config__: ClassVar = STRICT

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
    publish_names: bool = False

    @classmethod
    def of(cls, document: str) -> "Options":
        """Read the options from the ledger.

        Raises:
            InvalidInput: they are not as `fit` wrote them; the field is named.
        """
        return read_setting(cls, "options", document)


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
