"""`expunge forget WORKSPACE`: honour a deletion request."""

import sys
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from expunge.cli.output import one_line, print_json, read_text
from expunge.cli.stages import stages
from expunge.cli.status import show

__all__ = ["forget"]


def forget(
    workspace: Annotated[Path, typer.Argument()],
    id: Annotated[list[str] | None, typer.Argument(help="Ids to delete.")] = None,  # noqa: A002
    ids: Annotated[
        str | None, typer.Option(help="File with one id a line; - reads standard input.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="What to call the request.")] = None,
    skip_unknown: Annotated[
        bool, typer.Option(help="Leave out ids that are no private record's.")
    ] = False,
    skip_forgotten: Annotated[
        bool, typer.Option(help="Leave out ids that are forgotten already.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Delete records from the model; without ids, finish what an interrupted run left pending."""
    from expunge.workspace.forget import Pending
    from expunge.workspace.forget import forget as honour
    from expunge.workspace.tables import read_ids

    wanted = list(id or ())
    if ids is not None:
        wanted += read_ids(read_text(ids))
        if not wanted:
            raise typer.BadParameter(f"{ids}: no ids in it", param_hint="--ids")
    try:
        with stages("forget") as progress:
            document = honour(
                workspace,
                wanted,
                name=name,
                skip_unknown=skip_unknown,
                skip_forgotten=skip_forgotten,
                progress=progress,
            )
    except Pending as error:  # recorded, so not the same as bad input
        print_json(error.document) if json else show(error.document)
        print(f"expunge: {one_line(str(error))}", file=sys.stderr)
        raise typer.Exit(1) from error
    if json:
        print_json(document)
        return
    if document["repeated"] is not None:
        print(f"{document['repeated']} was asked before; this is how it stands")
    elif skip_unknown or skip_forgotten:
        counts = Counter(entry["outcome"] for entry in document["outcomes"])
        print(", ".join(f"{outcome}: {count:,}" for outcome, count in counts.items()))
    show(document)
