"""`expunge predict WORKSPACE FILE`: labels and probabilities by the current model."""

from pathlib import Path
from typing import Annotated

import typer

from expunge.cli.output import Address, EngineName, Memory, print_json, print_unseen
from expunge.cli.stages import stages
from expunge.cli.table_options import Tables, reads_tables

__all__ = ["predict"]


@reads_tables
def predict(
    workspace: Annotated[Path, typer.Argument()],
    file: Annotated[Path, typer.Argument(help="CSV or Parquet; a file, a folder, a pattern.")],
    output: Annotated[Path, typer.Option(help="CSV or Parquet to write.")],
    tables: Tables,
    memory: Memory = 0.5,
    engine: EngineName = "local",
    address: Address = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Predict for a table: ids, prediction, one probability column a class."""
    from expunge.workspace.predict import predict as write

    with stages("predict") as progress:
        document = write(
            workspace,
            file,
            output,
            limits=tables.limits(),
            form=tables.form,
            memory=memory,
            engine=engine,
            address=address,
            progress=progress,
        )
    if json:
        print_json(document)
    else:
        print(f"{document['rows']:,} predictions: {document['output']}")
        print_unseen(document["unseen_categories"])
