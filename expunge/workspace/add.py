"""`add`: new records join the model of a workspace, or take the place of those that they correct.

    read        by the rules of `fit`; what cannot be taken is refused, and every culprit is named
    begun       new files are written under new names; nothing that they hold counts yet
    committed   one transaction made the new model current and its certificate, and gave the records
                their rows; refused to a lease that was taken over, and to a model that began with
                another than the current one
    honoured    what came before is erased

Whoever is killed leaves all of it or nothing: the records are still in the file that they came in,
so nothing waits, and the same command is given again. Chunks that are full stay as they are, so the
work is in proportion to what joins (and to what is corrected).
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from expunge.errors import InvalidInput, NoCertificate, Refused
from expunge.ledger import Entries, Lease, Model, Overtaken
from expunge.store import read, sole_writer
from expunge.workspace.at_work import status_after, work_alone
from expunge.workspace.csv_tables import PLAIN, CsvForm
from expunge.workspace.folder import Folder, current_model
from expunge.workspace.given_ids import known_ids
from expunge.workspace.options import Options
from expunge.workspace.private_block import PrivateRules, stack_rows
from expunge.workspace.private_values import Unread
from expunge.workspace.record_chunks import with_more_records
from expunge.workspace.spoken_warnings import telling
from expunge.workspace.table_blocks import table_blocks
from expunge.workspace.table_limits import USUAL, TableLimits
from expunge.workspace.table_reader import TableReader

__all__ = ["add"]

LOG = logging.getLogger(__name__)
Progress = Callable[[str], None]


@dataclass(frozen=True)
class _Arrivals:
    """Records that are to join, as the model and the workspace keep them.

    Args:
        again, replace: As for `add`.
        name: Of the request, where records are replaced.
    """

    ids: list[str]
    table: pa.Table
    rows: Any
    labels: np.ndarray
    options: Options
    again: bool
    replace: bool
    name: str | None

    def check(self, entries: Entries) -> None:
        """Check that they can join the records that are there now.

        Raises:
            InvalidInput: some cannot; every one of them is named.
        """
        entries.check_arrivals(self.ids, again=self.again, replace=self.replace)
        if self.replace:
            entries.check_request(self.ids, self.name)


def add(
    workspace: Path,
    private: Path,
    *,
    again: bool = False,
    replace: bool = False,
    name: str | None = None,
    limits: TableLimits = USUAL,
    form: CsvForm = PLAIN,
    progress: Progress = lambda _: None,
    notice: Progress = lambda _: None,
) -> dict[str, Any]:
    """Take the records of a table into the model; returns the status, and how many `joined`.

    Args:
        again: Ids that were forgotten may come back, as new records.
        replace: Put the records in the place of those with the same ids, which are forgotten in the
            same request: one certificate, all or nothing.
        name: What to call that request.
        limits, form: As for `fit`.
        notice: Told how many values could not be read, and that delta is no longer small for so
            many records: for the operator alone.

    Raises:
        InvalidInput: a table or ids that cannot be taken, each culprit named; nothing was changed.
        Refused: there is no certificate, or the ledger cannot be written; nothing was changed.
        Pending: they have joined, but a file of the state before could not be erased.
    """
    if name is not None and not replace:
        raise InvalidInput("request", "only a request to replace records has a name")
    folder = Folder.opened(workspace)
    progress("reading")
    arrivals = _read(folder, private, limits, form, notice, (again, replace, name))
    folder.look(lambda entries, _: arrivals.check(entries))
    left = work_alone(
        folder,
        lambda lease, before: _join(folder, lease, before, arrivals, progress, notice),
        progress,
    )
    LOG.info("add: %d records have joined", len(arrivals.ids))
    done = "the records have joined, but the state before"
    return status_after(folder, left, done, "forget", {"joined": len(arrivals.ids)})


def _read(
    folder: Folder,
    private: Path,
    limits: TableLimits,
    form: CsvForm,
    notice: Progress,
    how: tuple[bool, bool, str | None],
) -> _Arrivals:
    """The records of a table, read as `fit` reads them.

    Raises:
        InvalidInput: a table that cannot be read, or has other columns.
    """
    known = TableReader.of(folder)
    options = known.options
    rules = PrivateRules(known.encoding, options, known.head.classes, known.dates, form.decimal)
    unread, blocks, row = Unread(), [], 1
    for path, table in table_blocks(
        private, limits, form=form, id_column=options.id, notice=notice
    ):
        blocks.append(rules.read(path, table, unread, row))
        _check_known(path, blocks[-1].table, rules)
        row += table.num_rows
    unread.tell(private, notice)
    ids = [id_ for block in blocks for id_ in block.ids]
    return _Arrivals(
        folder.look(lambda entries, _: known_ids(entries, ids)),
        pa.concat_tables([block.table for block in blocks], promote_options="permissive"),
        stack_rows([block.rows for block in blocks]),
        np.concatenate([block.labels for block in blocks]),
        options,
        *how,
    )


def _check_known(path: Path, table: pa.Table, rules: PrivateRules) -> None:
    """Check that a table has no columns of which `fit` knew nothing.

    Raises:
        InvalidInput: it has one; it is named.
    """
    options = rules.options
    known = {options.id, options.label, *options.drop, *rules.encoding.rules}
    for name in table.column_names:
        if name not in known:
            problem = f"column {name!r} was not there at fit: leave it out of the file"
            raise InvalidInput(str(path), problem)


def _join(
    folder: Folder,
    lease: Lease,
    before: Model,
    arrivals: _Arrivals,
    progress: Progress,
    notice: Progress,
) -> None:
    """Train and write outside any transaction, then commit.

    Raises:
        Overtaken: the lease is another's by now, or the model is no longer the one begun with.
        InvalidInput: records that can no longer join.
        Refused: there is no certificate.
    """
    gone, public, there = folder.look(
        lambda entries, _: (
            _places(entries, arrivals),
            entries.counts()["public"],
            entries.counts_of_fit()["records"],
        )
    )
    with sole_writer(folder.saved, seal=before.seal) as writer:
        from expunge.workspace.current_model import loaded
        from expunge.workspace.honour import write_generation

        progress("loading")
        model = loaded(folder, before)
        progress(f"{len(arrivals.ids):,} records join")
        with telling(notice):
            certificate = _joined(model, arrivals, [row - public for row in gone])
        progress("writing")
        records = with_more_records(
            read(folder.saved), gone, arrivals.options.id, arrivals.table, there
        )
        files = write_generation(folder, writer, model, records)
        stated = [] if certificate is None else [certificate.canonical()]
        after = _commit(folder, lease, before, arrivals, {**files, "certificates": stated})
        writer.commit(after.seal)


def _places(entries: Entries, arrivals: _Arrivals) -> dict[int, str]:
    """The rows that leave, with their ids; none where nothing is replaced."""
    arrivals.check(entries)
    if not arrivals.replace:
        return {}
    return dict(zip(entries.places(arrivals.ids), arrivals.ids, strict=True))


def _joined(model: Any, arrivals: _Arrivals, gone: Sequence[int]) -> Any:
    """Let the records join; returns the certificate, None while nothing is forgotten.

    Raises:
        Refused: there is none; nothing was changed.
    """
    published = arrivals.name if arrivals.options.publish_names else None
    try:
        if gone:
            return model.exchange(gone, arrivals.rows, arrivals.labels, request=published)
        return model.add(arrivals.rows, arrivals.labels)
    except (NoCertificate, ValueError) as error:
        raise Refused(str(error)) from error


def _commit(
    folder: Folder, lease: Lease, before: Model, arrivals: _Arrivals, files: dict[str, Any]
) -> Model:
    """Make the new model current, and give the records their rows.

    Raises:
        Overtaken: somebody was faster.
    """
    with folder.ledger.writing() as entries:
        entries.check_lease(lease)
        if current_model(entries) != before:
            raise Overtaken(f"model {before.number} is no longer current")
        asked = [entries.add_request(arrivals.ids, arrivals.name)] if arrivals.replace else []
        after = entries.add_model(**files, honours=asked)
        entries.join_records(arrivals.ids, after)
        if not arrivals.options.released:
            entries.erase_earlier(after)
    return after
