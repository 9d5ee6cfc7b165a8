"""`expunge report WORKSPACE`: one HTML file for people."""

from pathlib import Path
from typing import Annotated

import typer

from expunge.cli.output import print_json
from expunge.cli.stages import stages

__all__ = ["report"]


def report(
    workspace: Annotated[Path, typer.Argument()],
    output: Annotated[Path, typer.Option(help="HTML file to write.")] = Path("report.html"),
    operator: Annotated[
        str | None,
        typer.Option(envvar="EXPUNGE_OPERATOR", help="Who answers for the workspace, by name."),
    ] = None,
    test: Annotated[
        Path | None,
        typer.Option(help="Labelled rows that the model has never seen: its accuracy on them."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Check a workspace, and write a self-contained report: what was certified, for whom."""
    from expunge.workspace.report import report as write

    with stages("report") as progress:
        progress("checking and drawing")
        document = write(workspace, output, operator=operator, test=test)
    print_json(document) if json else print(f"report: {document['output']}")
