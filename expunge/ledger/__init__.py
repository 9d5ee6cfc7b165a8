"""What was asked and what was done: records, requests, models and certificates in one database."""

from expunge.ledger.ledger import Entries, Ledger
from expunge.ledger.schema import Busy, IdOutcome, Lease, Model, Overtaken, Request

__all__ = ["Busy", "Entries", "IdOutcome", "Lease", "Ledger", "Model", "Overtaken", "Request"]
