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
from expunge.unlearning.files import save
from expunge.unlearning.job import NoCertificate
from expunge.unlearning.model_file import model_bytes, model_sha256
from expunge.workspace.encoding import Encoding
from expunge.workspace.evaluation import evaluation
from expunge.workspace.folder import PUBLIC_RECORDS, Folder, current
from expunge.workspace.head import loaded
from expunge.workspace.labels import labels_of
from expunge.workspace.options import Options
from expunge.workspace.status import status
from expunge.workspace.tables import compute, read_table, write_table

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
        Pending: this request (without ids: any) is recorded but could not be honoured: no
            certificate can be had, or another process is working on the workspace.
        Busy: another process is working on the workspace; nothing was recorded.
    """
    folder = Folder.opened(workspace)
    with folder.ledger.writing() as entries:
        mine = entries.add_request(ids, name).number if ids else None
        waiting = [one.number for one in entries.requests("pending")]
    if not waiting:
        raise InvalidInput("ids", "none given, and no request is pending")
    honoured, refusals = [], {}
    for number in waiting:
        try:
            with folder.ledger.writing() as entries:
                request = next((r for r in entries.requests("pending") if r.number == number), None)
                if request is None:
                    continue  # another process was faster
                certificate = _honour(folder, entries, request, progress)
        except (Refused, InvalidInput) as error:
            refusals[number] = f"request {number} stays pending: {error}"
        else:
            honoured.append(certificate.requests[-1])
            folder.sweep()
    folder.ledger.close()
    document = status(workspace) | {"honoured": honoured, "refused": list(refusals.values())}
    for number, problem in refusals.items():
        if mine in (None, number):
            raise Pending(problem, document)
    return document


def _honour(folder: Folder, entries: Entries, request: Request, progress: Progress) -> Certificate:
    """One request: new files first, then the ledger's commit makes them current."""
    before, token = current(entries), secrets.token_hex(4)
    progress(f"{request.name}: loading")
    model = loaded(folder, before)
    progress(f"{request.name}: forgetting {len(request.records):,} records")
    try:
        certificate = model.forget(list(request.records), request=request.name)
    except (NoCertificate, ValueError) as error:
        raise Refused(str(error)) from error
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
        entries.erase_earlier(after)
    return certificate


def _evaluation(folder: Folder, entries: Entries, options: Options, model: Any) -> str | None:
    path = folder.records_file(PUBLIC_RECORDS)
    if not path.exists():
        return None
    table = read_table(path)
    rows = Encoding.of(json.loads(entries.setting("encoding"))).encode(path, table)
    return json.dumps(evaluation(model._head, rows, labels_of(path, table, options)))
