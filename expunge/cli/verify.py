"""`expunge verify`: a certificate's numbers again, from its own history; or a whole workspace's."""

import hashlib
from pathlib import Path
from typing import Annotated, Any

import typer

from expunge.cli.output import print_json, read_text

__all__ = ["verify"]


def verify(
    file: Annotated[
        str, typer.Argument(help="Certificate as JSON (- reads standard input), or a workspace.")
    ],
    model: Annotated[
        Path | None, typer.Option(help="A model's file: is it the one that the certificate names?")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Check a certificate; exit status 1 and the first wrong field if it does not hold."""
    if file != "-" and Path(file).is_dir():
        from expunge.errors import InvalidInput
        from expunge.workspace.verify import verify as check

        if model is not None:
            raise InvalidInput("model", "a workspace has its own; give a certificate's file")
        document = check(Path(file))
    else:
        document = _certificate(read_text(file), model)
    if json:
        print_json(document)
    else:
        _print(document)
    if not document["valid"]:
        raise typer.Exit(1)


def _certificate(text: str, model: Path | None) -> dict[str, Any]:
    from expunge.accounting.verification import differences, file_differences, read_certificate

    certificate = read_certificate(text)
    faults = differences(certificate)
    if model is not None:
        digest = hashlib.sha256(model.read_bytes()).hexdigest()
        faults = [*faults, *file_differences(certificate, digest)]
    return {
        "valid": not faults,
        "first_difference": faults[0].field if faults else None,
        "differences": [difference._asdict() for difference in faults],
        "claim": certificate.claim.model_dump(mode="json"),
    } | ({} if model is None else {"model": str(model)})


def _print(document: dict[str, Any]) -> None:
    if not document["valid"]:
        for place, difference in enumerate(document["differences"]):
            prefix = "  also" if place else "NOT VALID:"
            print(f"{prefix} {difference['field']} {difference['problem']}")
    elif document["claim"] is None:
        print("valid: the model is the ledger's; nothing has been deleted, so nothing is certified")
    else:
        print("valid: every number follows from the certificate's own history")
        if "model" in document:
            print(f"{document['model']}: the model that it names")
        for line in document["claim"]["statement"]:
            print(f"  {line}")
    if document["valid"] and "covered" in document:
        covered = document["covered"]
        print(
            f"covered: {len(covered['files'])} files and {covered['ledger_rows']:,} rows of the "
            "ledger, each as it was written"
        )
    if document.get("pending"):
        print(f"pending requests: {document['pending']}; honour them with expunge forget")
