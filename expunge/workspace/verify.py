"""`verify`: the certificate's numbers again, and that every file is what was written.

Everything is read: the ledger row by row, every file that its index names, and every row of the
saved model, which is also held against what it came from. `covered` says what was looked at.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from expunge.accounting.certificate import Certificate, parse_certificate
from expunge.accounting.certificate_chain import chain_differences, joint_document
from expunge.accounting.verification import (
    Difference,
    differences,
    file_differences,
    proof_level,
)
from expunge.errors import Altered, InvalidInput, MissingPackage
from expunge.ledger import Entries, Model, Request
from expunge.workspace.folder import PUBLIC, Folder
from expunge.workspace.generation_checks import covered_files, generation_differences

__all__ = ["verify"]


def verify(workspace: Path) -> dict[str, Any]:
    """Recompute every certificate from its own history, and hold the current one against the model.

    Signatures come with the deletion desk: until then this finds accidents, not forgeries.
    """
    try:
        folder = Folder.opened(workspace)
        document = folder.steady(
            lambda entries, model: _stated(folder, entries, model),
            lambda said: _check(folder, said),
        )
        folder.ledger.close()
    except Altered as error:  # the ledger itself: nothing that it says counts
        return _verdict([Difference(error.field, error.problem)])
    return document


@dataclass(frozen=True)
class _Stated:
    """What the ledger says, to be held against the files.

    Args:
        unwritten: Certificates of requests that are committed, whose files may be still to come.
        done: Names of the requests that models honoured, in that order.
        certified: How many certificates models from the first of these on have, additions included.
        forgotten, records: How many records this fit has forgotten, and had at any time.
        chains: The certificates of each fit, by number.
        unerased: Files that such requests still have to erase.
    """

    model: Model
    options: str
    head: str
    public: str
    certificates: dict[int, str]
    unwritten: set[int]
    current: str | None
    forgotten: int
    records: int
    certified: int
    requests: list[Request]
    done: list[str]
    unerased: tuple[Path, ...]
    chains: list[dict[int, str]]

    def named(self, *states: str) -> list[str]:
        """The names of the requests in these states."""
        return [request.name for request in self.requests if request.state in states]


def _stated(folder: Folder, entries: Entries, model: Model) -> _Stated:
    asked, counts, fit = entries.requests(), entries.counts_of_fit(), entries.fit()
    names, honoured, certified = {one.number: one.name for one in asked}, [], 0
    batches = entries.batches()
    for made in entries.models()[fit.model - 1 :]:
        if made.request is not None:
            numbers, each = batches.get(made.request, ([made.request], True))
            honoured += numbers
            certified += len(numbers) if each else 1
        elif honoured:
            certified += 1  # records joined
    return _Stated(
        model=model,
        options=entries.setting("options"),
        head=entries.setting("head"),
        public=entries.setting(PUBLIC),
        certificates=entries.certificates(),
        unwritten=set(entries.certificates("committed")),
        current=entries.certificate_of(model),
        forgotten=counts["forgotten"],
        records=counts["records"],
        certified=certified,
        requests=asked,
        done=[names[number] for number in honoured],
        unerased=folder.unerased(entries),
        chains=entries.chains(),
    )


def _check(folder: Folder, said: _Stated) -> dict[str, Any]:
    rows = folder.ledger.check()
    faults = _file_difference(folder.model_file(said.model.sha256), said.model.sha256)
    faults += generation_differences(folder, said.model, said.options, said.head, said.public)
    for number, document in said.certificates.items():
        file = folder.certificate_file(number)
        if file.exists() or number not in said.unwritten:
            faults += _certificate_differences(file, document)
    faults += _unknown_certificates(folder, said.certificates)
    chains = [_read_all(documents) for documents in said.chains]
    for known in chains:
        faults += [] if known is None else chain_differences(known)
    claim = proof = None
    if said.current is not None:
        try:
            certificate = parse_certificate(said.current)
        except InvalidInput as error:
            faults.append(Difference("ledger.sqlite", f"does not hold a certificate ({error})"))
        else:
            claim, proof = certificate.claim.model_dump(mode="json"), proof_level(certificate)
            faults += _ledger_differences(certificate, said)
    files = [] if faults else covered_files(folder, said.model, said.public, len(said.certificates))
    return _verdict(faults, claim) | {
        "proof": proof,
        "together": None if chains[-1] is None else joint_document(chains[-1]),
        "certificates": len(said.certificates),
        "pending": len(said.named("pending")),
        "committed": said.named("committed"),
        "unerased": [str(path) for path in said.unerased],
        "covered": {"ledger_rows": rows, "files": files},
    }


def _verdict(faults: list[Difference], claim: dict[str, Any] | None = None) -> dict[str, Any]:
    return {
        "valid": not faults,
        "first_difference": faults[0].field if faults else None,
        "differences": [difference._asdict() for difference in faults],
        "claim": claim,
    }


def _read_all(documents: dict[int, str]) -> list[Certificate] | None:
    """The certificates of a fit in their order; None if one cannot be read."""
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


def _unknown_certificates(folder: Folder, documents: dict[int, str]) -> list[Difference]:
    """Files named like certificates that nobody issued; the ledger has a certificate first."""
    known = {folder.certificate_file(number) for number in documents}
    there = sorted((folder.path / "certificates").glob("*.json"))
    named = [path for path in there if path.stem.isdecimal() and path not in known]
    return [Difference(str(path), "is not in the ledger; delete it") for path in named]


def _ledger_differences(certificate: Certificate, said: _Stated) -> list[Difference]:
    faults = [*differences(certificate), *file_differences(certificate, said.model.sha256)]
    if certificate.forgotten != said.forgotten:
        counted = f"the ledger counts {said.forgotten} forgotten records"
        faults.append(Difference("forgotten", f"is {certificate.forgotten}, but {counted}"))
    if certificate.records != said.records:
        counted = f"the ledger counts {said.records} records"
        faults.append(Difference("records", f"is {certificate.records}, but {counted}"))
    if certificate.sequence != said.certified:
        counted = f"the ledger counts {said.certified} since the first request"
        faults.append(Difference("sequence", f"is {certificate.sequence}, but {counted}"))
    if certificate.requests and certificate.requests != said.done[-len(certificate.requests) :]:
        faults.append(Difference("requests", "are not those that the ledger calls honoured"))
    return faults
