"""The tables, and the records that are read from them.

settings      how the workspace was made: options, encoding of the columns
records       every record with its role and its row in the model's tables; changed only where an id
              that was forgotten comes back, as a new record with a row of its own
requests      deletion requests: `pending`, then `committed`, then `honoured` (`workspace.forget`)
requested     which records a request names
former        the same of ids that came back since: the row that was forgotten, and by which request
batches       requests that one model is to honour at once, by the number of the first of them, and
              whether each gets a certificate; a request alone is in none
additions     which rows joined at which model; `committed` and `honoured` as a request is
models        every model that was current once; the last one is current now
certificates  canonical JSON, each about one model
fits          every fit after the first, and the row its records begin with (`ledger.fits`)
left_out      which requests a fit honoured, because its tables lack their records
lease         one row: who works on the requests, under which number
journal       what was done without a request: a `refresh` of the secret state, which is `committed`
              until the state before it is erased, then `honoured`
seals         a digest of each of these tables (`ledger.sealing`)
"""

from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
)

from expunge.errors import Refused

__all__ = [
    "LATER",
    "Addition",
    "Busy",
    "Fit",
    "JournalEntry",
    "Lease",
    "Model",
    "Overtaken",
    "Request",
    "RequestBatch",
    "Role",
    "State",
    "metadata",
]

Role = Literal["private", "public"]
State = Literal["pending", "committed", "honoured"]
IdOutcome = Literal["forgotten", "unknown", "already forgotten", "public"]  # of a request

metadata = MetaData()

settings = Table(
    "settings",
    metadata,
    Column("name", String, primary_key=True),
    Column("value", String, nullable=False),
)

requests = Table(
    "requests",
    metadata,
    Column("number", Integer, primary_key=True),
    Column("name", String, unique=True, nullable=False),
    Column("received", String, nullable=False),
    Column("state", String, nullable=False),
)

records = Table(
    "records",
    metadata,
    Column("id", String, primary_key=True),
    Column("role", String, nullable=False),
    Column("place", BigInteger, nullable=False),
    Column("seal", BigInteger, nullable=False),
)

requested = Table(
    "requested",
    metadata,
    Column("request", ForeignKey("requests.number"), primary_key=True),
    Column("record", ForeignKey("records.id"), primary_key=True),
    Index("requested_by_record", "record"),
)

models = Table(
    "models",
    metadata,
    Column("number", Integer, primary_key=True),
    Column("sha256", String, nullable=False),
    Column("created", String, nullable=False),
    Column("request", ForeignKey("requests.number")),
    Column("seal", String, nullable=False),
    Column("evaluation", String),
)

certificates = Table(
    "certificates",
    metadata,
    Column("number", Integer, primary_key=True),
    Column("model", ForeignKey("models.number"), nullable=False),
    Column("document", String, nullable=False),
)

lease = Table(
    "lease",
    metadata,
    Column("name", String, primary_key=True),
    Column("number", Integer, nullable=False),
    Column("holder", String),
    Column("taken", String, nullable=False),
)

former = Table(
    "former",
    metadata,
    Column("place", BigInteger, primary_key=True),
    Column("record", ForeignKey("records.id"), nullable=False),
    Column("request", ForeignKey("requests.number"), nullable=False),
)

batches = Table(
    "batches",
    metadata,
    Column("request", ForeignKey("requests.number"), primary_key=True),
    Column("first", ForeignKey("requests.number"), nullable=False),
    Column("each", Boolean, nullable=False),
)

additions = Table(
    "additions",
    metadata,
    Column("number", Integer, primary_key=True),
    Column("model", ForeignKey("models.number"), nullable=False),
    Column("first", BigInteger, nullable=False),
    Column("stop", BigInteger, nullable=False),
    Column("done", String, nullable=False),
    Column("state", String, nullable=False),
)

journal = Table(
    "journal",
    metadata,
    Column("number", Integer, primary_key=True),
    Column("what", String, nullable=False),
    Column("model", ForeignKey("models.number"), nullable=False),
    Column("done", String, nullable=False),
    Column("state", String, nullable=False),
)

fits = Table(
    "fits",
    metadata,
    Column("number", Integer, primary_key=True),
    Column("model", ForeignKey("models.number"), nullable=False),
    Column("first", BigInteger, nullable=False),
    Column("earlier", BigInteger, nullable=False),
    Column("released_before", Integer, nullable=False),
    Column("done", String, nullable=False),
    Column("state", String, nullable=False),
)

left_out = Table(
    "left_out",
    metadata,
    Column("request", ForeignKey("requests.number"), primary_key=True),
    Column("fit", ForeignKey("fits.number"), nullable=False),
)

# Which a ledger of an earlier version lacks.
LATER = (journal, former, additions, batches, fits, left_out)

seals = Table(
    "seals",
    metadata,
    Column("name", String, primary_key=True),
    Column("value", String, nullable=False),
)


class Busy(Refused):
    """Another process is writing."""


class Overtaken(Refused):
    """Another process has changed what this one began with: begin again."""


@dataclass(frozen=True)
class Request:
    """A deletion request; `records` are the ids that it names."""

    number: int
    name: str
    received: str
    state: State
    records: tuple[str, ...]


@dataclass(frozen=True)
class RequestBatch:
    """Requests that one model honours, in their order; often one alone.

    Args:
        each: Every request gets a certificate of its own.
    """

    requests: tuple[Request, ...]
    each: bool = True

    @property
    def numbers(self) -> tuple[int, ...]:
        """The numbers of its requests."""
        return tuple(request.number for request in self.requests)


@dataclass(frozen=True)
class Lease:
    """The right to work on the requests of a workspace, until somebody takes a later one.

    Args:
        number: Grows with every lease; nothing is committed under an earlier number.
        holder: The process, for people; None once it has given the lease back.
    """

    number: int
    holder: str | None
    taken: str


@dataclass(frozen=True)
class JournalEntry:
    """Something that was done to a model without a request.

    Args:
        what: "refresh": its secret state was made anew.
    """

    number: int
    what: str
    model: int
    done: str
    state: State


@dataclass(frozen=True)
class Addition:
    """Records that joined, at the rows `first` to `stop - 1` of the model's tables.

    Args:
        model: The first that knows them.
    """

    number: int
    model: int
    first: int
    stop: int
    done: str
    state: State

    @property
    def records(self) -> int:
        """How many joined."""
        return self.stop - self.first

    def document(self) -> dict[str, Any]:
        """The addition for whoever asks what was done; rows are of no use to them."""
        names = ("number", "model", "records", "done", "state")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True)
class Fit:
    """A fit of the workspace; all but the first took the place of another.

    Args:
        model: Its first.
        first: The row of its first record: rows go on, so that no two records ever share one.
        earlier: How many records are counted that no later fit has: they left before this one.
        released_before: A model of an earlier fit was handed out.
    """

    number: int
    model: int
    first: int
    earlier: int
    released_before: bool
    done: str
    state: State

    def document(self) -> dict[str, Any]:
        """The fit for whoever asks what was done."""
        return {name: getattr(self, name) for name in ("number", "model", "done", "state")}


@dataclass(frozen=True)
class Model:
    """A model that is or was current.

    Args:
        sha256: Of its file.
        request: The request that it was made for, the first of a batch; None for the fitted one.
        seal: Of the saved generation that the next request starts from, rows included; none where
            the model is not current.
        evaluation: JSON, if there is any.
    """

    number: int
    sha256: str
    created: str
    request: int | None
    seal: str
    evaluation: str | None
