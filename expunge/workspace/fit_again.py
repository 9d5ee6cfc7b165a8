"""`fit --again`: a new fit in the place of the one in a workspace; the ledger goes on.

    read        all tables, by rules of their own; nothing of the fit before shapes the new one
    begun       rows and model are written under new names, and ids into a ledger of their own
                (`secret/arriving.sqlite`); nothing of it counts yet
    committed   one transaction puts the new records, settings and model in the place of the old;
                private records that the new tables lack are a request of this fit, and pending
                requests whose records have all left are honoured by it
    honoured    the fit before is erased, its secret state, public records and all

Whoever is killed leaves the old fit or the new one, whole. Requests are recorded meanwhile, and
wait; those whose records the new tables have are honoured by the new model. Its certificates begin
a chain of their own: models of the fit before are earlier releases, which they do not cover.
"""

import logging
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from expunge.core.part_engine import PartEngine, working
from expunge.errors import InvalidInput, Refused
from expunge.ledger import Entries, Lease, Ledger, Model, Overtaken
from expunge.store import sole_writer
from expunge.workspace.at_work import status_after, work_alone
from expunge.workspace.csv_tables import PLAIN, CsvForm
from expunge.workspace.fit import MEMORY, check_options
from expunge.workspace.fit_tables import Blocks, Given, Sources, read_given
from expunge.workspace.folder import Folder, current_model
from expunge.workspace.given_ids import composed
from expunge.workspace.learning import Learned, learn, rows_of, write_beside, write_rows
from expunge.workspace.options import Options
from expunge.workspace.private_block import PrivateBlock
from expunge.workspace.table_limits import USUAL, TableLimits

__all__ = ["Forgotten", "fit_again"]

LOG = logging.getLogger(__name__)
Progress = Callable[[str], None]
Forgotten = Literal["refuse", "skip", "take back"]


@dataclass
class _Admission:
    """Whose private records may come in.

    Args:
        gone: Ids that were forgotten, in any fit.
        forgotten: What becomes of records with these ids.
    """

    gone: Collection[str]
    forgotten: Forgotten
    culprits: list[str] = field(default_factory=list)
    back: list[str] = field(default_factory=list)
    skipped: int = 0

    def admit(self, block: PrivateBlock) -> PrivateBlock:
        """The block without the records that are skipped."""
        theirs = [id_ in self.gone for id_ in block.ids]
        if not any(theirs):
            return block
        named = [id_ for id_, gone in zip(block.ids, theirs, strict=True) if gone]
        if self.forgotten == "take back":
            self.back += named
            return block
        if self.forgotten == "refuse":
            self.culprits += named
            return block
        self.skipped += len(named)
        keep = ~np.array(theirs)
        return PrivateBlock(
            [id_ for id_, gone in zip(block.ids, theirs, strict=True) if not gone],
            block.table.filter(pa.array(keep)),
            block.rows[keep],
            block.labels[keep],
        )

    def tell(self, notice: Progress) -> None:
        """Tell how many records were skipped, if there were some."""
        if self.skipped == 1:
            notice("1 record left out, which was forgotten before")
        elif self.skipped:
            notice(f"{self.skipped:,} records left out, which were forgotten before")

    def check(self) -> None:
        """Check that nobody was refused.

        Raises:
            InvalidInput: somebody was; every one of them is named.
        """
        if self.culprits:
            named = "; ".join(f"{id_!r} was forgotten" for id_ in self.culprits)
            remedy = "--skip-forgotten leaves such records out, --take-back takes them back"
            raise InvalidInput("ids", f"{remedy}: {named}")


def fit_again(
    workspace: Path,
    private: Path,
    public: Path | None,
    options: Options,
    *,
    encoding: Path | None = None,
    schema: Path | None = None,
    limits: TableLimits = USUAL,
    form: CsvForm = PLAIN,
    memory: float = MEMORY,
    engine: str | PartEngine = "local",
    address: str | None = None,
    forgotten: Forgotten = "refuse",
    name: str | None = None,
    progress: Progress = lambda _: None,
    notice: Progress = lambda _: None,
) -> dict[str, Any]:
    """Learn anew in a workspace, from tables that take the place of those before.

    The only way for a public record to leave. Returns the status.

    Args:
        encoding, schema, limits, form, memory, engine, address, notice: As for `fit`.
        forgotten: What becomes of records whose ids were forgotten: they refuse the fit, are left
            out, or come back as new records.
        name: What to call the request of the records that the new tables lack.

    Raises:
        InvalidInput: what is wrong with a table, an id or an option; nothing was changed.
        Refused: the ledger cannot be written; nothing was changed.
        Pending: the new fit is in use, but a file of the one before could not be erased.
    """
    folder = Folder.opened(workspace)
    check_options(options, memory)
    sources = Sources(private, public, encoding, schema, limits, form)
    read = [read_given(sources, options, progress, notice)]
    folder.look(lambda entries, _: _check_ledger(entries, read[0][0], name))
    made: list[Learned] = []

    def work(lease: Lease, before: Model) -> None:
        given, blocks = read.pop() if read else read_given(sources, options, progress, notice)
        admission = folder.look(lambda entries, _: _admission(entries, given, forgotten, name))
        renewal = _Renewal(folder, lease, before, given, admission, name, memory)
        try:
            renewal.run(blocks, parts, made.append, progress, notice)
        except BaseException:
            with suppress(Refused, InvalidInput, OSError):
                folder.finish(lease)  # nothing of a fit that failed is left
            raise

    with working(engine, address) as parts:
        left = work_alone(folder, work, progress)
    LOG.info("fit again: %d private records", made[-1].rows.private)
    document = status_after(folder, left, "the new fit is in use, but the one before", "forget")
    return document | made[-1].capacity_curve()


def _check_ledger(entries: Entries, given: Given, name: str | None) -> None:
    """Check what the new tables are held to by what the ledger says.

    Raises:
        InvalidInput: a private record is to be public, or the request's name is taken.
    """
    if name is not None:
        entries.check_name(name)
    public = [] if given.public is None else given.public.ids
    outcomes = entries.outcomes(public)
    private = [id_ for id_, outcome in outcomes.items() if outcome not in ("unknown", "public")]
    if private:
        named = ", ".join(repr(id_) for id_ in private)
        problem = "private before, and nobody could forget a public record: leave out of the public"
        raise InvalidInput("ids", f"{problem} table {named}")


def _admission(
    entries: Entries, given: Given, forgotten: Forgotten, name: str | None
) -> _Admission:
    _check_ledger(entries, given, name)
    return _Admission({composed(id_) for id_ in entries.forgotten()}, forgotten)


@dataclass(frozen=True)
class _Renewal:
    """A fit that takes the place of the one before."""

    folder: Folder
    lease: Lease
    before: Model
    given: Given
    admission: _Admission
    name: str | None
    memory: float

    def run(
        self,
        blocks: Blocks,
        engine: PartEngine,
        keep: Callable[[Learned], None],
        progress: Progress,
        notice: Progress,
    ) -> None:
        """Write and learn outside any transaction, then commit.

        Args:
            keep: Takes what was learned once it is current.

        Raises:
            Overtaken: the lease is another's by now, or the model is no longer the one begun with.
            InvalidInput: what is wrong with a table, an id or an option.
        """
        folder = self.folder
        fit, first, released = folder.look(lambda entries, _: _place_of(entries))
        arriving = Ledger(folder.arriving)
        arriving.create()
        with sole_writer(folder.saved, seal=self.before.seal) as writer:
            rows = rows_of(writer, arriving, self.given)
            rows.first, rows.admit = first, self.admission.admit
            write_rows(rows, self.given, blocks, progress, notice)
            self.admission.check()
            learned = learn(
                rows,
                self.given,
                memory=self.memory,
                engine=engine,
                released_before=released,
                progress=progress,
                notice=notice,
            )
            self.admission.tell(notice)
            arriving.close()
            progress("writing")
            seal = writer.prepare(learned.generation(folder), anew=True)
            beside = write_beside(folder, learned, f"public-{fit + 1}.parquet")
            self._commit(arriving, beside, seal, released)
            keep(learned)
            writer.commit(seal)

    def _commit(
        self,
        arriving: Ledger,
        beside: tuple[dict[str, str], dict[str, Any]],
        seal: str,
        released: bool,
    ) -> None:
        """Make the new fit current, with all its records.

        Raises:
            Overtaken: somebody was faster.
        """
        settings, model = beside
        with arriving.reading() as theirs, self.folder.ledger.writing() as entries:
            entries.check_lease(self.lease)
            if current_model(entries) != self.before:
                raise Overtaken(f"model {self.before.number} is no longer current")
            entries.set_anew(settings)
            entries.begin_fit(
                theirs.record_blocks(),
                **model,
                seal=seal,
                name=self.name,
                back=self.admission.back,
                released_before=released,
            )
        arriving.close()


def _place_of(entries: Entries) -> tuple[int, int, bool]:
    """The number of the fit that is there, the row after its last, and what was handed out."""
    fit, options = entries.fit(), Options.of(entries.setting("options"))
    stop = fit.first + entries.counts_of_fit()["records"]
    released = fit.released_before or options.released or bool(entries.certificates())
    return fit.number, stop, released
