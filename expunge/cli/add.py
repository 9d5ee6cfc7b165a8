"""`expunge add WORKSPACE`: new records join the model."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from expunge.cli.output import (
    Decimal,
    MaxInflated,
    Separator,
    TextEncoding,
    csv_form,
    one_line,
    print_json,
    table_limits,
    tell,
)
from expunge.cli.stages import stages
from expunge.cli.status import show

__all__ = ["add"]


def add(
    workspace: Annotated[Path, typer.Argument()],
    private: Annotated[
        Path, typer.Option(help="Records that join: CSV or Parquet, or a folder of them.")
    ],
    again: Annotated[
        bool, typer.Option("--again", help="Ids that were forgotten may come back.")
    ] = False,
    replace: Annotated[
        bool,
        typer.Option(
            "--replace",
            help="They correct those with the same ids, which are forgotten in the same request.",
        ),
    ] = False,
    name: Annotated[str | None, typer.Option(help="What to call the request of --replace.")] = None,
    max_inflated: MaxInflated = None,
    separator: Separator = ",",
    decimal: Decimal = ".",
    text_encoding: TextEncoding = "utf-8",
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Take new records into the model, or correct some; the ledger goes on."""
    from expunge.workspace.add import add as join
    from expunge.workspace.forget import Pending

    notices: list[str] = []
    try:
        with stages("add") as progress:
            document = join(
                workspace,
                private,
                again=again,
                replace=replace,
                name=name,
                limits=table_limits(None, max_inflated),
                form=csv_form(separator, decimal, text_encoding),
                progress=progress,
                notice=notices.append,
            )
    except Pending as error:  # they have joined, so not the same as bad input
        print_json(error.document) if json else show(error.document)
        print(f"expunge: {one_line(str(error))}", file=sys.stderr)
        raise typer.Exit(1) from error
    for line in notices:
        tell(line)
    print_json(document) if json else show(document)
