"""`expunge verify FILE`: recompute a certificate's numbers from its own history."""

from typing import Annotated

import typer

from expunge.cli.output import print_json, read_text

__all__ = ["verify"]


def verify(
    file: Annotated[str, typer.Argument(help="Certificate as JSON; - reads standard input.")],
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Check a certificate; exit status 1 and the first wrong field if it does not hold."""
    from expunge.accounting.certificate import differences, parse_certificate

    certificate = parse_certificate(read_text(file))
    found = differences(certificate)
    if json:
        print_json(
            {
                "valid": not found,
                "first_difference": found[0].field if found else None,
                "differences": [difference._asdict() for difference in found],
                "claim": certificate.claim.model_dump(mode="json"),
            }
        )
    elif found:
        print(f"NOT VALID: {found[0].field} {found[0].problem}")
        for difference in found[1:]:
            print(f"  also {difference.field} {difference.problem}")
    else:
        print("valid: every number follows from the certificate's own history")
        for line in certificate.claim.statement:
            print(f"  {line}")
    if found:
        raise typer.Exit(1)
