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
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Write a self-contained report: what was certified, for whom, at what cost."""
    from expunge.workspace.report import report as write

    with stages("report") as progress:
        progress("drawing")
        document = write(workspace, output)
    print_json(document) if json else print(f"report: {document['output']}")
