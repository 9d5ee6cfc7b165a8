"""`expunge refresh WORKSPACE`: a new anchor, and the earlier secret state erased."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from expunge.cli.output import Address, EngineName, one_line, print_json
from expunge.cli.stages import stages
from expunge.cli.status import show

__all__ = ["refresh"]


def refresh(
    workspace: Annotated[Path, typer.Argument()],
    engine: EngineName = "local",
    address: Address = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Make the secret state anew in one pass, and erase the one before; the model stays."""
    from expunge.workspace.forget import Pending
    from expunge.workspace.refresh import refresh as renew

    try:
        with stages("refresh") as progress:
            document = renew(workspace, engine=engine, address=address, progress=progress)
    except Pending as error:  # the new state counts, so not the same as bad input
        print_json(error.document) if json else show(error.document)
        print(f"expunge: {one_line(str(error))}", file=sys.stderr)
        raise typer.Exit(1) from error
    print_json(document) if json else show(document)
