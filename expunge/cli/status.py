"""`expunge status WORKSPACE`: what is there, what was asked, what is certified."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from expunge.cli.output import print_json

__all__ = ["show", "status"]

MARKS = {
    "pending": "[red]PENDING[/red]",
    "committed": "[red]COMMITTED, NOT ERASED YET[/red]",
    "honoured": "[green]honoured[/green]",
}


def status(
    workspace: Annotated[Path, typer.Argument()],
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Show records, requests, the current model and its certificate."""
    from expunge.workspace.status import status as look

    document = look(workspace)
    print_json(document) if json else show(document)


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
    if document["settled"] is not None:
        console.print(_settings(document["settled"]), markup=False)
    for line in _capacities(document.get("capacity_curve")):
        console.print(line, markup=False)
    for request in document["requests"]:
        mark = MARKS[request["state"]]
        console.print(f"{escape(request['name'])}: {_records(request['records'])}, {mark}")
    for path in document["unerased"]:
        console.print(f"not erased yet: {path}", markup=False)
    if document["lease"] is not None:
        lease = document["lease"]
        console.print(f"in work: {lease['holder']}, since {lease['taken']}", markup=False)
    certificate = document["certificate"]
    if certificate is None:
        console.print("no certificate yet: nothing has been deleted")
        return
    for line in certificate["statement"]:
        console.print(line, markup=False)
    console.print(f"strategy {certificate['strategy']}, bound {certificate['bound']}")


def _records(count: int) -> str:
    return "1 record" if count == 1 else f"{count:,} records"


def _settings(settled: dict[str, Any]) -> str:
    """The settings of the model in one line, each with where it came from."""
    parts = [
        f"{name} {settled[name]:.4g} ({settled[f'{name}_from']})" for name in ("l2", "row_norm")
    ]
    if settled["capacity"] is not None:
        parts.append(f"capacity {settled['capacity']:g}")
    return f"settings: strategy {settled['strategy']}, {', '.join(parts)}"


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
