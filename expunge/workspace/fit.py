"""`fit`: two tables in, a workspace out. It appears whole, or not at all."""

import logging
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from expunge.core.part_engine import PartEngine, working
from expunge.core.whole_file import sync
from expunge.core.whole_folder import check_new_folder, whole_folder
from expunge.errors import InvalidInput
from expunge.store import sole_writer
from expunge.workspace.csv_tables import PLAIN, CsvForm
from expunge.workspace.fit_tables import Blocks, Given, Sources, read_given
from expunge.workspace.folder import LEDGER, PUBLIC_RECORDS, Folder
from expunge.workspace.learning import Learned, learn, rows_of, write_beside, write_rows
from expunge.workspace.options import Options
from expunge.workspace.status import status
from expunge.workspace.table_limits import USUAL, TableLimits

__all__ = ["MEMORY", "check_options", "fit"]

LOG = logging.getLogger(__name__)
Progress = Callable[[str], None]
MEMORY = 0.5  # GiB of encoded rows in memory, unless told otherwise


def fit(
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
    progress: Progress = lambda _: None,
    notice: Progress = lambda _: None,
) -> dict[str, Any]:
    """Learn from the two tables and lay down a workspace; returns its status.

    Types and labels come from the public table or from declarations, never from private records.
    The private table is read block by block; it may be a folder of files, or a pattern of names.

    Args:
        encoding, schema: Files in which columns are declared; a column in one of them only.
        limits: How large the tables may become.
        form: How CSV files are written.
        memory: GiB that may grow with the rows: masks, what passes know of each row, and encoded
            rows; of those beyond it a few chunks at a time are in memory.
        engine, address: Where the parts of passes are computed: "local", or "ray" with the address
            of a cluster, None for one on this machine.
        notice: Told how many private values could not be read, and of settings that public records
            show to be poor: for the operator alone.

    Raises:
        InvalidInput: what is wrong with a file, a column or an option, and the remedy.
    """
    if (workspace / LEDGER).is_file():
        problem = "exists already: --again learns anew in this workspace, or choose another folder"
        raise InvalidInput(str(workspace), problem)
    check_new_folder(workspace)
    check_options(options, memory)
    sources = Sources(private, public, encoding, schema, limits, form)
    given, blocks = read_given(sources, options, progress, notice)
    with whole_folder(workspace, "fit") as building, working(engine, address) as parts:
        made = _build(building, given, blocks, memory, parts, progress, notice)
    return status(workspace) | made.capacity_curve()


def check_options(options: Options, memory: float) -> None:
    """Check what no table is needed for.

    Raises:
        InvalidInput: an option that makes no sense.
    """
    if options.id == options.label:
        raise InvalidInput("label", f"{options.label!r} is the id column as well")
    if options.id == "prediction" or options.id.startswith("probability_"):
        raise InvalidInput("id", f"a column {options.id!r} is what predict writes; rename it")
    if not 0 <= memory < math.inf:
        raise InvalidInput("memory", f"{memory} is no number of GiB")


def _build(
    path: Path,
    given: Given,
    blocks: Blocks,
    memory: float,
    engine: PartEngine,
    progress: Progress,
    notice: Progress,
) -> Learned:
    """Learn, and write everything that a workspace holds into a folder that is not in use yet."""
    for kind in ("models", "certificates", "records", "secret"):
        (path / kind).mkdir()
    folder = Folder(path)
    folder.ledger.create()
    with sole_writer(folder.saved) as writer:
        rows = rows_of(writer, folder.ledger, given)
        write_rows(rows, given, blocks, progress, notice)
        learned = learn(
            rows,
            given,
            memory=memory,
            engine=engine,
            progress=progress,
            notice=notice,
        )
        progress("writing")
        seal = writer.prepare(learned.generation(folder))
        writer.commit(seal)
    settings, model = write_beside(folder, learned, PUBLIC_RECORDS)
    with folder.ledger.writing() as entries:
        entries.set_anew(settings)
        entries.add_model(**model, seal=seal)
    folder.ledger.close()
    for kind in ("models", "certificates", "records", "secret", "."):
        sync(folder.path / kind)
    LOG.info("fit: %d private records, strategy %s", learned.rows.private, given.options.strategy)
    return learned
