"""`status`: what is there, what was asked, what is certified, and who is at work."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from expunge.accounting.certificate import parse_certificate
from expunge.ledger import Entries, Model
from expunge.workspace.evaluation import read_evaluation
from expunge.workspace.folder import PUBLIC, Folder
from expunge.workspace.options import Options
from expunge.workspace.stored_settings import read_object

__all__ = ["status"]


def status(workspace: Path) -> dict[str, Any]:
    """The status as a document. The hash of a model without noise is for the operator alone."""
    folder = Folder.opened(workspace)
    document, missing = folder.steady(
        lambda entries, model: (
            _document(folder, entries, model),
            model,
            entries.setting(PUBLIC),
        ),
        lambda seen: (seen[0], folder.missing(seen[1], seen[2])),
    )
    folder.ledger.close()
    return {"workspace": str(workspace)} | document | {"missing": missing}


def _document(folder: Folder, entries: Entries, model: Model) -> dict[str, Any]:
    document, lease = entries.certificate_of(model), entries.lease()
    certificates = entries.certificates_by_request()
    return {
        "records": entries.counts(),
        "requests": [
            {
                "request": request.number,
                "name": request.name,
                "state": request.state,
                "received": request.received,
                "records": len(request.records),
                "certificate": certificates.get(request.number),
            }
            for request in entries.requests()
        ],
        "fits": [each.document() for each in entries.fits()],
        "additions": [each.document() for each in entries.additions()],
        "journal": [vars(entry) for entry in entries.journal()],
        "unerased": [str(path) for path in folder.unerased(entries)],
        "lease": None if lease is None or lease.holder is None else vars(lease),
        "model": {"sha256": model.sha256, "number": model.number, "created": model.created},
        "understood": _understood(entries),
        "on_public_records": None
        if model.evaluation is None
        else read_evaluation(model.evaluation),
        "certificate": None if document is None else _summary(document),
        "options": json.loads(json.dumps(asdict(Options.of(entries.setting("options"))))),
    }


def _understood(entries: Entries) -> dict[str, Any] | None:
    """What `fit` understood of the tables; None where an earlier version did not write it down."""
    document = entries.find_setting("understood")
    return None if document is None else read_object("understood", document)


def _summary(document: str) -> dict[str, Any]:
    certificate = parse_certificate(document)
    return {
        "epsilon": certificate.claim.epsilon,
        "delta": certificate.claim.delta,
        "strategy": certificate.strategy,
        "bound": certificate.claim.bound,
        "observer": certificate.observer,
        "earlier_releases": certificate.earlier_releases,
        "statement": certificate.claim.statement,
    }
