"""Being the one process that changes a workspace, for what needs no request.

`add`, `refresh` and `fit --again` work like this.

Whoever works on requests is waited for, and keeps others waiting meanwhile.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from expunge.errors import Refused
from expunge.ledger import Lease, Model, Overtaken
from expunge.store import Locked
from expunge.workspace.folder import Folder
from expunge.workspace.status import status

__all__ = ["PAUSE", "Pending", "status_after", "work_alone"]

PAUSE = 0.2  # seconds, between two looks at a process that works


class Pending(Refused):
    """Something is recorded and not finished yet; `document` is the status as it stands."""

    def __init__(self, problem: str, document: dict[str, Any]) -> None:
        super().__init__(problem)
        self.document = document


def status_after(
    folder: Folder,
    left: Sequence[str],
    done: str,
    remedy: str,
    more: Mapping[str, Any] = MappingProxyType({}),
) -> dict[str, Any]:
    """The status after some work, with more that is told of it.

    Args:
        left: What could not be erased.
        done: The work in words, to the end with what is left: "it is done, but the state before".
        remedy: The command that erases it.

    Raises:
        Pending: something is left.
    """
    folder.ledger.close()
    document = {**status(folder.path), **more}
    if not left:
        return document
    others = f" and {len(left) - 1} more" if len(left) > 1 else ""
    raise Pending(
        f"{done} is not erased: {left[0]}{others}; repair it, then run expunge {remedy} "
        f"{folder.path}",
        document,
    )


def work_alone(
    folder: Folder, work: Callable[[Lease, Model], None], progress: Callable[[str], None]
) -> tuple[str, ...]:
    """Wait for the lease, then work, and again if somebody was faster.

    Returns what could not be erased.

    Args:
        work: Told the lease and the current model, which it replaces, or whose state it renews.
    """
    while True:
        try:
            with folder.leased() as lease:
                folder.finish(lease)
                before = folder.look(lambda _, model: model)
                try:
                    work(lease, before)
                except OSError:
                    if folder.look(lambda _, model: model) == before:
                        raise  # otherwise the new state counts, and `finish` says what is left
                return folder.finish(lease)
        except (Locked, Overtaken):
            progress("waiting for the process that works on the requests")
            time.sleep(PAUSE)
