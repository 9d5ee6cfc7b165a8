"""`forget`: a request stays pending until model, certificate and ledger agree."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from expunge.errors import InvalidInput, Refused
from expunge.workspace.folder import Folder
from expunge.workspace.status import status

__all__ = ["Pending", "forget"]

Progress = Callable[[str], None]


class Pending(Refused):
    """A request is recorded, but not honoured yet; `document` is the status as it stands."""

    def __init__(self, problem: str, document: dict[str, Any]) -> None:
        super().__init__(problem)
        self.document = document


def forget(
    workspace: Path,
    ids: Sequence[str] = (),
    *,
    name: str | None = None,
    progress: Progress = lambda _: None,
) -> dict[str, Any]:
    """Record a request for these ids, then honour everything that is pending, in order.

    Without ids it takes up what an interrupted run left pending.

    Raises:
        InvalidInput: an id that cannot be deleted, named; nothing was recorded.
        Pending: this request (without ids: any) is recorded but could not be honoured: there is
            no certificate for it, or another process is working on the workspace.
        Busy: another process is working on the workspace; nothing was recorded.
    """
    folder = Folder.opened(workspace)
    with folder.ledger.writing() as entries:
        asked = entries.add_request(ids, name).number if ids else None
        waiting = [request.number for request in entries.requests("pending")]
    if not waiting:
        raise InvalidInput("ids", "none given, and no request is pending")
    from expunge.workspace.honour import honour  # loads torch: the request is safe by now

    honoured, refusals = [], {}
    for number in waiting:
        try:
            with folder.ledger.writing() as entries:
                request = next((r for r in entries.requests("pending") if r.number == number), None)
                if request is None:
                    continue  # another process was faster
                honour(folder, entries, request, progress)
        except (Refused, InvalidInput, OSError) as error:
            refusals[number] = f"request {number} stays pending: {error}"
        else:
            honoured.append(request.name)
            folder.sweep()
    folder.ledger.close()
    document = status(workspace) | {"honoured": honoured, "refused": list(refusals.values())}
    for number, problem in refusals.items():
        if asked in (None, number):
            raise Pending(problem, document)
    return document
