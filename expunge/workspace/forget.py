"""`forget`: the way of a request, from the ledger to its certificate and to erasure.

    pending     recorded, by a transaction of its own that waits for nobody's training
                in work while a process holds the lease: it trains and writes new files outside any
                transaction, and nothing that it writes counts yet
    committed   one transaction made the new model and its certificate current and marked the
                records; it is refused to a lease that was taken over, and to a model that began
                with another than the current one. Files that knew the records are still there
    honoured    they are erased, and the ledger's log of earlier entries with them

A request goes from state to state in this order and never back. Whoever is killed leaves it in the
last state that was reached, and the next `forget` goes on from there: with the same ids, with
others, or with none. A file that cannot be erased keeps a request `committed`; every `forget` tries
again. What cannot be asked for is refused and not recorded; a request for which there is no
certificate stays pending, and the command that asked says why.

One process works at a time. Others record their requests meanwhile and wait until these are
honoured, by whom is all the same; where the process at work dies, the next takes over
(`workspace.see_through`).

`forget_batch` records many requests at once. One model honours them, so they go from state to state
together, all or none of them.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from pathlib import Path
from typing import Any

from expunge.core.part_engine import PartEngine, working
from expunge.errors import InvalidInput
from expunge.ledger import Entries, IdOutcome, Request
from expunge.workspace.at_work import Pending
from expunge.workspace.folder import Folder
from expunge.workspace.given_ids import known_ids
from expunge.workspace.see_through import Worked, see_through, unfinished
from expunge.workspace.status import status

__all__ = ["forget", "forget_batch", "outcomes_to_skip"]

Progress = Callable[[str], None]


def forget(
    workspace: Path,
    ids: Sequence[str] = (),
    *,
    name: str | None = None,
    skip_unknown: bool = False,
    skip_forgotten: bool = False,
    engine: str | PartEngine = "local",
    address: str | None = None,
    progress: Progress = lambda _: None,
) -> dict[str, Any]:
    """Record a request for these ids, then honour everything that is not honoured yet, in order.

    Without ids it takes up what interrupted runs left. A request for the same ids under the same
    name is the same request: it is taken up where it stands, or reported. What became of each id
    is in `outcomes`, once all is honoured.

    Args:
        skip_unknown: Leave out ids that are no private record's.
        skip_forgotten: Leave out ids of records that earlier requests have deleted.
        engine, address: Where passes are computed, if the request needs some: "local", or "ray"
            with the address of a cluster, None for one on this machine.

    Raises:
        InvalidInput: ids that cannot be deleted, each of them named; nothing was recorded.
        Pending: this request (without ids: any) is recorded but could not be honoured: there is
            no certificate for it, or a file could not be erased.
        Busy: the ledger cannot be written; nothing was recorded.
    """
    folder = Folder.opened(workspace)
    skipped = outcomes_to_skip(unknown=skip_unknown, forgotten=skip_forgotten)
    asked, repeated, outcomes = _record(folder, ids, name, skipped)
    waiting = unfinished(folder)
    if not ids and not waiting:
        raise InvalidInput("ids", "none given, and no request is pending")
    worked = Worked()
    if waiting:
        wanted = waiting if asked is None else [asked.number]
        with working(engine, address) as parts:
            worked = see_through(folder, wanted, parts, progress)
    again = asked.name if asked is not None and repeated else None
    document = _document(folder, worked, None if asked is None else [asked], again)
    named = [{"id": record, "outcome": outcome} for record, outcome in outcomes.items()]
    return document | {"outcomes": named}


def forget_batch(
    workspace: Path,
    requests: Mapping[str, Sequence[str]],
    *,
    each: bool = True,
    skip_unknown: bool = False,
    skip_forgotten: bool = False,
    engine: str | PartEngine = "local",
    address: str | None = None,
    progress: Progress = lambda _: None,
) -> dict[str, Any]:
    """Record these requests, then honour them by one model, after everything that is pending.

    A request that was recorded before, under the same name and for the same ids, is not recorded
    again: it is taken up where it stands, with the certificate asked for then, and is in
    `repeated`.

    Args:
        requests: The ids of each, by its name; no id is in two of them.
        each: A certificate for each request; else one for all of them.
        skip_unknown, skip_forgotten: As for `forget`; a request of which nothing is left is none.
        engine, address: As for `forget`.

    Raises:
        InvalidInput: no requests, or names or ids that cannot be taken, each of them named; nothing
            was recorded.
        Pending: they are recorded but could not be honoured.
        Busy: the ledger cannot be written; nothing was recorded.
    """
    if not requests:
        raise InvalidInput("requests", "none given")
    folder = Folder.opened(workspace)
    skipped = outcomes_to_skip(unknown=skip_unknown, forgotten=skip_forgotten)
    with folder.ledger.writing() as entries:
        named = _composed(entries, requests)
        outcomes = entries.outcomes([record for ids in named.values() for record in ids])
        repeated, asked = _sort_out(entries, named, outcomes, skipped)
        recorded = list(entries.add_batch(asked, each=each).requests) if asked else []
    waiting, worked, wanted = unfinished(folder), Worked(), [*repeated, *recorded]
    if waiting:
        with working(engine, address) as parts:
            worked = see_through(folder, [one.number for one in wanted], parts, progress)
    document = _document(folder, worked, wanted, [request.name for request in repeated])
    each_id = ((name, record) for name, ids in named.items() for record in ids)
    return document | {
        "outcomes": [
            {"request": name, "id": record, "outcome": outcomes[record]} for name, record in each_id
        ]
    }


def _composed(entries: Entries, requests: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """The ids of each request as the ledger has them."""
    every = iter(known_ids(entries, [record for ids in requests.values() for record in ids]))
    return {name: [next(every) for _ in ids] for name, ids in requests.items()}


def _sort_out(
    entries: Entries,
    named: Mapping[str, list[str]],
    outcomes: Mapping[str, IdOutcome],
    skipped: Set[str],
) -> tuple[list[Request], list[tuple[str, list[str]]]]:
    """Requests that are recorded already, and the others with the ids that are left of them.

    Raises:
        InvalidInput: an id that is left is in two requests; all three are named.
    """
    repeated: list[Request] = []
    asked: list[tuple[str, list[str]]] = []
    first: dict[str, str] = {}
    for name, ids in named.items():
        left = [record for record in ids if outcomes[record] not in skipped]
        for record in left:
            if first.setdefault(record, name) != name:
                raise InvalidInput("ids", f"{record!r} is in {first[record]!r} and in {name!r}")
        known = entries.find_request(ids, name)
        if known is None and left and skipped:
            known = entries.find_request(left, name)
        if known is not None:
            repeated.append(known)
        elif left or not ids:  # no ids at all is refused by whoever records it
            asked.append((name, left))
    return repeated, asked


def _document(
    folder: Folder, worked: Worked, asked: Iterable[Request] | None, repeated: Any
) -> dict[str, Any]:
    """The status, with what was honoured and what was refused.

    Args:
        asked: The requests that must be honoured; None for all of them.
        repeated: What of it was recorded before.

    Raises:
        Pending: one of them is not.
    """
    folder.ledger.close()
    document = status(folder.path) | {
        "honoured": worked.honoured,
        "refused": list(worked.problems.values()),
        "repeated": repeated,
    }
    numbers = None if asked is None else {request.number for request in asked}
    for number, problem in worked.problems.items():
        if numbers is None or number in numbers:
            raise Pending(problem, document)
    return document


def outcomes_to_skip(*, unknown: bool, forgotten: bool) -> set[str]:
    """The outcomes of ids that a request leaves out."""
    skipped = {"unknown", "public"} if unknown else set()
    return skipped | ({"already forgotten"} if forgotten else set())


def _record(
    folder: Folder, ids: Sequence[str], name: str | None, skipped: Set[str]
) -> tuple[Request | None, bool, dict[str, IdOutcome]]:
    """The request, None without ids to ask for; whether it was recorded before; each id's outcome.

    Args:
        skipped: Outcomes of ids that are left out of the request.
    """
    if not ids:
        return None, False, {}
    with folder.ledger.writing() as entries:
        ids = known_ids(entries, ids)
        known = entries.find_request(ids, name)
        outcomes = entries.outcomes(ids)
        if known is None:
            ids = [record for record in ids if outcomes[record] not in skipped]
            if not ids:
                return None, False, outcomes
            known = entries.find_request(ids, name) if skipped else None
        return known or entries.add_request(ids, name), known is not None, outcomes
