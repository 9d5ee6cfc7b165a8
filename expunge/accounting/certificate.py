"""The certificate: a claim, everything it rests on, and the means to check it (schema 2).

Its numbers are a pure function of its own assumptions, history and stated facts, so anyone can
recompute them (`verification.differences`). Fingerprints of every field let a reader say which one
was altered; they protect against accidents, signatures (which come with the deletion desk) against
malice. `canonical()` is what is hashed (RFC 8785), `readable()` what people open.
"""

import html
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, date, datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from expunge.accounting.account import Account, account, order_key
from expunge.accounting.assumptions import Assumptions, Mark, Regime
from expunge.accounting.bounds import GDP
from expunge.accounting.canonical import canonical, fingerprints, sha256
from expunge.accounting.conversions import gdp_for_epsilon
from expunge.accounting.document import AccountRequest, PhaseDocument, parse_json, validated
from expunge.accounting.history import History, Phase
from expunge.accounting.kinds import KINDS, check_capacity, check_retained, forgotten_in
from expunge.accounting.reservations import (
    EarlierReleases,
    Provenance,
    Reservation,
    reservations_of,
    sentence,
)
from expunge.errors import InvalidInput, Refused

__all__ = [
    "Certificate",
    "Provenance",
    "Retained",
    "Stated",
    "claim_in_words",
    "issue",
    "json_schema",
    "orders_of",
    "parse_certificate",
    "records_of",
    "rounded_up",
]

SCHEMA_VERSION = "2"
SHA256 = r"^[0-9a-f]{64}$"
MOMENT = "%Y-%m-%dT%H:%M:%SZ"

NOT_CLAIMED = (
    "that the records' subjects are anonymous, or that other records do not describe them",
    "anything about logs, backups, caches, embeddings, or models released before",
    "anything about choices made by looking at private records outside the stated history",
    "that the stated assumptions hold, where their mark is assumed",
)


def _moment(text: str) -> str:
    datetime.strptime(text, MOMENT)
    return text


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
    """A constant of the loss or the initial law, and how it is known."""

    value: float | None
    mark: Mark


class HistoryRecord(_Frozen):
    """The phases that the model went through."""

    normaliser: Literal["mean", "fixed"]
    normaliser_count: int | None
    phases: list[PhaseDocument] = Field(min_length=1)


class Retained(_Frozen):
    """Secret state that outlives the request."""

    what: str
    erased_by: date | None = Field(default=None, description="At the latest; UTC.")


class Stated(_Frozen):
    """What the issuer states beside assumptions and history; the rest follows from it."""

    strategy: str = "langevin"
    earlier_releases: EarlierReleases | None = Field(
        default=None,
        description="Whether models trained on the forgotten records were handed out before, and "
        "whether the history counts them.",
    )
    comparator: str | None = Field(
        default=None, description="Of a strategy that this package does not know."
    )
    records: int | None = Field(
        default=None, ge=1, description="That the first model was trained on, public ones included."
    )
    forgotten: int | None = Field(
        default=None, ge=0, description="Records that this model no longer rests on."
    )
    capacity: int | None = Field(
        default=None,
        ge=1,
        description="Records that may be forgotten in all, counted at every model handed out: "
        "requests may then depend on released models.",
    )
    budget: float | None = Field(
        default=None,
        gt=0,
        description="With a capacity: the epsilon fixed at fit. It is what is claimed, because "
        "whoever chooses requests by models may also choose when to stop.",
    )
    subjects: int | None = Field(
        default=None, ge=0, description="Persons, where requests name any."
    )
    provenance: Provenance = Provenance()
    retained: list[Retained] = []
    declared: list[str] = Field(
        default=[], description="What the issuer says that the history cannot."
    )
    requests: list[str] = Field(
        default=[], description="Names of the requests that this model honours."
    )
    model_sha256: str | None = Field(
        default=None, pattern=SHA256, description="SHA-256 of the file of a model with noise."
    )
    commitments: dict[str, Annotated[str, Field(pattern=SHA256)]] = Field(
        default={}, description="Salted hashes; a noise-free model's file is `model`."
    )
    workspace: str | None = Field(
        default=None, pattern=r"^[0-9a-f]{32}$", description="A random name of the first fit."
    )
    generation: int = Field(default=0, ge=0, description="Models since the first fit.")
    sequence: int = Field(default=1, ge=1, description="Certificates since then, this one too.")
    previous: str | None = Field(
        default=None,
        pattern=SHA256,
        description="SHA-256 of the certificate before this one, canonical form.",
    )
    witness: dict[str, Any] | None = Field(default=None, description="A proof of the bound.")
    issued: Annotated[str, AfterValidator(_moment)] | None = Field(
        default=None, pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$", description="When, in UTC."
    )


class Certificate(Stated):
    """A claim about one model, with what it rests on."""

    schema_version: Literal["2"] = SCHEMA_VERSION
    claim: Claim
    reservations: list[Reservation] = Field(description="What limits the claim.")
    observer: Literal["final", "all"]
    regime: Regime
    assumptions: dict[str, ConstantRecord]
    history: HistoryRecord
    scope: list[str]
    not_claimed: list[str]
    fingerprints: dict[str, str] = Field(description="One for every other field.")

    @property
    def epsilon(self) -> float:
        return self.claim.epsilon

    @property
    def delta(self) -> float:
        return self.claim.delta

    def canonical(self) -> str:
        """What is hashed, and what every language reproduces: RFC 8785."""
        return canonical(self.model_dump(mode="json"))

    @staticmethod
    def write(value: object) -> str:
        """What fingerprints are taken of."""
        return canonical(value)

    @property
    def sha256(self) -> str:
        """The hash of the canonical form, by which the next certificate names this one."""
        return sha256(self.model_dump(mode="json"))

    def readable(self) -> str:
        """The same document as people open it: the claim first, fingerprints last."""
        document = parse_certificate(self.canonical()).model_dump(mode="json")
        first = ("schema_version", "claim", "reservations", "issued")
        last = ("fingerprints",)
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

    def recompute(self) -> "Certificate":
        """The certificate that this one's own history and stated facts support.

        Raises:
            InvalidInput, Refused: they support none.
        """
        assumptions, history = self.records_of_history()
        stated = Stated.model_validate({name: getattr(self, name) for name in Stated.model_fields})
        return issue(assumptions, history, delta=self.delta, orders=self.orders, stated=stated)

    def supported(self) -> dict[str, Any]:
        """The body that this certificate's own history and stated facts support.

        Raises:
            InvalidInput, Refused: they support none.
        """
        return self.recompute().body()

    @property
    def orders(self) -> list[float]:
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


def issue(
    assumptions: Assumptions,
    history: History,
    *,
    delta: float,
    orders: Sequence[float] = (2.0, 8.0),
    stated: Stated | None = None,
) -> Certificate:
    """A certificate of the best bound.

    Raises:
        Refused: no bound certifies this history.
        InvalidInput: the stated facts contradict the history.
    """
    judged = account(assumptions, history, delta=delta, orders=orders)
    if judged.best is None or judged.epsilon is None:
        raise Refused(judged.best_reason)
    stated = _completed(stated or Stated(), assumptions, history)
    figures = judged.bounds[judged.best]
    assert stated.earlier_releases is not None
    reservations = reservations_of(
        judged,
        history,
        earlier_releases=stated.earlier_releases,
        provenance=stated.provenance,
        covers_adaptive_requests=stated.capacity is not None,
        known_strategy=stated.strategy in KINDS,
    )
    body: dict[str, Any] = stated.model_dump(mode="json") | {
        "schema_version": SCHEMA_VERSION,
        "claim": {
            "epsilon": judged.epsilon,
            "delta": delta,
            "bound": judged.best,
            "mu": figures.mu,
            "renyi": figures.renyi,
            "vacuous": judged.vacuous,
            "statement": [
                *(sentence(reservation, judged) for reservation in reservations),
                claim_in_words(judged, stated.forgotten or 0, delta, stated.budget),
            ],
        }
        | _budgeted(stated.budget, judged, delta, orders),
        "reservations": reservations,
        "observer": judged.observer,
        "comparator": stated.comparator or judged.comparator,
        "regime": judged.regime,
        "assumptions": judged.assumptions,
        "history": {
            "normaliser": history.normaliser,
            "normaliser_count": history.normaliser_count,
            "phases": [_phase(phase) for phase in history.phases],
        },
        "scope": [*judged.scope, *stated.declared],
        "not_claimed": list(NOT_CLAIMED),
    }
    body = json.loads(json.dumps(body, allow_nan=False))
    unsealed = validated(Certificate, body | {"fingerprints": {}})
    return unsealed.model_copy(update={"fingerprints": fingerprints(unsealed.body())})


def json_schema() -> str:
    """The JSON Schema of this version, as it lies in certificate.schema.json."""
    dialect = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return json.dumps(dialect | Certificate.model_json_schema(), indent=2, sort_keys=True) + "\n"


def parse_certificate(text: str) -> Certificate:
    """A certificate of this schema version; `verification` reads earlier ones too.

    Raises:
        InvalidInput: it is none.
    """
    return validated(Certificate, parse_json(text))


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
    return validated(AccountRequest, document).records()


def orders_of(claim: Claim) -> list[float]:
    """The Rényi orders that a claim has figures for.

    Raises:
        InvalidInput: a key that is no number.
    """
    try:
        return [float(order) for order in claim.renyi or {}]
    except ValueError as error:
        raise InvalidInput("claim.renyi", "its keys must be orders, that is, numbers") from error


def now() -> str:
    """This second, in UTC."""
    return datetime.now(UTC).strftime(MOMENT)


def _completed(stated: Stated, assumptions: Assumptions, history: History) -> Stated:
    """The facts with their defaults filled in, held against the history.

    Raises:
        InvalidInput: they contradict it, or each other.
    """
    _check_chain(stated)
    known: EarlierReleases = "covered" if history.released_early else "none known"
    releases = stated.earlier_releases or known
    if releases not in ("not covered", known):
        raise InvalidInput("earlier_releases", f"{releases!r}, but by the history {known!r}")
    if releases == "none known" and stated.sequence > 1:
        raise InvalidInput("earlier_releases", "none known, but an earlier one was certified")
    filled: dict[str, Any] = {"issued": stated.issued or now(), "earlier_releases": releases}
    kind = KINDS.get(stated.strategy)
    if kind is None:
        if stated.comparator is None or stated.forgotten is None:
            raise InvalidInput("strategy", f"{stated.strategy!r} is unknown: state its comparator")
        return stated.model_copy(update=filled)
    if not kind.holds(assumptions, history):
        raise InvalidInput("strategy", f"{stated.strategy!r} leaves another kind of history")
    if kind.noise_free and stated.model_sha256 is not None:
        raise InvalidInput("model_sha256", "of a model without noise: it needs a commitment")
    if stated.workspace is not None:
        check_retained(history)
        _check_fit(stated)
    records = history.phases[0].samples if kind.learns else stated.records
    if records is None:
        raise InvalidInput("records", f"must be stated for {stated.strategy}: its history has none")
    if stated.records not in (None, records):
        raise InvalidInput("records", f"is {stated.records}, but the history begins with {records}")
    counted = forgotten_in(kind, history, records)
    if (stated.capacity is None) != (stated.budget is None):
        raise InvalidInput("capacity", "goes with the budget fixed at fit")
    if stated.capacity is not None:
        check_capacity(history, capacity=stated.capacity, records=records)
        counted = records - history.phases[-1].samples
    if stated.forgotten not in (None, counted):
        raise InvalidInput(
            "forgotten", f"is {stated.forgotten}, but the history counts {counted} records"
        )
    if not stated.sequence <= max(1, counted):
        raise InvalidInput("sequence", f"is {stated.sequence}, with {counted} forgotten records")
    if (stated.subjects or 0) > counted:
        raise InvalidInput("subjects", f"{stated.subjects} of {counted} records")
    filled |= {"records": records, "forgotten": counted, "comparator": kind.comparator}
    return stated.model_copy(update=filled)


def _check_chain(stated: Stated) -> None:
    """Refuse facts about the model's file and the certificate's place that contradict each other.

    Raises:
        InvalidInput: naming the fact.
    """
    if stated.model_sha256 is not None and "model" in stated.commitments:
        raise InvalidInput(
            "model_sha256", "is given beside commitments.model; a model has one file"
        )
    if (stated.sequence == 1) != (stated.previous is None):
        raise InvalidInput(
            "previous", "is the digest of the certificate before, from the second on"
        )
    if stated.sequence > 1 and stated.generation < stated.sequence:
        raise InvalidInput("generation", f"{stated.generation} models, {stated.sequence} certified")
    if len(stated.requests) > stated.sequence:
        raise InvalidInput("requests", f"{len(stated.requests)} named by {stated.sequence}")
    if stated.witness is not None:
        raise InvalidInput("witness", "this version has no checker for it")


def _check_fit(stated: Stated) -> None:
    """Refuse a certificate of a fit that leaves out what every fit knows.

    Raises:
        InvalidInput: naming what is missing.
    """
    if stated.model_sha256 is None and "model" not in stated.commitments:
        raise InvalidInput("model_sha256", "is missing: a fit's certificate names its model's file")
    for name in ("noise", "state"):
        if getattr(stated.provenance, name) is None:
            raise InvalidInput(f"provenance.{name}", "is missing: a fit knows where it came from")


def _phase(phase: Phase) -> dict[str, Any]:
    record = asdict(phase)
    if isinstance(phase.batch_size, tuple):
        record["batch_size"] = list(phase.batch_size)
    return record


def _budgeted(
    budget: float | None, judged: Account, delta: float, orders: Sequence[float]
) -> dict[str, Any]:
    """The figures of the budget where there is one: a GDP filter covers that, and no less.

    Raises:
        Refused: the history is beyond it.
    """
    if budget is None:
        return {}
    figures = judged.bounds["shift"]
    if figures.mu is None or figures.epsilon is None or figures.epsilon > budget:
        raise Refused(f"the history is beyond the budget of epsilon {budget:g} fixed at fit")
    whole = GDP(max(figures.mu, gdp_for_epsilon(budget, delta)))
    return {
        "epsilon": budget,
        "bound": "shift",
        "mu": whole.mu,
        "renyi": {order_key(order): whole.renyi(order) for order in orders},
    }


def claim_in_words(
    judged: Account, forgotten: int, delta: float, budget: float | None = None
) -> str:
    """The claim as a sentence, its epsilon rounded up."""
    plural = " was" if forgotten == 1 else "s were"
    epsilon = (judged.epsilon or 0.0) if budget is None else budget
    sees = "the final model" if judged.observer == "final" else "all models marked as released"
    return (
        f"Whoever sees {sees} cannot tell, beyond epsilon = {rounded_up(epsilon)} "
        f"at delta = {delta:g}, whether {forgotten:,} record{plural} forgotten or never used."
    )


def rounded_up(value: float) -> str:
    """Three significant digits, never below the value."""
    if value == 0:
        return "0"
    unit = 10.0 ** (math.floor(math.log10(value)) - 2)
    text = f"{math.ceil(value / unit) * unit:.3g}"
    return text if float(text) >= value else f"{(math.ceil(value / unit) + 1) * unit:.3g}"
