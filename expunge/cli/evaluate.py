"""`expunge evaluate WORKSPACE --data FILE`: how well the model does on rows of yours."""

from pathlib import Path
from typing import Annotated, Any

import typer

from expunge.cli.output import Memory, number, print_json, print_unseen
from expunge.cli.stages import stages
from expunge.cli.table_options import Tables, reads_tables

__all__ = ["evaluate"]


@reads_tables
def evaluate(
    workspace: Annotated[Path, typer.Argument()],
    data: Annotated[
        Path, typer.Option(help="Rows with labels: CSV or Parquet; a file, a folder, a pattern.")
    ],
    tables: Tables,
    memory: Memory = 0.5,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Score the model on a table, beside the public-only model and the majority class."""
    from expunge.workspace.evaluate import evaluate as score

    with stages("evaluate") as progress:
        document = score(
            workspace,
            data,
            limits=tables.limits(),
            form=tables.form,
            memory=memory,
            progress=progress,
        )
    if json:
        print_json(document)
    else:
        _print(document)


def _print(document: dict[str, Any]) -> None:
    name, field = ("R2", "r2") if document["task"] == "regression" else ("accuracy", "accuracy")
    majority, alone = document["majority"], document["public_only"]
    print(f"{document['rows']:,} rows of {document['data']}, {name}:")
    print(f"  this model           {number(document[field])}")
    if alone is not None:
        print(f"  public records only  {number(alone[field])}")
    said = f"always {majority['label']!r}" if "label" in majority else "always the mean"
    print(f"  {said:<20} {number(majority[field])}")
    if document["unknown_labels"]:
        print(f"labels that the model does not know: {document['unknown_labels']:,}, all mistakes")
    print_unseen(document["unseen_categories"])
    trained = sum((document["trained_on"] or {}).values())
    if trained:
        print(f"the model was trained on {trained:,} of these rows: that flatters it")
