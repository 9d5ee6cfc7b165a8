"""`expunge export WORKSPACE --to DIR`: the predictor and its papers, to be handed out."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from expunge.cli.output import print_json
from expunge.cli.stages import stages

__all__ = ["export"]


def export(
    workspace: Annotated[Path, typer.Argument()],
    to: Annotated[Path, typer.Option(help="Folder to make.")],
    format: Annotated[  # noqa: A002
        Literal["onnx", "sklearn", "safetensors"],
        typer.Option(help="The first two take a table's columns, and need expunge[export]."),
    ] = "safetensors",
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Write what may leave: predictor, encoding, certificate, model card; no record, no id."""
    from expunge.workspace.export import export as write

    with stages("export") as progress:
        progress("writing")
        document = write(workspace, to, format=format)
    if json:
        print_json(document)
    else:
        print(f"{document['to']}: {', '.join(document['files'])}")
