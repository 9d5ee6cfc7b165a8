"""`verify`: the certificate's numbers again, and that every file is what was written.

Everything is read: the ledger row by row, every file that its index names, and every row of the
saved model, which is also held against what it came from. `covered` says what was looked at.
"""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from expunge.accounting.certificate import Certificate, parse_certificate
from expunge.accounting.verification import Difference, differences, file_differences
from expunge.errors import Altered, InvalidInput, MissingPackage
from expunge.ledger import Entries, Model
from expunge.store import read
from expunge.workspace.audit import AUDIT, last_audit
from expunge.workspace.current_model import loaded
from expunge.workspace.folder import Folder
from expunge.workspace.options import Options
from expunge.workspace.sealed_files import read_sealed, sealed_paths

__all__ = ["verify"]


def verify(workspace: Path) -> dict[str, Any]:
    """Recompute every certificate from its own history, and hold the current one against the model.

    Signatures come with the deletion desk: until then this finds accidents, not forgeries.
    """
    try:
        folder = Folder.opened(workspace)
        document = folder.steady(lambda entries, model: _check(folder, entries, model))
        folder.ledger.close()
    except Altered as error:  # the ledger itself; nothing that it says counts
        return _document([Difference(error.field, error.problem)])
    return document


def _check(folder: Folder, entries: Entries, model: Model) -> dict[str, Any]:
    rows = folder.ledger.check()
    faults = _file_difference(folder.model_file(model.sha256), model.sha256)
    faults += _generation_differences(folder, entries, model)
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
    document = _document(faults, claim) | {
        "certificates": len(documents),
        "pending": len(entries.requests("pending")),
    }
    covered = {"ledger_rows": rows, "files": _covered(folder, model, len(documents))}
    return document | ({} if faults else {"covered": covered})


def _document(faults: list[Difference], claim: dict[str, Any] | None = None) -> dict[str, Any]:
    return {
        "valid": not faults,
        "first_difference": faults[0].field if faults else None,
        "differences": [difference._asdict() for difference in faults],
        "claim": claim,
        "certificates": 0,
        "pending": 0,
    }


def _covered(folder: Folder, model: Model, certificates: int) -> list[str]:
    """Every file that was read and holds, by its path in the workspace."""
    secret = folder.secret_folder(model.secret)
    paths = [folder.path / "ledger.sqlite", folder.model_file(model.sha256)]
    paths += [folder.certificate_file(number + 1) for number in range(certificates)]
    paths += [*sealed_paths(folder, model), *(secret / name for name in read(secret).check())]
    paths += [folder.path / AUDIT] if (folder.path / AUDIT).exists() else []
    return sorted({path.relative_to(folder.path).as_posix() for path in paths})


def _generation_differences(folder: Folder, entries: Entries, model: Model) -> list[Difference]:
    """What is wrong with the files of the current generation, and with the last audit."""
    faults = []
    for path in sealed_paths(folder, model):
        try:
            read_sealed(folder, model, path)
        except Altered as error:
            faults.append(Difference(error.field, error.problem))
    try:
        estimator = loaded(folder, model)
        last_audit(folder, model)
    except Altered as error:
        return [*faults, Difference(error.field, error.problem)]
    return [*faults, *_setting_differences(estimator, entries)]


def _setting_differences(estimator: Any, entries: Entries) -> Iterator[Difference]:
    """Settings in the ledger that are not those of the saved model."""
    options = Options.of(entries.setting("options"))
    for name in ("epsilon", "strategy", "observer", "l2", "released", "adaptive_requests"):
        if getattr(options, name) != getattr(estimator, name):
            yield Difference(f"ledger.sqlite: options.{name}", "is not that of the saved model")
    if entries.setting("head") != estimator.fitted_.head.document():
        yield Difference("ledger.sqlite: head", "is not that of the saved model")


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
