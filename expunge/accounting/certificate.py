"""The certificate: a claim, everything it rests on, and the means to check it.

Its numbers are a pure function of its own assumptions and history, so anyone can recompute
them (`differences`). Fingerprints of every field let a reader say which one was altered;
they protect against accidents, signatures (which come with the deletion desk) against malice.

Canonical form: UTF-8 JSON, keys sorted, no spaces, floats in their shortest exact decimal form.
"""

import hashlib
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from expunge.accounting.account import Account, account
from expunge.accounting.assumptions import Assumptions, Mark, Regime
from expunge.accounting.document import AccountRequest, PhaseDocument, parse_json, validated
from expunge.accounting.history import History, Phase
from expunge.accounting.refusal import InvalidInput, Refused

__all__ = [
    "Certificate",
    "Difference",
    "differences",
    "file_differences",
    "issue",
    "json_schema",
    "parse_certificate",
    "rounded_up",
]

SCHEMA_VERSION = "1"

NOT_CLAIMED = (
    "that the records' subjects are anonymous, or that other records do not describe them",
    "anything about logs, backups, caches, embeddings, or models released before",
    "anything about choices made by looking at private records outside the stated history",
    "that the stated assumptions hold, where their mark is assumed",
)

Digest = str


class _Frozen(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Claim(_Frozen):
    """(epsilon, delta)-indistinguishability from the comparator, in both directions."""

    epsilon: float = Field(ge=0)
    delta: float = Field(gt=0, lt=1)
    bound: Literal["shift", "log_sobolev", "log_sobolev_paper", "iteration", "contraction"]
    mu: float | None = Field(default=None, ge=0)
    renyi: dict[str, float] | None = None
    vacuous: bool
    statement: list[str] = Field(description="The claim in plain language; reservations first.")


class ConstantRecord(_Frozen):
    value: float | None
    mark: Mark


class HistoryRecord(_Frozen):
    normaliser: Literal["mean", "fixed"]
    normaliser_count: int | None
    phases: list[PhaseDocument] = Field(min_length=1)


class Certificate(_Frozen):
    """A claim about one model, with what it rests on."""

    schema_version: Literal["1"] = SCHEMA_VERSION
    claim: Claim
    strategy: str
    observer: Literal["final", "all"]
    earlier_releases: Literal["none known", "covered", "not covered"]
    comparator: str
    regime: Regime
    assumptions: dict[str, ConstantRecord]
    history: HistoryRecord
    forgotten: int = Field(ge=0, description="Records that this model no longer rests on.")
    scope: list[str]
    declared: list[str] = Field(description="What the issuer says that the history cannot.")
    not_claimed: list[str]
    requests: list[str] = Field(description="Ids of the requests that this model honours.")
    model_sha256: str | None = Field(description="SHA-256 of the file of a model with noise.")
    commitments: dict[str, str] = Field(description="Salted hashes; a noise-free model's file.")
    fingerprints: dict[str, Digest] = Field(description="One for every other field.")

    def canonical(self) -> str:
        return canonical(self.model_dump(mode="json"))

    def records(self) -> tuple[Assumptions, History]:
        """Raises: InvalidInput: the stated history makes no sense."""
        request = AccountRequest.model_validate(
            {
                "assumptions": {n: c.model_dump() for n, c in self.assumptions.items()},
                "phases": [phase.model_dump() for phase in self.history.phases],
                "normaliser": self.history.normaliser,
                "normaliser_count": self.history.normaliser_count,
                "delta": self.claim.delta,
            }
        )
        return request.records()

    def recompute(self) -> "Certificate":
        """The certificate that this one's own history supports.

        Raises:
            InvalidInput, Refused: it supports none.
        """
        assumptions, history = self.records()
        return issue(
            assumptions,
            history,
            delta=self.claim.delta,
            orders=self.orders,
            strategy=self.strategy,
            requests=self.requests,
            model_sha256=self.model_sha256,
            commitments=self.commitments,
            uncovered_releases=self.earlier_releases == "not covered",
            forgotten=self.forgotten,
            declared=self.declared,
            comparator=None if self.strategy == "langevin" else self.comparator,
        )

    @property
    def orders(self) -> list[float]:
        return [float(order) for order in self.claim.renyi or {}]


class Difference(NamedTuple):
    """A field that is not what it should be."""

    field: str
    problem: str


def issue(
    assumptions: Assumptions,
    history: History,
    *,
    delta: float,
    orders: Sequence[float] = (2.0, 8.0),
    strategy: str = "langevin",
    requests: Sequence[str] = (),
    model_sha256: str | None = None,
    commitments: dict[str, str] | None = None,
    uncovered_releases: bool = False,
    forgotten: int | None = None,
    declared: Sequence[str] = (),
    comparator: str | None = None,
) -> Certificate:
    """A certificate of the best bound.

    Args:
        uncovered_releases: A model trained on the forgotten records left the house earlier
            and the history does not mark it as released.
        forgotten: How many records; the most in any phase by default.
        declared: Lines about the run that the history cannot say.
        comparator: What the model is compared with, where the history does not say it.

    Raises:
        Refused: no bound certifies this history.
    """
    judged = account(assumptions, history, delta=delta, orders=orders)
    if judged.best is None or judged.epsilon is None:
        raise Refused(judged.best_reason)
    figures = judged.bounds[judged.best]
    if forgotten is None:
        forgotten = max(phase.forgotten for phase in history.phases)
    releases = "covered" if history.released_early else "none known"
    body: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "claim": {
            "epsilon": judged.epsilon,
            "delta": delta,
            "bound": judged.best,
            "mu": figures.mu,
            "renyi": figures.renyi,
            "vacuous": judged.vacuous,
            "statement": _statement(judged, forgotten, delta, uncovered_releases, declared),
        },
        "strategy": strategy,
        "observer": judged.observer,
        "earlier_releases": "not covered" if uncovered_releases else releases,
        "comparator": judged.comparator if comparator is None else comparator,
        "regime": judged.regime,
        "assumptions": judged.assumptions,
        "history": {
            "normaliser": history.normaliser,
            "normaliser_count": history.normaliser_count,
            "phases": [_phase(phase) for phase in history.phases],
        },
        "forgotten": forgotten,
        "scope": [*judged.scope, *declared],
        "declared": list(declared),
        "not_claimed": list(NOT_CLAIMED),
        "requests": list(requests),
        "model_sha256": model_sha256,
        "commitments": commitments or {},
    }
    body = json.loads(json.dumps(body, allow_nan=False))
    unsealed = validated(Certificate, body | {"fingerprints": {}})
    return unsealed.model_copy(update={"fingerprints": _fingerprints(unsealed)})


def json_schema() -> str:
    """The JSON Schema of this version, as it lies in certificate.schema.json."""
    dialect = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return json.dumps(dialect | Certificate.model_json_schema(), indent=2, sort_keys=True) + "\n"


def parse_certificate(text: str) -> Certificate:
    """Raises: InvalidInput: not a certificate of this schema version."""
    return validated(Certificate, parse_json(text))


def differences(certificate: Certificate) -> list[Difference]:
    """Every altered field, and every number that its own history does not support."""
    found = dict(_altered(certificate))
    try:
        again = certificate.recompute()
    except (InvalidInput, Refused) as error:
        found.setdefault("history", f"supports no certificate: {error}")
        return [Difference(*item) for item in found.items()]
    stated, supported = dict(_leaves(_body(certificate))), dict(_leaves(_body(again)))
    for field in [*stated, *(path for path in supported if path not in stated)]:
        if not _agree(stated.get(field), supported.get(field)):
            found[field] = (
                f"states {canonical(stated.get(field))}, "
                f"its history supports {canonical(supported.get(field))}"
            )
    return [Difference(*item) for item in found.items()]


def file_differences(certificate: Certificate, sha256: str) -> list[Difference]:
    """None if the model's file has this hash; a commitment is the hash of a file with a salt."""
    committed = certificate.commitments.get("model")
    stated = certificate.model_sha256 or committed
    field = "commitments" if stated is not None and stated == committed else "model_sha256"
    if stated == sha256:
        return []
    missing = "is missing: the certificate names no model's file"
    return [Difference(field, missing if stated is None else "is that of another model's file")]


def canonical(document: object) -> str:
    return json.dumps(
        document, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )


def _altered(certificate: Certificate) -> Iterator[Difference]:
    stated, actual = certificate.fingerprints, _fingerprints(certificate)
    for field in [*actual, *(field for field in stated if field not in actual)]:
        if field not in stated:
            yield Difference(field, "added after the certificate was issued")
        elif field not in actual:
            yield Difference(field, "removed after the certificate was issued")
        elif stated[field] != actual[field]:
            yield Difference(field, "altered after the certificate was issued")


def _fingerprints(certificate: Certificate) -> dict[str, Digest]:
    return {
        field: hashlib.sha256(f"{field}={canonical(value)}".encode()).hexdigest()[:16]
        for field, value in _leaves(_body(certificate))
    }


def _body(certificate: Certificate) -> dict[str, Any]:
    return certificate.model_dump(mode="json", exclude={"fingerprints"})


def _leaves(value: object, path: str = "") -> Iterator[tuple[str, object]]:
    """Every number and text with its path; long lists of numbers are one leaf."""
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _leaves(inner, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list) and any(isinstance(inner, dict) for inner in value):
        for i, inner in enumerate(value):
            yield from _leaves(inner, f"{path}[{i}]")
    else:
        yield path, value


def _agree(stated: object, supported: object) -> bool:
    """Equal, or numbers that differ by no more than another machine's last digits."""
    if isinstance(stated, float) and isinstance(supported, float):
        return math.isclose(stated, supported, rel_tol=1e-12, abs_tol=1e-300)
    return stated == supported


def _phase(phase: Phase) -> dict[str, Any]:
    record = asdict(phase)
    if isinstance(phase.batch_size, tuple):
        record["batch_size"] = list(phase.batch_size)
    return record


def _statement(
    judged: Account, forgotten: int, delta: float, uncovered: bool, declared: Sequence[str]
) -> list[str]:
    """Reservations first: replayable noise, assumed constants, vacuity, uncovered releases."""
    lines = [f"{line}." for line in declared if line.startswith("EXPERIMENT ONLY")]
    assumed = [line for line in judged.scope if line.startswith("rests on")]
    if assumed:
        lines.append(f"This certificate {assumed[0]}.")
    if judged.vacuous:
        lines.append("VACUOUS: epsilon is above 20, or delta above one over the records.")
    if uncovered:
        lines.append("EARLIER RELEASES NOT COVERED.")
    lines += [f"C{line[1:]}." for line in declared if line.startswith("conditional on")]
    plural = " was" if forgotten == 1 else "s were"
    sees = "the final model" if judged.observer == "final" else "all models marked as released"
    lines.append(
        f"Whoever sees {sees} cannot tell, beyond epsilon = {rounded_up(judged.epsilon or 0.0)} "
        f"at delta = {delta:g}, whether {forgotten:,} record{plural} forgotten or never used."
    )
    return lines


def rounded_up(value: float) -> str:
    """Three significant digits, never below the value."""
    if value == 0:
        return "0"
    unit = 10.0 ** (math.floor(math.log10(value)) - 2)
    text = f"{math.ceil(value / unit) * unit:.3g}"
    return text if float(text) >= value else f"{(math.ceil(value / unit) + 1) * unit:.3g}"
