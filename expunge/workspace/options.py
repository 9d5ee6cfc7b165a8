"""How a workspace learns: what `fit` was told; kept in the ledger."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from expunge.errors import InvalidInput
from expunge.workspace.stored_settings import STRICT, read_setting

__all__ = ["Options", "number_or_public"]


@dataclass(frozen=True)
class Options:
    """How a workspace learns.

    Args:
        id, label: Names of columns. The public table need not have ids.
        epsilon, delta: Of every certificate; delta None takes 1e-5 or 1/(10 n), whichever is less.
        strategy, observer, l2, released, adaptive_requests, capacity: As for `CertifiedClassifier`.
        row_norm: B; None takes it from the public records, or 2 without any.
        classes: All labels; None takes those of the public records.
        drop: Columns to leave out.
        task: Labels are classes, or numbers.
        target_norm: Y of a regression; None takes the largest of the public records.
        features: What becomes of the columns first (`feature_maps`).
        text, text_width: Columns whose words count, and how many numbers each becomes.
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
    l2: float | Literal["public"] = 1e-3
    row_norm: float | Literal["public"] | None = None
    classes: tuple[str, ...] | None = None
    drop: tuple[str, ...] = ()
    task: Literal["classification", "regression"] = "classification"
    target_norm: float | None = None
    released: bool = True
    adaptive_requests: bool = False
    publish_names: bool = False
    capacity: float | None = None
    features: str = "linear"
    text: tuple[str, ...] = ()
    text_width: int = 2**16

    @classmethod
    def of(cls, document: str) -> "Options":
        """Read the options from the ledger.

        Raises:
            InvalidInput: they are not as `fit` wrote them; the field is named.
        """
        return read_setting(cls, "options", document)


def number_or_public(name: str, text: str) -> float | Literal["public"]:
    """A number, or the word public.

    Raises:
        InvalidInput: anything else.
    """
    if text == "public":
        return "public"
    try:
        return float(text)
    except ValueError as error:
        raise InvalidInput(name, f"{text!r} is neither a number nor public") from error
