"""What saved models of every kind have in common: an outcome and the circumstances of a fit.

The document holds what JSON brings back, the tensors what the next request starts from. The store
(`expunge.store`) keeps both, with the model, its certificate and the lineage. Its digests find what
was changed; `check_certificate` finds parts that are whole and contradict each other, such as a
document whose history is not the certificate's.
"""

import re
from collections.abc import Mapping
from typing import Any

from torch import Tensor

from expunge.accounting.account import account
from expunge.accounting.certificate import Certificate
from expunge.accounting.document import AccountRequest, account_document
from expunge.accounting.target import EpsilonDelta
from expunge.accounting.verification import differences, file_differences
from expunge.errors import InvalidInput
from expunge.store import Lineage, Saved
from expunge.store.index import digest
from expunge.unlearning.fitted import Fitted
from expunge.unlearning.ids import RowNumbers, id_rows
from expunge.unlearning.joined_ids import ids_by_row
from expunge.unlearning.outcome import Outcome
from expunge.unlearning.roster import Roster
from expunge.unlearning.settings import rebuild

__all__ = [
    "check_certificate",
    "ids_document",
    "lineage_of",
    "named_part",
    "outcome_document",
    "restore_outcome",
    "restore_roster",
    "restore_terms",
    "secret_tensors",
    "terms_document",
]

LONE = re.compile("[\ud800-\udfff]")  # halves of characters, which no file holds
SECRET = "secret."  # before the names of an outcome's own secret tensors


def lineage_of(fitted: Fitted) -> Lineage:
    """The fit's name and the certificates since, as the store knows them."""
    return Lineage(fit=fitted.lineage, issued=fitted.issued, beside=fitted.beside)


def terms_document(fitted: Fitted) -> dict[str, Any]:
    """The terms of a fit: what it promises, to whom, and what was handed out."""
    job = fitted.job
    return {
        "epsilon": job.target.level,
        "delta": job.target.delta,
        "observer": job.observer,
        "adaptive_requests": job.adaptive_requests,
        "seed": job.seed,
        "released": fitted.released,
        "released_before": fitted.released_before,
    }


def restore_terms(saved: Saved, terms: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The terms of a fit and what was honoured since, as arguments of a job and a fitted state."""
    job = {name: terms[name] for name in ("observer", "adaptive_requests", "seed")}
    job["target"] = EpsilonDelta(terms["epsilon"], terms["delta"])
    lineage = saved.index.lineage
    fitted = {name: terms[name] for name in ("released", "released_before")}
    fitted |= {"lineage": lineage.fit, "issued": lineage.issued, "beside": lineage.beside}
    fitted |= {"copied": True}
    return job, fitted | {"strategy": rebuild(saved.document["strategy"])}


def ids_document(roster: Roster) -> list[Any] | None:
    """The private ids in the order of their rows, twice if one came back; None for row numbers.

    Raises:
        InvalidInput: an id that JSON does not bring back; it is named.
    """
    if isinstance(roster.ids, RowNumbers):
        return None
    for id_ in ids_by_row(roster.ids):
        if type(id_) not in (str, int) or LONE.search(str(id_)):
            raise InvalidInput("ids", f"{id_!r} cannot be saved; texts and whole numbers can")
    return list(ids_by_row(roster.ids))


def restore_roster(ids: list[Any] | None, private: int, public: int, left: Tensor) -> Roster:
    """The roster of a document and a state: who was there, and who left.

    The counts are held against the state before anything of their size is made.

    Args:
        ids: What `ids_document` gave.
        left: The request at which each record left, as the property of `Roster`.

    Raises:
        ValueError: the state has another number of records than the document.
    """
    if min(private, public) < 0 or private + public != len(left):
        raise ValueError(f"{len(left)} records in the state, {private + public} in the document")
    return Roster.of(id_rows(ids, private, public), public, left)


def outcome_document(outcome: Outcome) -> dict[str, Any]:
    """An outcome without its tensors, as JSON holds it."""
    known = None
    if outcome.assumptions is not None and outcome.history is not None:
        known = outcome.assumptions, outcome.history
    return {
        "account": None if known is None else account_document(*known),
        "declared": list(outcome.declared),
        "retained": list(outcome.retained),
        "rounds": list(outcome.rounds),
        "capacity": outcome.capacity,
        "noise_free": outcome.noise_free,
        "flops": outcome.flops,
    }


def secret_tensors(outcome: Outcome) -> dict[str, Tensor]:
    """An outcome's secret tensors under the names that they have in a file."""
    return {f"{SECRET}{name}": value for name, value in outcome.secret.items()}


def named_part(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """Those of a file's tensors whose names begin so, under what follows."""
    return {n.removeprefix(prefix): v for n, v in tensors.items() if n.startswith(prefix)}


def restore_outcome(
    document: dict[str, Any], state: dict[str, Tensor], tensors: dict[str, Tensor]
) -> Outcome:
    """Restore the outcome that was saved.

    Args:
        state: The outcome's model, by name.
        tensors: All tensors of the file, of which those of the outcome are taken.
    """
    known, assumptions, history = document["account"], None, None
    if known is not None:
        assumptions, history = AccountRequest.model_validate(known).records()
    return Outcome(
        state,
        assumptions,
        history,
        declared=tuple(document["declared"]),
        retained=tuple(document["retained"]),
        rounds=tuple(document["rounds"]),
        capacity=document["capacity"],
        noise_free=document["noise_free"],
        secret=named_part(tensors, SECRET),
        flops=document["flops"],
    )


def check_certificate(fitted: Fitted, model: str) -> None:
    """Check that state, document and certificate belong together.

    Args:
        model: The hash of the model's file, as the index has it.

    Raises:
        ValueError: they do not.
    """
    job, certificate = fitted.job, fitted.certificate
    if digest(fitted.model_bytes) != model:
        raise ValueError("the weights are not those that the index names")
    certified = bool(job.roster.forgotten)
    if len(fitted.issued) != job.roster.request or (certificate is not None) != certified:
        raise ValueError(f"{len(fitted.issued)} certificates for {job.roster.request} requests")
    if certificate is None:
        return
    if certificate.sha256 != fitted.issued[-1]:
        raise ValueError("the certificate is not the last one issued")
    altered = differences(certificate)
    if altered:
        raise ValueError(f"the certificate's {altered[0].field}: {altered[0].problem}")
    if file_differences(certificate, model):
        raise ValueError("the weights are not those that the certificate is about")
    if not _is_about(certificate, fitted.outcome):
        raise ValueError("the certificate is about another history")
    stated = (certificate.forgotten, certificate.strategy, certificate.delta)
    if stated != (job.roster.forgotten, fitted.strategy.name, job.target.delta):
        raise ValueError("the certificate is about another request")


def _is_about(certificate: Certificate, outcome: Outcome) -> bool:
    """Whether it states the outcome's own constants and phases."""
    if outcome.assumptions is None or outcome.history is None:
        return False
    judged = account(outcome.assumptions, outcome.history, delta=certificate.claim.delta)
    stated = {name: value.model_dump() for name, value in certificate.assumptions.items()}
    return judged.assumptions == stated and certificate.records_of_history()[1] == outcome.history
