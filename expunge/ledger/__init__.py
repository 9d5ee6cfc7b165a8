"""What was asked and what was done: records, requests, models and certificates in one database."""

from expunge.ledger.entries import Entries
from expunge.ledger.ledger import Ledger
from expunge.ledger.schema import (
    Addition,
    Busy,
    Fit,
    IdOutcome,
    JournalEntry,
    Lease,
    Model,
    Overtaken,
    Request,
    RequestBatch,
)

__all__ = [
    "Addition",
    "Busy",
    "Entries",
    "Fit",
    "IdOutcome",
    "JournalEntry",
    "Lease",
    "Ledger",
    "Model",
    "Overtaken",
    "Request",
    "RequestBatch",
]
