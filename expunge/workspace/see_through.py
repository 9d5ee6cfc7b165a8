"""Requests seen through: from what is pending to what is honoured, by this process or another.

One process works at a time. Whoever finds one at work waits until it has honoured the requests, or
takes over where it died. `workspace.forget` has the states.
"""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from expunge.core.part_engine import PartEngine
from expunge.errors import InvalidInput, Refused
from expunge.ledger import Busy, Entries, Lease, Model, Overtaken, RequestBatch
from expunge.store import Locked
from expunge.workspace.at_work import PAUSE
from expunge.workspace.folder import Folder

__all__ = ["Worked", "see_through", "unfinished"]

Progress = Callable[[str], None]
LOG = logging.getLogger(__name__)


@dataclass
class Worked:
    """What came of the requests: names of those honoured, and what is wrong with others."""

    honoured: list[str] = field(default_factory=list)
    problems: dict[int, str] = field(default_factory=dict)


def unfinished(folder: Folder) -> list[int]:
    """The numbers of the requests that are not honoured yet."""
    return folder.look(
        lambda entries, _: [r.number for r in entries.requests() if r.state != "honoured"]
    )


def see_through(
    folder: Folder, wanted: list[int], engine: PartEngine, progress: Progress
) -> Worked:
    """Work on the requests, or wait for whoever does, until the wanted ones are honoured."""
    while True:
        try:
            with folder.leased() as lease:
                return _work(folder, lease, engine, progress)
        except (Locked, Overtaken):
            pass
        except (Busy, InvalidInput, OSError) as error:
            return Worked(problems={n: f"request {n} stays pending: {error}" for n in wanted})
        states = folder.look(lambda entries, _: [entries.state_of(number) for number in wanted])
        if all(state == "honoured" for state in states):
            return Worked(folder.look(lambda entries, _: [entries.request(n).name for n in wanted]))
        progress("waiting for the process that works on the requests")
        time.sleep(PAUSE)


def _work(folder: Folder, lease: Lease, engine: PartEngine, progress: Progress) -> Worked:
    """Finish what is committed, then honour what is pending, as long as there is some.

    Raises:
        Overtaken: another process has taken the lease.
    """
    from expunge.workspace.honour import honour  # loads torch: the request is safe by now

    outcome = Worked()
    _erase(folder, lease, outcome)
    while (batch := _next_pending(folder, outcome)) is not None:
        try:
            honour(folder, lease, batch, progress, engine)
        except Overtaken:
            raise
        except (Refused, InvalidInput, OSError) as error:
            for number in batch.numbers:
                outcome.problems[number] = f"request {number} stays pending: {error}"
        _erase(folder, lease, outcome)
    return outcome


def _next_pending(folder: Folder, outcome: Worked) -> RequestBatch | None:
    """The earliest pending request that was not tried yet, with those that share its model."""

    def look(entries: Entries, _: Model) -> RequestBatch | None:
        pending = entries.requests("pending")
        first = next((one for one in pending if one.number not in outcome.problems), None)
        return None if first is None else entries.batch_of(first)

    return folder.look(look)


def _erase(folder: Folder, lease: Lease, outcome: Worked) -> None:
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
