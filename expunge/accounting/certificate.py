"""The certificate: a claim, everything it rests on, and the means to check it (schema 2).

`issue.issue` makes it and `verification.differences` recomputes it: its numbers are a pure function
of its own assumptions, history and stated facts. Fingerprints of every field let a reader say which
one was altered; they protect against accidents, signatures (which come with the deletion desk)
against malice. `canonical()` is what is hashed (RFC 8785), `readable()` what people open.
"""

import html
import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from expunge.accounting.assumptions import Assumptions, Mark, Regime
from expunge.accounting.bounds import BOUNDS
from expunge.accounting.bounds.foreign import NAME
from expunge.accounting.canonical import canonical, sha256
from expunge.accounting.document import AccountRequest, PhaseDocument, validate
from expunge.accounting.history import History
from expunge.accounting.json_text import parse_json
from expunge.accounting.proofs import ProofLevel
from expunge.accounting.reservations import Reservation
from expunge.accounting.stated import FrozenRecord, Stated
from expunge.errors import InvalidInput

__all__ = [
    "SCHEMA_VERSION",
    "Certificate",
    "Claim",
    "Constant",
    "ConstantRecord",
    "HistoryRecord",
    "json_schema",
    "orders_of",
    "parse_certificate",
    "records_of",
]

SCHEMA_VERSION = "2"


CLOSED = Field(json_schema_extra={"additionalProperties": False})
Constant = Annotated[str, Field(pattern=f"^({'|'.join(Assumptions.constants())})$")]
Order = Annotated[str, Field(pattern=r"^[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?$")]


class Claim(FrozenRecord):
    """(epsilon, delta)-indistinguishability from the comparator, in both directions."""

    epsilon: float = Field(ge=0)
    delta: float = Field(gt=0, lt=1)
    bound: str = Field(
        pattern=f"^({'|'.join(BOUNDS)}|{NAME})$",
        description="The theorem; package:name where it is another package's.",
    )
    mu: float | None = Field(default=None, ge=0)
    renyi: Annotated[dict[Order, float], CLOSED] | None = None
    vacuous: bool
    statement: list[str] = Field(description="The claim in plain language; reservations first.")


class ConstantRecord(FrozenRecord):
    """A constant of the loss or the initial law, and how it is known."""

    value: float | None
    mark: Mark


class HistoryRecord(FrozenRecord):
    """The phases that the model went through."""

    normaliser: Literal["mean", "fixed"]
    normaliser_count: int | None
    phases: list[PhaseDocument] = Field(min_length=1)


class Certificate(Stated):
    """A claim about one model, with what it rests on."""

    schema_version: Literal["2"] = SCHEMA_VERSION
    claim: Claim
    proof: ProofLevel = Field(
        description="Whether the issuer's checker proved the claim from the witness, or the "
        "accountant's allowance for rounding stands for it."
    )
    reservations: list[Reservation] = Field(description="What limits the claim.")
    observer: Literal["final", "all"]
    regime: Regime
    assumptions: Annotated[dict[Constant, ConstantRecord], CLOSED]
    history: HistoryRecord
    scope: list[str]
    not_claimed: list[str]
    fingerprints: dict[str, str] = Field(description="One for every other field.")

    @property
    def epsilon(self) -> float:
        """The claim's epsilon."""
        return self.claim.epsilon

    @property
    def delta(self) -> float:
        """The claim's delta."""
        return self.claim.delta

    def canonical(self) -> str:
        """The text that is hashed, and that every language reproduces: RFC 8785."""
        return canonical(self.model_dump(mode="json"))

    @staticmethod
    def write(value: object) -> str:
        """The text of a value that its fingerprint is taken of."""
        return canonical(value)

    @property
    def sha256(self) -> str:
        """The hash of the canonical form, by which the next certificate names this one."""
        return sha256(self.model_dump(mode="json"))

    def readable(self) -> str:
        """The same document as people open it: the claim first, fingerprints last."""
        document = parse_certificate(self.canonical()).model_dump(mode="json")
        first = ("schema_version", "claim", "proof", "reservations", "issued")
        last = ("witness", "fingerprints")
        middle = [name for name in document if name not in (*first, *last)]
        ordered = {name: document[name] for name in (*first, *middle, *last)}
        return json.dumps(ordered, indent=2, ensure_ascii=False, allow_nan=False)

    def body(self) -> dict[str, Any]:
        """Everything that a fingerprint covers."""
        return self.model_dump(mode="json", exclude={"fingerprints"})

    def records_of_history(self) -> tuple[Assumptions, History]:
        """Assumptions and history as the accountant reads them.

        Raises:
            InvalidInput: they make no sense.
        """
        return records_of(self.assumptions, self.history, self.delta)

    @property
    def orders(self) -> list[float]:
        """The Rényi orders that the claim has figures for."""
        return orders_of(self.claim)

    def __str__(self) -> str:
        lines = [f"Certificate of {self.issued}, strategy {self.strategy}"]
        lines += [f"  {line}" for line in self.claim.statement]
        lines.append(f"  compared with: {self.comparator}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        items = "".join(f"<li>{html.escape(line)}</li>" for line in self.claim.statement)
        return (
            f"<div><strong>Certificate</strong> of {html.escape(str(self.issued))}, "
            f"strategy {html.escape(self.strategy)}<ul>{items}</ul>"
            f"<small>compared with: {html.escape(str(self.comparator))}</small></div>"
        )


def json_schema() -> str:
    """The JSON Schema of this version, as it lies in certificate.schema.json."""
    dialect = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return json.dumps(dialect | Certificate.model_json_schema(), indent=2, sort_keys=True) + "\n"


def parse_certificate(text: str) -> Certificate:
    """Read a certificate of this schema version; `verification` reads earlier ones too.

    Raises:
        InvalidInput: the text is not such a certificate.
    """
    return validate(Certificate, parse_json(text))


def records_of(
    assumptions: Mapping[str, ConstantRecord], history: HistoryRecord, delta: float
) -> tuple[Assumptions, History]:
    """A certificate's assumptions and history as the accountant reads them.

    Raises:
        InvalidInput: they make no sense.
    """
    document = {
        "assumptions": {name: known.model_dump() for name, known in assumptions.items()},
        "phases": [phase.model_dump() for phase in history.phases],
        "normaliser": history.normaliser,
        "normaliser_count": history.normaliser_count,
        "delta": delta,
    }
    return validate(AccountRequest, document).records()


def orders_of(claim: Claim) -> list[float]:
    """The Rényi orders that a claim has figures for.

    Raises:
        InvalidInput: a key that is no number.
    """
    try:
        return [float(order) for order in claim.renyi or {}]
    except ValueError as error:
        raise InvalidInput("claim.renyi", "its keys must be orders, that is, numbers") from error
