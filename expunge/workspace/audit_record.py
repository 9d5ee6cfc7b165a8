"""The last audit of a workspace as a file: what the report reads of it, checked before it is drawn.

Whoever can write into a workspace can write this file, so it is read like a stranger's.
"""

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from expunge.accounting.document import validate
from expunge.core.sealed_json import read_sealed_json
from expunge.errors import InvalidInput
from expunge.ledger import Model

__all__ = ["AUDIT", "GENERATION", "AuditRecord", "read_audit"]

AUDIT = "audit.json"  # of a workspace: evidence about its model, for the report
GENERATION = "generation"  # whose audit it is: the seal of the saved model
Figure = Annotated[float, Field(ge=0, le=1e9)]
Signed = Annotated[float, Field(ge=-1e9, le=1e9)]
Share = Annotated[float, Field(gt=0, lt=1)]
Count = Annotated[int, Field(ge=1, le=2**53)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, allow_inf_nan=False, strict=True)


class _LowerBound(_Part):
    value: Figure
    level: Share


class _Decision(_Part):
    epsilon: Figure
    level: Share


class _Estimate(_Part):
    value: Signed
    interval: list[Signed] = Field(min_length=2, max_length=2)


class _Certified(_Part):
    epsilon: Figure


class _NullControl(_Part):
    quiet: bool


class _PositiveControl(_Part):
    fault: str
    epsilon: Figure
    caught: bool


class AuditRecord(_Part):
    """What the report shows of an audit; `audit.sandwich` makes it."""

    model: Count
    strategy: str
    models: Count
    delta: Share
    lower_bound: _LowerBound
    decision: _Decision
    estimate: _Estimate
    certified: _Certified
    verdict: str
    exit_status: Literal[0, 1]
    null_control: _NullControl
    positive_control: _PositiveControl
    canaries_reach: Figure
    models_to_catch_noise_over_10: Count | None


def read_audit(path: Path, model: Model) -> dict[str, Any] | None:
    """Read the audit in this file, if it was of this model and by the rules of `audit.verdict`.

    Raises:
        Altered: it is not as it was written.
        InvalidInput: the file is not an audit; it is named.
    """
    try:
        document = read_sealed_json(path, "run expunge audit again")
    except FileNotFoundError:
        return None
    if document.get(GENERATION) != model.seal or "decision" not in document:
        return None
    try:
        return validate(AuditRecord, document).model_dump()
    except InvalidInput as error:
        raise InvalidInput(str(path), f"not an audit ({error}); run expunge audit again") from error
