"""`expunge verify`: a certificate's numbers again, from its own history; or a whole workspace's."""

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from expunge.cli.output import MaxDepth, MaxKeys, json_limits, print_json, read_text

if TYPE_CHECKING:
    from expunge.accounting.json_text import JsonLimits

__all__ = ["verify"]


def verify(
    file: Annotated[
        str, typer.Argument(help="Certificate as JSON (- reads standard input), or a workspace.")
    ],
    model: Annotated[
        Path | None, typer.Option(help="A model's file: is it the one that the certificate names?")
    ] = None,
    earlier: Annotated[
        list[str] | None,
        typer.Option(help="A certificate before it, the oldest first: what they say together."),
    ] = None,
    max_keys: MaxKeys = None,
    max_depth: MaxDepth = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Check a certificate; exit status 1 and the first wrong field if it does not hold."""
    if file != "-" and Path(file).is_dir():
        from expunge.errors import InvalidInput
        from expunge.workspace.verify import verify as check

        if model is not None:
            raise InvalidInput("model", "a workspace has its own; give a certificate's file")
        if earlier:
            raise InvalidInput("earlier", "a workspace has its own; give a certificate's file")
        document = check(Path(file))
    else:
        limits = json_limits(max_keys, max_depth)
        if earlier and file == "-":
            raise typer.BadParameter("needs the certificate as a file", param_hint="--earlier")
        document = _certificate(read_text(file), model, limits)
        if earlier:
            document = _with_earlier(document, [*earlier, file], limits)
    if json:
        print_json(document)
    else:
        _print(document)
    if not document["valid"]:
        raise typer.Exit(1)


def _certificate(text: str, model: Path | None, limits: "JsonLimits") -> dict[str, Any]:
    from expunge.accounting.verification import (
        differences,
        file_differences,
        proof_level,
        read_certificate,
    )

    certificate = read_certificate(text, limits)
    faults = differences(certificate)
    if model is not None:
        digest = hashlib.sha256(model.read_bytes()).hexdigest()
        faults = [*faults, *file_differences(certificate, digest)]
    return {
        "valid": not faults,
        "first_difference": faults[0].field if faults else None,
        "differences": [difference._asdict() for difference in faults],
        "claim": certificate.claim.model_dump(mode="json"),
        "proof": proof_level(certificate),
    } | ({} if model is None else {"model": str(model)})


def _did(document: dict[str, Any]) -> str:
    """What was done: a claim by another bound than shift is recomputed, whatever is installed."""
    if document["proof"] == "proven":
        return "proven from its witness"
    provable = document["claim"]["bound"] == "shift"
    return "recomputed" + ("; expunge[proof] would prove it" if provable else "")


def _with_earlier(
    document: dict[str, Any], files: list[str], limits: "JsonLimits"
) -> dict[str, Any]:
    """The document of the last certificate, with what all of them say together."""
    from expunge.accounting.certificate import Certificate
    from expunge.accounting.certificate_chain import chain_differences, joint_document
    from expunge.accounting.verification import differences, read_certificate
    from expunge.errors import InvalidInput

    certificates, faults = [], list(document["differences"])
    for file in files:
        certificate = read_certificate(read_text(file), limits)
        if not isinstance(certificate, Certificate):
            raise InvalidInput(file, "is of schema 1, which names no certificate before it")
        certificates.append(certificate)
        for field, problem in () if file == files[-1] else differences(certificate):
            faults.append({"field": f"{file}: {field}", "problem": problem})
    faults += [difference._asdict() for difference in chain_differences(certificates)]
    return document | {
        "valid": not faults,
        "first_difference": faults[0]["field"] if faults else None,
        "differences": faults,
        "together": joint_document(certificates),
    }


def _print(document: dict[str, Any]) -> None:
    if not document["valid"]:
        for place, difference in enumerate(document["differences"]):
            prefix = "  also" if place else "NOT VALID:"
            print(f"{prefix} {difference['field']} {difference['problem']}")
    elif document["claim"] is None:
        print("valid: the model is the ledger's; nothing has been deleted, so nothing is certified")
    else:
        print(f"valid: every number follows from the certificate's own history ({_did(document)})")
        if "model" in document:
            print(f"{document['model']}: the model that it names")
        for line in document["claim"]["statement"]:
            print(f"  {line}")
        _print_together(document.get("together"))
    if document["valid"] and "covered" in document:
        covered = document["covered"]
        print(
            f"covered: {len(covered['files'])} files and {covered['ledger_rows']:,} rows of the "
            "ledger, each as it was written"
        )
    if document.get("pending"):
        print(f"pending requests: {document['pending']}; honour them with expunge forget")
    for name in document.get("committed", ()):
        print(f"ERASURE UNFINISHED: {name} is committed; finish it with expunge forget")
    for path in document.get("unerased", ()):
        print(f"  not erased yet: {path}")


def _print_together(together: dict[str, Any] | None) -> None:
    """What several models say together, for whoever has them all."""
    if together is None:
        return
    print(
        f"  {together.get('statement') or 'Of all models together: ' + together['refused'] + '.'}"
    )
