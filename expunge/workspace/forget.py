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
honoured, by whom is all the same; where the process at work dies, the next takes over.
"""

import logging
import time
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from expunge.core.part_engine import PartEngine, working
from expunge.errors import InvalidInput, Refused
from expunge.ledger import Busy, IdOutcome, Lease, Overtaken, Request
from expunge.store import Locked
from expunge.workspace.at_work import PAUSE
from expunge.workspace.folder import Folder
from expunge.workspace.given_ids import known_ids
from expunge.workspace.status import status

__all__ = ["Pending", "forget", "outcomes_to_skip"]

Progress = Callable[[str], None]
LOG = logging.getLogger(__name__)


class Pending(Refused):
    """A request is recorded, but not honoured yet; `document` is the status as it stands."""

    def __init__(self, problem: str, document: dict[str, Any]) -> None:
        super().__init__(problem)
        self.document = document


@dataclass
class _Outcome:
    """What came of the requests: names of those honoured, and what is wrong with others."""

    honoured: list[str] = field(default_factory=list)
    problems: dict[int, str] = field(default_factory=dict)


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
    waiting = _unfinished(folder)
    if not ids and not waiting:
        raise InvalidInput("ids", "none given, and no request is pending")
    outcome = _Outcome()
    if waiting:
        wanted = waiting if asked is None else [asked.number]
        with working(engine, address) as parts:
            outcome = _see_through(folder, wanted, parts, progress)
    folder.ledger.close()
    document = status(workspace) | {
        "honoured": outcome.honoured,
        "refused": list(outcome.problems.values()),
        "repeated": asked.name if asked is not None and repeated else None,
    }
    for number, problem in outcome.problems.items():
        if asked is None or asked.number == number:
            raise Pending(problem, document)
    named = [{"id": record, "outcome": outcome} for record, outcome in outcomes.items()]
    return document | {"outcomes": named}


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


def _unfinished(folder: Folder) -> list[int]:
    return folder.look(
        lambda entries, _: [r.number for r in entries.requests() if r.state != "honoured"]
    )


def _see_through(
    folder: Folder, wanted: list[int], engine: PartEngine, progress: Progress
) -> _Outcome:
    """Work on the requests, or wait for whoever does, until the wanted ones are honoured."""
    while True:
        try:
            with folder.leased() as lease:
                return _work(folder, lease, engine, progress)
        except (Locked, Overtaken):
            pass
        except (Busy, InvalidInput, OSError) as error:
            return _Outcome(problems={n: f"request {n} stays pending: {error}" for n in wanted})
        states = folder.look(lambda entries, _: [entries.state_of(number) for number in wanted])
        if all(state == "honoured" for state in states):
            return _Outcome(
                folder.look(lambda entries, _: [entries.request(n).name for n in wanted])
            )
        progress("waiting for the process that works on the requests")
        time.sleep(PAUSE)


def _work(folder: Folder, lease: Lease, engine: PartEngine, progress: Progress) -> _Outcome:
    """Finish what is committed, then honour what is pending, as long as there is some.

    Raises:
        Overtaken: another process has taken the lease.
    """
    from expunge.workspace.honour import honour  # loads torch: the request is safe by now

    outcome = _Outcome()
    _erase(folder, lease, outcome)
    while (request := _next_pending(folder, outcome)) is not None:
        try:
            honour(folder, lease, request, progress, engine)
        except Overtaken:
            raise
        except (Refused, InvalidInput, OSError) as error:
            outcome.problems[request.number] = f"request {request.number} stays pending: {error}"
        _erase(folder, lease, outcome)
    return outcome


def _next_pending(folder: Folder, outcome: _Outcome) -> Request | None:
    """The earliest pending request that was not tried yet."""
    pending = folder.look(lambda entries, _: entries.requests("pending"))
    return next((one for one in pending if one.number not in outcome.problems), None)


def _erase(folder: Folder, lease: Lease, outcome: _Outcome) -> None:
    """Erase what is not current; note which requests are honoured by that, or why they are not."""
    committed = folder.look(lambda entries, _: entries.requests("committed"))
    try:
        left = list(folder.finish(lease))
    except Overtaken:
        raise
    except (Refused, InvalidInput, OSError) as error:
        left = [str(error)]
    for request in committed:
        outcome.problems.pop(request.number, None)
        if not left:
            LOG.info("request %d honoured: %d records", request.number, len(request.records))
            outcome.honoured.append(request.name)
            continue
        more = f" and {len(left) - 1} more" if len(left) > 1 else ""
        outcome.problems[request.number] = (
            f"request {request.number} is committed, but not erased: {left[0]}{more}; "
            f"repair it, then run expunge forget {folder.path}"
        )
