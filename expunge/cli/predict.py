"""`expunge predict WORKSPACE FILE`: labels and probabilities by the current model."""

from pathlib import Path
from typing import Annotated

import typer

from expunge.cli.output import (
    Address,
    Decimal,
    EngineName,
    MaxInflated,
    Memory,
    Separator,
    TextEncoding,
    csv_form,
    print_json,
    print_unseen,
    table_limits,
)
from expunge.cli.stages import stages

__all__ = ["predict"]


def predict(
    workspace: Annotated[Path, typer.Argument()],
    file: Annotated[Path, typer.Argument(help="CSV or Parquet; a file, a folder, a pattern.")],
    output: Annotated[Path, typer.Option(help="CSV or Parquet to write.")],
    max_inflated: MaxInflated = None,
    separator: Separator = ",",
    decimal: Decimal = ".",
    text_encoding: TextEncoding = "utf-8",
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
            limits=table_limits(None, max_inflated),
            form=csv_form(separator, decimal, text_encoding),
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
