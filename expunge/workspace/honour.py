"""Requests honoured by one model: new files first, then the ledger's commit makes them current."""

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import chain
from typing import Any

from expunge.accounting.certificate import Certificate
from expunge.core.part_engine import HERE, PartEngine
from expunge.core.whole_file import sync, write_whole
from expunge.errors import NoCertificate, Refused
from expunge.ledger import Lease, Overtaken, RequestBatch
from expunge.store import Chunk, NewChunk, read, sole_writer
from expunge.store.writing import Writer
from expunge.workspace.current_model import loaded
from expunge.workspace.folder import Folder, current_model
from expunge.workspace.options import Options
from expunge.workspace.record_chunks import without_records

__all__ = ["honour"]


def honour(
    folder: Folder,
    lease: Lease,
    batch: RequestBatch,
    progress: Callable[[str], None],
    engine: PartEngine = HERE,
) -> list[Certificate]:
    """Train and write outside any transaction, then commit; the requests are `committed`.

    Raises:
        Overtaken: the lease is another's by now, or the model is no longer the one begun with.
        Refused, InvalidInput, OSError: the requests are pending as before, unless they are
            committed and only erasing failed.
    """
    before, options, each, rows, public = folder.look(
        lambda entries, model: (
            model,
            entries.setting("options"),
            each := [entries.in_this_fit(request.records) for request in batch.requests],
            [entries.places(ids) for ids in each],
            entries.counts()["public"],
        )
    )
    options, ids = Options.of(options), list(chain(*each))
    with sole_writer(folder.saved, seal=before.seal) as writer:
        called = _title(batch)
        progress(f"{called}: loading")
        model = loaded(folder, before, engine=engine)
        progress(f"{called}: forgetting {len(ids):,} records")
        try:
            left = [[row - public for row in some] for some in rows]
            issued = _forget(model, batch, left, options.publish_names)
        except (NoCertificate, ValueError) as error:
            raise Refused(str(error)) from error
        progress(f"{called}: writing")
        gone = dict(zip(chain(*rows), ids, strict=True))
        records = without_records(read(folder.saved), gone, options.id)
        files = write_generation(folder, writer, model, records)
        with folder.ledger.writing() as entries:
            entries.check_lease(lease)
            if current_model(entries) != before:
                raise Overtaken(f"model {before.number} is no longer current")
            stated = [certificate.canonical() for certificate in issued]
            after = entries.add_model(**files, honours=batch.requests, certificates=stated)
            if not options.released:
                entries.erase_earlier(after)
        writer.commit(after.seal)
    return issued


def _title(batch: RequestBatch) -> str:
    """What progress calls the requests."""
    first, *others = (request.name for request in batch.requests)
    return f"{first} and {len(others):,} more" if others else first


def _forget(
    model: Any, batch: RequestBatch, rows: list[list[int]], publish_names: bool
) -> list[Certificate]:
    """Let a model forget the rows of each request."""
    names = [request.name for request in batch.requests] if publish_names else None
    return model.forget_batch(rows, names, each=batch.each)


def write_generation(
    folder: Folder, writer: Writer, model: Any, records: Iterable[Chunk | NewChunk]
) -> dict[str, str]:
    """Write what a new model consists of, under new names; returns hash and seal for the ledger.

    Args:
        records: The chunks of the records as given.
    """
    generation = model.generation(folder.saved)
    seal = writer.prepare(replace(generation, chunks=chain(generation.chunks, records)))
    content = model.model_bytes()
    digest = hashlib.sha256(content).hexdigest()
    write_whole(folder.model_file(digest), content)
    sync(folder.path / "models")
    return {"sha256": digest, "seal": seal}
