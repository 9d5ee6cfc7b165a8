"""`expunge refresh WORKSPACE`: a new anchor, and the earlier secret state erased."""

from pathlib import Path
from typing import Annotated

import typer

from expunge.cli.output import Address, EngineName, print_json
from expunge.cli.stages import stages
from expunge.cli.status import show
from expunge.cli.unfinished import may_stay_unfinished

__all__ = ["refresh"]


def refresh(
    workspace: Annotated[Path, typer.Argument()],
    engine: EngineName = "local",
    address: Address = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Make the secret state anew in one pass, and erase the one before; the model stays."""
    from expunge.workspace.refresh import refresh as renew

    with may_stay_unfinished(json=json), stages("refresh") as progress:
        document = renew(workspace, engine=engine, address=address, progress=progress)
    print_json(document) if json else show(document)
