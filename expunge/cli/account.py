"""`expunge account FILE`: every bound for a history."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from expunge.cli.output import MaxDepth, MaxKeys, json_limits, number, print_json, read_text
from expunge.core.whole_file import write_whole

if TYPE_CHECKING:
    from expunge.accounting import Account

__all__ = ["account"]


def account(
    file: Annotated[str, typer.Argument(help="History as JSON; - reads standard input.")],
    certificate: Annotated[
        Path | None, typer.Option(help="Write a certificate of the best bound to this file.")
    ] = None,
    bound: Annotated[
        str | None, typer.Option(help="A bound of another package, to be taken as the best.")
    ] = None,
    max_keys: MaxKeys = None,
    max_depth: MaxDepth = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Compute every bound for a history: what a model's past certifies."""
    from expunge.accounting import account as judge
    from expunge.accounting.document import parse_account

    request = parse_account(read_text(file), json_limits(max_keys, max_depth))
    assumptions, history = request.records()
    judged = judge(assumptions, history, delta=request.delta, orders=request.orders, bound=bound)
    if certificate is not None:
        from expunge.accounting.issue import issue
        from expunge.accounting.kinds import descent_of
        from expunge.accounting.stated import Stated

        issued = issue(
            assumptions,
            history,
            delta=request.delta,
            orders=request.orders,
            stated=Stated(strategy=descent_of(assumptions, history)),
            bound=bound,
        )
        write_whole(certificate, (issued.readable() + "\n").encode())
    if json:
        print_json(judged.document())
    else:
        _print(judged, request.delta, request.orders)


def _print(judged: "Account", delta: float, orders: list[float]) -> None:
    from rich.console import Console
    from rich.table import Table

    from expunge.accounting.account import order_key

    console = Console()
    table = Table(title=f"epsilon at delta = {delta:g}, {judged.regime} loss", title_justify="left")
    for heading in ("bound", "epsilon", *(f"D_{order:g}" for order in orders)):
        table.add_column(heading, justify="left" if heading == "bound" else "right", no_wrap=True)
    for name, figures in judged.bounds.items():
        style = "bold green" if name == judged.best else None
        if figures.refused is not None:
            continue
        renyi = figures.renyi or {}
        cells = [number(renyi.get(order_key(order))) for order in orders]
        table.add_row(name, number(figures.epsilon), *cells, style=style)
    console.print(table)
    for name, figures in judged.bounds.items():
        if figures.refused is not None:
            console.print(f"  [dim]{name}: {figures.refused}[/dim]")
    if judged.best is None:
        console.print(f"[bold red]no certificate[/bold red]: {judged.best_reason}")
    else:
        console.print(f"best: [bold]{judged.best}[/bold], {judged.best_reason}")
        console.print(f"proof: {judged.proof}")
    if judged.vacuous:
        console.print("[bold red]VACUOUS[/bold red]: this is not a useful protection")
    console.print(f"observer: {judged.observer}\ncomparator: {judged.comparator}")
    for line in judged.scope:
        console.print(f"  - {line}")
