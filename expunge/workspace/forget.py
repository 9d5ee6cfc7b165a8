"""`forget`: a request stays pending until model, certificate and ledger agree."""

import json
import secrets
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from expunge.accounting.certificate import Certificate
from expunge.accounting.refusal import InvalidInput, Refused
from expunge.core.whole_file import sync, write_whole
from expunge.ledger import Entries, Request
from expunge.unlearning.files import load, save
from expunge.unlearning.job import NoCertificate
from expunge.unlearning.model_file import model_bytes, model_sha256
from expunge.workspace.encoding import Encoding
from expunge.workspace.evaluation import evaluation
from expunge.workspace.folder import PUBLIC_RECORDS, Folder, current
from expunge.workspace.labels import labels_of
from expunge.workspace.options import Options
from expunge.workspace.status import status
from expunge.workspace.tables import compute, read_table, write_table

__all__ = ["forget"]

Progress = Callable[[str], None]


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
        Refused: no certificate can be had; the request stays pending.
        Busy: another process is working on the workspace.
    """
    folder = Folder.opened(workspace)
    with folder.ledger.writing() as entries:
        if ids:
            entries.add_request(ids, name)
        elif not entries.requests("pending"):
            raise InvalidInput("ids", "none given, and no request is pending")
    certificates = []
    while True:
        with folder.ledger.writing() as entries:
            pending = entries.requests("pending")
            if not pending:
                break
            certificates.append(_honour(folder, entries, pending[0], progress))
        with folder.ledger.writing() as entries:
            folder.settle(entries)
    folder.ledger.close()
    return status(workspace) | {"honoured": [c.requests[-1] for c in certificates]}


def _honour(folder: Folder, entries: Entries, request: Request, progress: Progress) -> Certificate:
    """One request: new files first, then the ledger's commit makes them current."""
    before, token = current(entries), secrets.token_hex(4)
    progress(f"{request.name}: loading")
    model = load(folder.secret_folder(before.secret))
    progress(f"{request.name}: forgetting {len(request.records):,} records")
    try:
        certificate = model.forget(list(request.records), request=request.name)
    except (NoCertificate, ValueError) as error:
        raise Refused(f"{request.name} stays pending: {error}") from error
    progress(f"{request.name}: writing")
    records = f"private-{token}.parquet"
    table = read_table(folder.records_file(before.records))
    options = Options.of(entries.setting("options"))
    gone = compute.is_in(
        table[options.id].cast(pa.string()), value_set=pa.array(request.records, pa.string())
    )
    write_table(table.filter(compute.invert(gone)), folder.records_file(records))
    theta = model._outcome.theta
    save(model, folder.secret_folder(token))
    write_whole(folder.model_file(model_sha256(theta)), model_bytes(theta))
    for kind in ("models", "records", "secret"):
        sync(folder.path / kind)
    after = entries.add_model(
        sha256=model_sha256(theta),
        secret=token,
        records_file=records,
        evaluation=_evaluation(folder, entries, options, model),
        honours=request,
        certificate=certificate.canonical(),
    )
    if not options.released:
        entries.forget_evaluations(after)  # nobody else could know what earlier models scored
    return certificate


def _evaluation(folder: Folder, entries: Entries, options: Options, model: Any) -> str | None:
    path = folder.records_file(PUBLIC_RECORDS)
    if not path.exists():
        return None
    table = read_table(path)
    rows = Encoding.of(json.loads(entries.setting("encoding"))).encode(path, table)
    return json.dumps(evaluation(model._head, rows, labels_of(path, table, options)))
