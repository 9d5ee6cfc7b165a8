"""What the issuer of a certificate states beside assumptions and history.

Everything else on a certificate follows from these facts, the assumptions and the history. Where
the history shows a fact as well, the two must agree: `complete` fills in what the history shows
and refuses what contradicts it.
"""

from datetime import date, datetime
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
)

from expunge.accounting.assumptions import Assumptions
from expunge.accounting.history import History
from expunge.accounting.kinds import (
    KINDS,
    Kind,
    arrivals_in,
    check_capacity,
    check_retained,
    forgotten_in,
)
from expunge.accounting.number_checks import MOST_STEPS
from expunge.accounting.reservations import EarlierReleases, Provenance
from expunge.accounting.witness import Witness
from expunge.errors import InvalidInput

__all__ = [
    "COUNTED",
    "JOINED",
    "MOMENT",
    "UNSEEN",
    "BatchPlace",
    "FrozenRecord",
    "Retained",
    "Stated",
    "WitnessDocument",
    "complete",
    "counts_in_words",
]

SHA256 = r"^[0-9a-f]{64}$"
MOMENT = "%Y-%m-%dT%H:%M:%SZ"

COUNTED = (
    "how many records there have been, have joined and are forgotten is the issuer's count, held "
    "to that of the certificates before: the history shows only the records that are left"
)
JOINED = (
    "records have joined since the first fit; the comparator is the same timeline in which the "
    "forgotten ones never joined"
)
DIVIDED = (
    "losses are divided by {}, however many records are left, in retraining too; that number "
    "counts as public"
)
UNSEEN = (
    "that whoever chose the records that joined had not looked at a model that was handed out is "
    "the caller's word"
)


def _moment(text: str) -> str:
    datetime.strptime(text, MOMENT)
    return text


class FrozenRecord(BaseModel):
    """A part of a certificate: no other fields, no changes, finite numbers."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Retained(FrozenRecord):
    """Secret state that outlives the request."""

    what: str
    erased_by: date | None = Field(default=None, description="At the latest; UTC.")


class BatchPlace(FrozenRecord):
    """Requests that one model honours at once, and for which of them a certificate is.

    Certificates of one model say the same; only the request, its place and `previous` differ.
    """

    of: int = Field(ge=2, description="How many requests the model honours at once.")
    place: int | None = Field(
        ge=1, description="Which of them this certificate is for; null: one for all of them."
    )


Whole = Annotated[int, Field(strict=True, ge=0, lt=MOST_STEPS)]


class StretchDocument(FrozenRecord):
    """The witness of the steps between two releases (THEORY 7)."""

    start: Whole | None = Field(
        description="The step after which the distance is the diameter; null: from the beginning."
    )
    lines: list[tuple[Whole, Literal[0, 1]]] = Field(
        description="(steps, line) of a clipped smooth loss: 0 clipped, 1 smooth."
    )
    edges: list[Whole | tuple[Whole, list[Whole]]] = Field(
        description="n steps that end at distance 0; or [k, [n, ...]], such edges k times."
    )


class WitnessDocument(FrozenRecord):
    """What the shift bound is proven from, in whole numbers."""

    stretches: list[StretchDocument]

    def record(self) -> Witness:
        """The witness as the record that the checker reads."""
        return Witness.read(self.model_dump())


class Stated(FrozenRecord):
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
        default=None,
        ge=1,
        description="That were there at any time, public ones included: at the first fit, and all "
        "that have joined since.",
    )
    joined: int | None = Field(
        default=None, ge=0, description="How many of them have joined since the first fit."
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
        default=[],
        description="Names of requests that the issuer publishes; others are known by `sequence`.",
    )
    batch: BatchPlace | None = Field(
        default=None, description="Absent where the model honours one request; never null."
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
    witness: WitnessDocument | None = Field(
        default=None, description="What the shift bound is proven from: where its string touches."
    )
    issued: Annotated[str, AfterValidator(_moment)] | None = Field(
        default=None, pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$", description="When, in UTC."
    )

    @model_serializer(mode="wrap")
    def _without_absent(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """The fields; `batch` only where there is one, as before there were any."""
        document = write(self)
        if document.get("batch", 0) is None:
            del document["batch"]
        return document

    @property
    def certified_before(self) -> int:
        """How many certificates earlier models of this fit have."""
        place = self.batch.place if self.batch is not None else None
        return self.sequence - (place or 1)

    @property
    def honours(self) -> int:
        """How many requests the model honours at once."""
        return 1 if self.batch is None else self.batch.of


def complete(stated: Stated, assumptions: Assumptions, history: History) -> Stated:
    """Fill in what the history shows, and check the stated facts against it.

    Raises:
        InvalidInput: they contradict it, or each other.
    """
    _check_chain(stated)
    filled: dict[str, Any] = {"earlier_releases": _earlier_releases(stated, history)}
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
        _check_fit(stated, kind)
    joined = _joined(stated, kind, history)
    records = _records(stated, kind, history, joined)
    forgotten = _forgotten(stated, kind, history, records, joined)
    if stated.workspace is not None and not kind.learns:
        _check_normaliser(history, records - joined)
    filled |= {"records": records, "joined": joined, "forgotten": forgotten}
    filled["comparator"] = (
        stated.comparator if stated.comparator in kind.formerly else kind.comparator
    )
    return stated.model_copy(update=filled)


def counts_in_words(stated: Stated, history: History) -> list[str]:
    """What the counts of records mean, and whose word they are; of completed facts."""
    lines, kind = [], KINDS.get(stated.strategy)
    if stated.joined:
        lines.append(f"{JOINED}: {stated.joined} of the {stated.records} records")
    if stated.joined and stated.capacity is None:
        lines.append(UNSEEN)
    lines += _batch_in_words(stated)
    if kind is None or kind.learns:
        return lines
    if history.normaliser == "fixed":
        lines.append(DIVIDED.format(history.divisor))
    return [*lines, COUNTED]


def _batch_in_words(stated: Stated) -> list[str]:
    """That the model honours other requests too; the same line on all certificates of a model."""
    if stated.batch is None:
        return []
    words = f"the model honours {stated.batch.of:,} requests at once"
    if stated.batch.place is None:
        return [f"{words}, and this certificate is for all of them"]
    first, last = stated.certified_before + 1, stated.certified_before + stated.batch.of
    return [
        f"{words}, each with a certificate that says the same: {first} to {last} in sequence, none "
        "for another model"
    ]


def _earlier_releases(stated: Stated, history: History) -> EarlierReleases:
    """Whether the history covers models handed out before, unless less is stated."""
    known: EarlierReleases = "covered" if history.released_early else "none known"
    releases = stated.earlier_releases or known
    if releases not in ("not covered", known):
        raise InvalidInput("earlier_releases", f"{releases!r}, but by the history {known!r}")
    if releases == "none known" and stated.certified_before > 0:
        raise InvalidInput("earlier_releases", "none known, but an earlier one was certified")
    return releases


def _joined(stated: Stated, kind: Kind, history: History) -> int:
    """How many records have joined: by the history of a fit, or by the issuer's count."""
    if not kind.learns:
        return stated.joined or 0
    joined = 0 if stated.workspace is None else arrivals_in(history)
    if stated.joined not in (None, joined):
        raise InvalidInput("joined", f"is {stated.joined}, but by the history {joined} joined")
    return joined


def _records(stated: Stated, kind: Kind, history: History, joined: int) -> int:
    """How many records there have been at any time."""
    records = history.phases[0].samples + joined if kind.learns else stated.records
    if records is None:
        raise InvalidInput("records", f"must be stated for {stated.strategy}: its history has none")
    if stated.records not in (None, records):
        raise InvalidInput("records", f"is {stated.records}, but the history has {records}")
    if joined >= records:
        raise InvalidInput("joined", f"{joined} of {records} records, which leaves none at fit")
    return records


def _forgotten(stated: Stated, kind: Kind, history: History, records: int, joined: int) -> int:
    """How many records this model no longer rests on."""
    forgotten = forgotten_in(kind, history, records)
    if (stated.capacity is None) != (stated.budget is None):
        raise InvalidInput("capacity", "goes with the budget fixed at fit")
    if stated.capacity is not None:
        check_capacity(history, capacity=stated.capacity, records=records)
        forgotten = records - history.phases[-1].samples
    if stated.forgotten not in (None, forgotten):
        raise InvalidInput(
            "forgotten", f"is {stated.forgotten}, but the history counts {forgotten} records"
        )
    if not stated.certified_before + stated.honours <= max(1, forgotten) + joined:
        raise InvalidInput(*_too_many(stated, forgotten))
    if stated.workspace is not None and not stated.generation <= max(1, forgotten + joined):
        raise InvalidInput(
            "generation",
            f"{stated.generation} models, with {forgotten} forgotten and {joined} joined records",
        )
    if (stated.subjects or 0) > forgotten:
        raise InvalidInput("subjects", f"{stated.subjects} of {forgotten} records")
    return forgotten


def _too_many(stated: Stated, forgotten: int) -> tuple[str, str]:
    """What to say of more certificates and requests than records that left or joined."""
    problem = f"with {forgotten} forgotten records"
    if stated.batch is None:
        return "sequence", f"is {stated.sequence}, {problem}"
    return "batch.of", f"is {stated.batch.of}, after {stated.certified_before} others, {problem}"


def _check_normaliser(history: History, at_fit: int) -> None:
    """Refuse a release whose losses are divided by another number than the records at fit.

    Raises:
        InvalidInput: a fixed normaliser that is not their count.
    """
    if history.normaliser == "fixed" and history.divisor != at_fit:
        raise InvalidInput(
            "history.normaliser_count", f"is {history.divisor}, with {at_fit} records at fit"
        )


def _check_chain(stated: Stated) -> None:
    """Refuse facts about the model's file and the certificate's place that contradict each other.

    Raises:
        InvalidInput: two facts contradict each other; one is named.
    """
    if stated.model_sha256 is not None and "model" in stated.commitments:
        raise InvalidInput(
            "model_sha256", "is given beside commitments.model; a model has one file"
        )
    if (stated.sequence == 1) != (stated.previous is None):
        raise InvalidInput(
            "previous", "is the digest of the certificate before, from the second on"
        )
    place = stated.batch.place if stated.batch is not None else None
    if place is not None and not place <= min(stated.honours, stated.sequence):
        told = f"is {place} of {stated.honours}, in sequence {stated.sequence}"
        raise InvalidInput("batch.place", told)
    if stated.sequence > 1 and stated.generation < (2 if stated.certified_before else 1):
        raise InvalidInput("generation", f"{stated.generation} models, {stated.sequence} certified")
    named = 1 if place is not None else stated.certified_before + stated.honours
    if len(stated.requests) > named:
        raise InvalidInput("requests", f"{len(stated.requests)} named by {named}")


def _check_fit(stated: Stated, kind: Kind) -> None:
    """Refuse a certificate of a fit that leaves out what every fit knows.

    Raises:
        InvalidInput: a fact is missing; it is named.
    """
    if stated.model_sha256 is None and "model" not in stated.commitments:
        raise InvalidInput("model_sha256", "is missing: a fit's certificate names its model's file")
    for name in ("noise", "state"):
        if getattr(stated.provenance, name) is None:
            raise InvalidInput(f"provenance.{name}", "is missing: a fit knows where it came from")
    if kind.keeps_secrets and not stated.retained:
        raise InvalidInput("retained", f"is missing: {stated.strategy} keeps an un-noised solution")
