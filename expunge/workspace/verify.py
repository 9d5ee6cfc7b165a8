"""`verify`: the certificate's numbers again, and that every file is what was written.

Everything is read: the ledger row by row, every file that its index names, and every row of the
saved model, which is also held against what it came from. `covered` says what was looked at.
"""

import hashlib
from pathlib import Path
from typing import Any

from expunge.accounting.certificate import Certificate, parse_certificate
from expunge.accounting.verification import Difference, differences, file_differences
from expunge.errors import Altered, InvalidInput, MissingPackage
from expunge.ledger import Entries, Model
from expunge.workspace.folder import Folder
from expunge.workspace.generation_checks import covered_files, generation_differences

__all__ = ["verify"]


def verify(workspace: Path) -> dict[str, Any]:
    """Recompute every certificate from its own history, and hold the current one against the model.

    Signatures come with the deletion desk: until then this finds accidents, not forgeries.
    """
    try:
        folder = Folder.opened(workspace)
        document = folder.steady(lambda entries, model: _check(folder, entries, model))
        folder.ledger.close()
    except Altered as error:  # the ledger itself: nothing that it says counts
        return _verdict([Difference(error.field, error.problem)])
    return document


def _check(folder: Folder, entries: Entries, model: Model) -> dict[str, Any]:
    rows = folder.ledger.check()
    faults = _file_difference(folder.model_file(model.sha256), model.sha256)
    faults += generation_differences(
        folder, model, entries.setting("options"), entries.setting("head")
    )
    documents, current = entries.certificates(), entries.certificate_of(model)
    for number, document in documents.items():
        faults += _certificate_differences(folder.certificate_file(number), document)
    claim = None
    if current is not None:
        try:
            certificate = parse_certificate(current)
        except InvalidInput as error:
            faults.append(Difference("ledger.sqlite", f"does not hold a certificate ({error})"))
        else:
            claim = certificate.claim.model_dump(mode="json")
            faults += _ledger_differences(certificate, model, entries)
    files = [] if faults else covered_files(folder, model, len(documents))
    return _verdict(faults, claim) | {
        "certificates": len(documents),
        "pending": len(entries.requests("pending")),
        "covered": {"ledger_rows": rows, "files": files},
    }


def _verdict(faults: list[Difference], claim: dict[str, Any] | None = None) -> dict[str, Any]:
    return {
        "valid": not faults,
        "first_difference": faults[0].field if faults else None,
        "differences": [difference._asdict() for difference in faults],
        "claim": claim,
    }


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
    gone, honoured = entries.counts()["forgotten"], entries.requests("honoured")
    if certificate.forgotten != gone:
        problem = f"is {certificate.forgotten}, but the ledger counts {gone} forgotten records"
        faults.append(Difference("forgotten", problem))
    if sorted(certificate.requests) != sorted(request.name for request in honoured):
        faults.append(Difference("requests", "are not those that the ledger calls honoured"))
    return faults
