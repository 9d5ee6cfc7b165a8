"""`verify`: the certificate's numbers again, and that files and ledger say the same."""

import hashlib
from pathlib import Path
from typing import Any

from expunge.accounting.certificate import Certificate, parse_certificate
from expunge.accounting.certificate_chain import chain_differences, joint_document
from expunge.accounting.verification import Difference, differences, file_differences
from expunge.errors import InvalidInput, MissingPackage
from expunge.ledger import Entries, Model
from expunge.workspace.folder import Folder

__all__ = ["verify"]


def verify(workspace: Path) -> dict[str, Any]:
    """Recompute every certificate from its own history, and hold the current one against the model.

    Signatures come with the deletion desk: until then this finds accidents, not forgeries.
    """
    folder = Folder.opened(workspace)
    document = folder.steady(lambda entries, model: _check(folder, entries, model))
    folder.ledger.close()
    return document


def _check(folder: Folder, entries: Entries, model: Model) -> dict[str, Any]:
    faults = _file_difference(folder.model_file(model.sha256), model.sha256)
    documents, current = entries.certificates(), entries.certificate_of(model)
    for number, document in documents.items():
        faults += _certificate_differences(folder.certificate_file(number), document)
    claim, known = None, _read_all(documents)
    if known is not None:
        faults += chain_differences(known)
    if current is not None:
        try:
            certificate = parse_certificate(current)
        except InvalidInput as error:
            faults.append(Difference("ledger.sqlite", f"does not hold a certificate ({error})"))
        else:
            claim = certificate.claim.model_dump(mode="json")
            faults += _ledger_differences(certificate, model, entries)
    return {
        "valid": not faults,
        "first_difference": faults[0].field if faults else None,
        "differences": [difference._asdict() for difference in faults],
        "claim": claim,
        "together": None if known is None else joint_document(known),
        "certificates": len(documents),
        "pending": len(entries.requests("pending")),
    }


def _read_all(documents: dict[int, str]) -> list[Certificate] | None:
    """The certificates of the ledger in their order; None if one cannot be read."""
    try:
        return [parse_certificate(document) for _, document in sorted(documents.items())]
    except InvalidInput:
        return None


def _file_difference(path: Path, sha256: str) -> list[Difference]:
    if not path.is_file():
        return [Difference(str(path), "is missing")]
    if hashlib.sha256(path.read_bytes()).hexdigest() != sha256:
        return [Difference(str(path), "has another hash than the ledger says")]
    return []


def _certificate_differences(path: Path, document: str) -> list[Difference]:
    """What is wrong with a certificate's file, or differs from what the ledger holds."""
    try:
        text = path.read_text(encoding="utf-8")
        certificate = parse_certificate(text)
        problems = differences(certificate)
    except MissingPackage:
        raise
    except (InvalidInput, OSError, UnicodeDecodeError) as error:
        return [Difference(str(path), f"is not a certificate ({error})")]
    if not problems and certificate.canonical() != document:
        problems = [Difference("certificate", "is not the one in the ledger")]
    if not problems and text != f"{certificate.readable()}\n":
        problems = [Difference("certificate", "is not written as it was issued")]
    return [Difference(f"{path}: {problem.field}", problem.problem) for problem in problems]


def _ledger_differences(
    certificate: Certificate, model: Model, entries: Entries
) -> list[Difference]:
    faults = [*differences(certificate), *file_differences(certificate, model.sha256)]
    gone, names = entries.counts()["forgotten"], _honoured_names(entries)
    if certificate.forgotten != gone:
        problem = f"is {certificate.forgotten}, but the ledger counts {gone} forgotten records"
        faults.append(Difference("forgotten", problem))
    if certificate.sequence != len(names):
        problem = f"is {certificate.sequence}, but the ledger calls {len(names)} requests honoured"
        faults.append(Difference("sequence", problem))
    if certificate.requests and certificate.requests != names[-len(certificate.requests) :]:
        faults.append(Difference("requests", "are not those that the ledger calls honoured"))
    return faults


def _honoured_names(entries: Entries) -> list[str]:
    """The names of the requests that were honoured, in that order."""
    names = {request.number: request.name for request in entries.requests("honoured")}
    return [names[model.request] for model in entries.models() if model.request in names]
