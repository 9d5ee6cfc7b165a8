"""`refresh`: one pass over the records that are there, and the secret state made before is erased.

    begun       new files are written under new names; nothing that they hold counts yet
    committed   one transaction made the new state current and wrote the journal; refused to a lease
                that was taken over, and to a model that began with another than the current one
    honoured    the state before is erased, and the ledger's log of earlier entries with it

Model and certificate stay as they are. Whoever is killed leaves the old state or the new one; the
next `refresh` or `forget` erases what is left over. What a requester could see depends on no
private record: nothing is said of distances, or of what the solver did.
"""

import hashlib
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

from expunge.core.part_engine import PartEngine, working
from expunge.errors import InvalidInput, NoCertificate, Refused
from expunge.ledger import Lease, Model, Overtaken
from expunge.store import read, sole_writer
from expunge.workspace.at_work import status_after, work_alone
from expunge.workspace.folder import Folder, current_model

__all__ = ["refresh"]

LOG = logging.getLogger(__name__)
Progress = Callable[[str], None]


def refresh(
    workspace: Path,
    *,
    engine: str | PartEngine = "local",
    address: str | None = None,
    progress: Progress = lambda _: None,
) -> dict[str, Any]:
    """Make the secret state anew and erase the one before; returns the status.

    It waits for whoever works on requests, and keeps others waiting meanwhile.

    Args:
        engine, address: Where the parts of passes are computed: "local", or "ray" with the address
            of a cluster, None for one on this machine.

    Raises:
        InvalidInput: the strategy keeps no anchor, or there is no such engine.
        Refused: the stored records changed, or the ledger cannot be written; nothing was changed.
        Pending: the new state is in use, but a file of the one before could not be erased.
    """
    folder = Folder.opened(workspace)
    with working(engine, address) as parts:
        left = work_alone(
            folder, lambda lease, before: _renew(folder, lease, before, parts, progress), progress
        )
    LOG.info("refresh: the state before is %s", "not erased" if left else "erased")
    return status_after(folder, left, "the new state is in use, but the one before", "refresh")


def _renew(
    folder: Folder, lease: Lease, before: Model, engine: PartEngine, progress: Progress
) -> None:
    """Write the new state outside any transaction, then commit.

    Raises:
        Overtaken: the lease is another's by now, or the model is no longer the one begun with.
    """
    from expunge.workspace.current_model import loaded
    from expunge.workspace.honour import write_generation
    from expunge.workspace.record_chunks import RECORDS

    with sole_writer(folder.saved, seal=before.seal) as writer:
        progress("loading")
        model = loaded(folder, before, engine=engine)
        progress("a pass over the records")
        try:
            model.refresh()
        except NoCertificate as error:
            raise Refused(str(error)) from error
        _check_unchanged(folder, before, model)
        progress("writing")
        files = write_generation(folder, writer, model, read(folder.saved).chunks(RECORDS))
        with folder.ledger.writing() as entries:
            entries.check_lease(lease)
            if current_model(entries) != before:
                raise Overtaken(f"model {before.number} is no longer current")
            entries.refresh_model(before, seal=files["seal"])
        writer.commit(files["seal"])


def _check_unchanged(folder: Folder, before: Model, model: Any) -> None:
    """Check that the model that was handed out is still the same.

    Raises:
        InvalidInput: it is not, which would be a bug.
    """
    if hashlib.sha256(model.model_bytes()).hexdigest() != before.sha256:
        raise InvalidInput(str(folder.path), "a refresh would change the model; nothing is done")
