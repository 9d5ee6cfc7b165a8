"""`expunge add WORKSPACE`: new records join the model."""

from pathlib import Path
from typing import Annotated

import typer

from expunge.cli.output import print_json
from expunge.cli.stages import notices, stages
from expunge.cli.status import show
from expunge.cli.table_options import Tables, reads_tables
from expunge.cli.unfinished import may_stay_unfinished

__all__ = ["add"]


@reads_tables
def add(
    workspace: Annotated[Path, typer.Argument()],
    private: Annotated[
        Path, typer.Option(help="Records that join: CSV or Parquet, or a folder of them.")
    ],
    tables: Tables,
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
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Take new records into the model, or correct some; the ledger goes on."""
    from expunge.workspace.add import add as join

    with may_stay_unfinished(json=json), notices() as notice, stages("add") as progress:
        document = join(
            workspace,
            private,
            again=again,
            replace=replace,
            name=name,
            limits=tables.limits(),
            form=tables.form,
            progress=progress,
            notice=notice,
        )
    print_json(document) if json else show(document)
