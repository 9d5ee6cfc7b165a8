"""Being the one process that changes a workspace, for what needs no request: `refresh` and `add`.

Whoever works on requests is waited for, and keeps others waiting meanwhile.
"""

import time
from collections.abc import Callable

from expunge.ledger import Lease, Model, Overtaken
from expunge.store import Locked
from expunge.workspace.folder import Folder

__all__ = ["PAUSE", "work_alone"]

PAUSE = 0.2  # seconds, between two looks at a process that works


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
