"""`expunge status WORKSPACE`: what is there, what was asked, what is certified."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from expunge.cli.output import number, print_json

__all__ = ["show", "show_understood", "status"]

MARKS = {
    "pending": "[red]PENDING[/red]",
    "committed": "[red]COMMITTED, NOT ERASED YET[/red]",
    "honoured": "[green]honoured[/green]",
}


def status(
    workspace: Annotated[Path, typer.Argument()],
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Show records, requests, model and certificate; exit status 1 if a file is missing."""
    from expunge.workspace.status import status as look

    document = look(workspace)
    if json:
        print_json(document)
    else:
        show(document)
        show_understood(document)
    if document["missing"]:
        raise typer.Exit(1)


def show(document: dict[str, Any]) -> None:
    """Print a status for people."""
    from rich.console import Console
    from rich.markup import escape

    console, records = Console(highlight=False, soft_wrap=True, emoji=False), document["records"]
    console.print(f"[bold]{escape(document['workspace'])}[/bold]")
    console.print(
        f"records: {records['public']:,} public, {records['private']:,} private, "
        f"{records['forgotten']:,} forgotten"
    )
    console.print(f"model {document['model']['number']}: {document['model']['sha256'][:16]}")
    for line in _capacities(document.get("capacity_curve")):
        console.print(line, markup=False)
    for request in document["requests"]:
        mark = MARKS[request["state"]]
        told = "" if request["certificate"] is None else f", certificate {request['certificate']}"
        name = escape(request["name"])
        console.print(f"{name}: {_records(request['records'])}, {mark}{told}")
    for fit in document["fits"]:
        mark = MARKS[fit["state"]]
        console.print(f"fit {fit['number']}, with model {fit['model']}, {fit['done']}: {mark}")
    for each in document["additions"]:
        what = f"{_records(each['records'])} joined at model {each['model']}, {each['done']}"
        console.print(f"{what}: {MARKS[each['state']]}")
    for entry in document["journal"]:
        mark = MARKS[entry["state"]]
        console.print(f"{entry['what']} of model {entry['model']}, {entry['done']}: {mark}")
    for path in document["unerased"]:
        console.print(f"not erased yet: {path}", markup=False)
    for path in document["missing"]:
        console.print(f"MISSING: {path}; restore it from a backup", markup=False)
    if document["lease"] is not None:
        lease = document["lease"]
        console.print(f"in work: {lease['holder']}, since {lease['taken']}", markup=False)
    certificate = document["certificate"]
    if certificate is None:
        since = " since this fit" if document["fits"] else ""
        console.print(f"no certificate yet: nothing has been deleted{since}")
        return
    for line in certificate["statement"]:
        console.print(line, markup=False)
    console.print(f"strategy {certificate['strategy']}, bound {certificate['bound']}")


def show_understood(document: dict[str, Any]) -> None:
    """Print what was understood of the tables: columns, settings, and what looks odd."""
    known = document["understood"]
    if known is None:
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console(highlight=False, soft_wrap=True, emoji=False)
    table = Table(title="columns", title_justify="left")
    for heading in ("column", "becomes", "from"):
        table.add_column(heading)
    for column in known["columns"]:
        table.add_row(escape(column["name"]), _becomes(column), column["from"])
    console.print(table)
    for setting in known["settings"]:
        value = setting["value"]
        shown = value if isinstance(value, str) else number(value)
        console.print(f"{setting['name']} {shown}: {setting['from']}", markup=False)
    _show_scores(console, document)
    for odd in known["suspicious"]:
        line = f"column {odd['column']!r}: {odd['problem']}; {odd['remedy']} leaves it out"
        console.print(line, markup=False)


def _becomes(column: dict[str, Any]) -> str:
    if column["becomes"] == "words":
        return f"words, hashed into {column['width']:,} numbers"
    if column["becomes"] == "categories":
        return f"{column['categories']:,} categories"
    return f"(x - {column['center']:.5g}) / {column['scale']:.5g}"


def _show_scores(console: Any, document: dict[str, Any]) -> None:
    known, model = document["understood"], document["on_public_records"]
    scaled, folds = known["rows_scaled_down"], known["public_folds"]
    if scaled is not None:
        console.print(f"rows scaled down: {scaled['public']:,} of {scaled['of']:,} public ones")
    if folds is not None:
        score = (
            f"R2 {number(folds['r2'])}"
            if "r2" in folds
            else (f"accuracy {number(folds['accuracy'])}, majority {number(folds['majority'])}")
        )
        console.print(f"public records alone, on public rows not seen: {score}")
    if model is not None:
        score = (
            f"accuracy {number(model['accuracy'])}"
            if "accuracy" in model
            else f"error {number(model['root_mean_square_error'])}"
        )
        console.print(f"this model, on the public rows that it was trained on: {score}")


def _records(count: int) -> str:
    return "1 record" if count == 1 else f"{count:,} records"


def _capacities(curve: dict[str, Any] | None) -> Iterator[str]:
    """What other capacities would cost, a line for each."""
    if curve is None:
        return
    yield (
        f"{curve['measure']} on public records held out: {curve['public_only']:.3f} for the model "
        f"of public records alone, {curve['constant']:.3f} for a constant, and by capacity"
    )
    for point in curve["points"]:
        records = _records(point["records"])
        yield f"  {point['capacity']:g} ({records}): {point['score']:.3f}"
