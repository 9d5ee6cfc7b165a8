"""One request honoured: new files first, then the ledger's commit makes them current."""

import hashlib
import json
import secrets
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from expunge.accounting.certificate import Certificate
from expunge.core.whole_file import sync, write_whole
from expunge.errors import NoCertificate, Refused
from expunge.ledger import Lease, Model, Overtaken, Request
from expunge.workspace.current_model import loaded
from expunge.workspace.encoding import Encoding
from expunge.workspace.evaluation import evaluation
from expunge.workspace.folder import PUBLIC_RECORDS, Folder, current_model
from expunge.workspace.labels import labels_of
from expunge.workspace.options import Options
from expunge.workspace.sealed_files import index_of_files, read_sealed
from expunge.workspace.table_limits import OWN
from expunge.workspace.tables import compute, read_table, write_table

__all__ = ["honour"]


def honour(
    folder: Folder, lease: Lease, request: Request, progress: Callable[[str], None]
) -> Certificate:
    """Train and write outside any transaction, then commit; the request is `committed`.

    Raises:
        Overtaken: the lease is another's by now, or the model is no longer the one begun with.
        Refused, InvalidInput, OSError: the request is pending as before.
    """
    before, options, coded = folder.look(
        lambda entries, model: (model, entries.setting("options"), entries.setting("encoding"))
    )
    options = Options.of(options)
    progress(f"{request.name}: loading")
    model = loaded(folder, before)
    progress(f"{request.name}: forgetting {len(request.records):,} records")
    try:
        name = request.name if options.publish_names else None
        certificate = model.forget(list(request.records), request=name)
    except (NoCertificate, ValueError) as error:
        raise Refused(str(error)) from error
    progress(f"{request.name}: writing")
    files = _write_files(folder, before, request, options, model)
    scores = _evaluation(folder, coded, options, before, model)
    with folder.ledger.writing() as entries:
        entries.check_lease(lease)
        if current_model(entries) != before:
            raise Overtaken(f"model {before.number} is no longer current")
        after = entries.add_model(
            **files, evaluation=scores, honours=request, certificate=certificate.canonical()
        )
        if not options.released:
            entries.erase_earlier(after)
    return certificate


def _write_files(
    folder: Folder, before: Model, request: Request, options: Options, model: Any
) -> dict[str, str]:
    """Write what the new model consists of, under new names; returns them for the ledger."""
    token = secrets.token_hex(4)
    records = f"private-{token}.parquet"
    path = folder.records_file(before.records)
    table = read_table(path, limits=OWN, content=read_sealed(folder, before, path))
    gone = compute.is_in(
        table[options.id].cast(pa.string()), value_set=pa.array(request.records, pa.string())
    )
    write_table(table.filter(compute.invert(gone)), folder.records_file(records))
    content = model.model_bytes()
    digest = hashlib.sha256(content).hexdigest()
    model.save(folder.secret_folder(token))
    write_whole(folder.model_file(digest), content)
    for kind in ("models", "records", "secret"):
        sync(folder.path / kind)
    files = index_of_files(folder, secret=token, records=records)
    return {"sha256": digest, "secret": token, "records_file": records, "files": files}


def _evaluation(
    folder: Folder, encoding: str, options: Options, before: Model, model: Any
) -> str | None:
    path = folder.records_file(PUBLIC_RECORDS)
    if not path.exists():
        return None
    table = read_table(path, limits=OWN, content=read_sealed(folder, before, path))
    rows = Encoding.of(encoding).encode(path, table)
    return json.dumps(evaluation(model.fitted_.head, rows, labels_of(path, table, options)))
