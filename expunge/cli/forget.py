"""`expunge forget WORKSPACE`: honour a deletion request, or many by one model."""

import sys
from collections import Counter
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from expunge.cli.output import Address, EngineName, number, one_line, print_json, read_text, tell
from expunge.cli.stages import stages
from expunge.cli.status import show
from expunge.cli.unfinished import may_stay_unfinished

__all__ = ["forget"]


def forget(
    workspace: Annotated[Path, typer.Argument()],
    id: Annotated[list[str] | None, typer.Argument(help="Ids to delete.")] = None,  # noqa: A002
    ids: Annotated[
        str | None, typer.Option(help="File with one id a line; - reads standard input.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="What to call the request.")] = None,
    requests: Annotated[
        Path | None,
        typer.Option(help="Table of many requests: a column `request` with names, and one of ids."),
    ] = None,
    certificates: Annotated[
        Literal["each", "together"],
        typer.Option(help="Of many requests: one certificate for each, or one for all."),
    ] = "each",
    skip_unknown: Annotated[
        bool, typer.Option(help="Leave out ids that are no private record's.")
    ] = False,
    skip_forgotten: Annotated[
        bool, typer.Option(help="Leave out ids that are forgotten already.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what it would come to; change nothing.")
    ] = False,
    engine: EngineName = "local",
    address: Address = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Delete records from the model; without ids, finish what an interrupted run left pending."""
    from expunge.workspace.forget import forget as honour
    from expunge.workspace.forget import forget_batch

    named = _given_requests(workspace, requests, id, ids, name)
    wanted = [record for some in named.values() for record in some] or _given_ids(id, ids)
    if dry_run:
        _rehearse(workspace, wanted, name, skip_unknown, skip_forgotten, json)
        return
    how: dict[str, Any] = {
        "skip_unknown": skip_unknown,
        "skip_forgotten": skip_forgotten,
        "engine": engine,
        "address": address,
    }
    with may_stay_unfinished(json=json), stages("forget") as progress:
        if named:
            each = certificates == "each"
            document = forget_batch(workspace, named, each=each, progress=progress, **how)
        else:
            document = honour(workspace, wanted, name=name, progress=progress, **how)
    if json:
        print_json(document)
        return
    if named and document["repeated"]:
        print(f"{len(document['repeated']):,} of {len(named):,} requests were asked before")
    elif not named and document["repeated"] is not None:
        print(f"{document['repeated']} was asked before; this is how it stands")
    elif skip_unknown or skip_forgotten:
        _print_outcomes(document)
    show(document)


def _given_ids(id: list[str] | None, ids: str | None) -> list[str]:  # noqa: A002
    """The ids of both places; surrounding spaces do not count, and are reported."""
    from expunge.workspace.given_ids import trim_ids
    from expunge.workspace.tables import read_ids

    given = list(id or ())
    if ids is not None:
        given += read_ids(read_text(ids))
        if not given:
            raise typer.BadParameter(f"{ids}: no ids in it", param_hint="--ids")
    wanted, spaced = trim_ids(given)
    if spaced:
        some = "1 id has" if spaced == 1 else f"{spaced:,} ids have"
        tell(f"{some} spaces around, which do not count")
    return wanted


def _given_requests(
    workspace: Path,
    requests: Path | None,
    id: list[str] | None,  # noqa: A002
    ids: str | None,
    name: str | None,
) -> dict[str, list[str]]:
    """The ids of many requests by their names; none where no table of requests was given."""
    if requests is None:
        return {}
    if id or ids is not None or name is not None:
        raise typer.BadParameter(
            "has names and ids; give no others beside it", param_hint="--requests"
        )
    from expunge.workspace.request_table import read_requests

    return read_requests(workspace, requests)


def _rehearse(
    workspace: Path,
    ids: list[str],
    name: str | None,
    skip_unknown: bool,
    skip_forgotten: bool,
    json: bool,
) -> None:
    """Print what the request would come to; exit status 1 if it would be refused."""
    from expunge.workspace.forget import outcomes_to_skip
    from expunge.workspace.rehearse import rehearse

    skipped = outcomes_to_skip(unknown=skip_unknown, forgotten=skip_forgotten)
    with stages("dry run") as progress:
        document = rehearse(workspace, ids, name=name, skipped=skipped, progress=progress)
    print_json(document) if json else _print_rehearsal(document)
    if not document["accepted"]:
        print(f"expunge: would be refused: {one_line(document['problem'])}", file=sys.stderr)
        raise typer.Exit(1)


def _print_outcomes(document: dict[str, Any]) -> None:
    counts = Counter(entry["outcome"] for entry in document["outcomes"])
    print(", ".join(f"{outcome}: {count:,}" for outcome, count in counts.items()))


def _print_rehearsal(document: dict[str, Any]) -> None:
    print("dry run: nothing is recorded, nothing changes")
    _print_outcomes(document)
    if document["repeated"] is not None:
        print(f"{document['repeated']} was asked before")
    if document["claim"] is None:
        return
    claim, price, records = document["claim"], document["price"], document["records"]
    steps = "?" if price is None else number(price["steps"])
    print(f"strategy {document['strategy']}: typically {steps} passes over the records")
    for other in document["strategies"]:
        if other["name"] != document["strategy"] and other["excluded"] is None:
            print(f"  {other['name']}: {number(other['steps'])} passes")
    print(f"certified: epsilon {claim['epsilon']:g} at delta {claim['delta']:g} at most, ", end="")
    print(f"observer {claim['observer']}, earlier releases {claim['earlier_releases']}")
    print(f"records afterwards: {records['private']:,} private, {records['forgotten']:,} forgotten")
