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
from expunge.ledger import Entries, Model, Request
from expunge.workspace.current_model import loaded
from expunge.workspace.encoding import Encoding
from expunge.workspace.evaluation import evaluation
from expunge.workspace.folder import PUBLIC_RECORDS, Folder, current_model
from expunge.workspace.labels import labels_of
from expunge.workspace.options import Options
from expunge.workspace.sealed_files import index_of_files, read_sealed
from expunge.workspace.tables import compute, read_table, write_table

__all__ = ["honour"]


def honour(
    folder: Folder, entries: Entries, request: Request, progress: Callable[[str], None]
) -> Certificate:
    """Write everything that honours the request; the caller's commit makes it current.

    Raises:
        Refused, InvalidInput, OSError: nothing has changed.
    """
    before, token = current_model(entries), secrets.token_hex(4)
    progress(f"{request.name}: loading")
    model = loaded(folder, before)
    progress(f"{request.name}: forgetting {len(request.records):,} records")
    try:
        certificate = model.forget(list(request.records), request=request.name)
    except (NoCertificate, ValueError) as error:
        raise Refused(str(error)) from error
    progress(f"{request.name}: writing")
    records = f"private-{token}.parquet"
    path = folder.records_file(before.records)
    table = read_table(path, content=read_sealed(folder, before, path))
    options = Options.of(entries.setting("options"))
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
    after = entries.add_model(
        sha256=digest,
        secret=token,
        records_file=records,
        evaluation=_evaluation(folder, entries, options, before, model),
        files=index_of_files(folder, secret=token, records=records),
        honours=request,
        certificate=certificate.canonical(),
    )
    if not options.released:
        entries.erase_earlier(after)
    return certificate


def _evaluation(
    folder: Folder, entries: Entries, options: Options, before: Model, model: Any
) -> str | None:
    path = folder.records_file(PUBLIC_RECORDS)
    if not path.exists():
        return None
    table = read_table(path, content=read_sealed(folder, before, path))
    rows = Encoding.of(json.loads(entries.setting("encoding"))).encode(path, table)
    return json.dumps(evaluation(model.fitted_.head, rows, labels_of(path, table, options)))
