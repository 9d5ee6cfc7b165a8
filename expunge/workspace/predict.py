"""`predict`: labels and probabilities for a table, by the current model.

Rows are read, predicted and written in blocks. So memory holds a few of them, and 8 bytes of each
id, however long the table is; the blocks may be predicted by a cluster.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from expunge.core.part_engine import PartEngine, working
from expunge.core.ray_cluster import Cluster
from expunge.core.whole_file import remove_unfinished
from expunge.unlearning.linear.linear_head import LinearHead
from expunge.workspace.block_size import MEMORY, block_rows, rows_known
from expunge.workspace.csv_tables import PLAIN, CsvForm
from expunge.workspace.encoding import Encoding
from expunge.workspace.folder import Folder
from expunge.workspace.given_once import GivenOnce
from expunge.workspace.rate import RowRate
from expunge.workspace.table_limits import USUAL, TableLimits
from expunge.workspace.table_reader import ReadBlock, TableReader
from expunge.workspace.table_writer import writing_table
from expunge.workspace.tables import check_output

__all__ = ["predict"]


def predict(
    workspace: Path,
    file: Path,
    output: Path,
    *,
    limits: TableLimits = USUAL,
    form: CsvForm = PLAIN,
    memory: float = MEMORY,
    engine: str | PartEngine = "local",
    address: str | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Write ids, `prediction` and one `probability_<class>` a class to a table.

    Ids are those of the workspace's id column, each once, or row numbers where there is none.

    Args:
        file: A table, or a folder or a pattern of files.
        memory: GiB that the rows may take at a time.
        engine, address: Where rows are predicted: "local", or "ray" with the address of a cluster,
            None for one on this machine.

    Raises:
        InvalidInput: a table that cannot be read, or lacks a column.
    """
    check_output(output)
    folder = Folder.opened(workspace)
    known = TableReader.of(folder)
    folder.ledger.close()
    remove_unfinished(output)
    work = _Prediction(known.encoding, known.head, known.options.id)
    rate, given = RowRate("predicting", rows_known(file), progress), GivenOnce()
    unseen: dict[str, int] = {}
    rows = 0
    with working(engine, address) as parts, writing_table(output) as written:
        under_way = parts.at_most if isinstance(parts, Cluster) else 1
        size = block_rows(known.encoding, memory, under_way)
        blocks = known.blocks(file, limits, form, size, labels=False)
        for table, named, strange in parts.map(_predictions, work, blocks):
            if named:
                given.add(table[work.id].to_pylist())
            written.write(table)
            rows += table.num_rows
            unseen = {n: unseen.get(n, 0) + strange.get(n, 0) for n in (*unseen, *strange)}
            rate.at(rows)
        blocks = known.blocks(file, limits, form, size, labels=False)
        given.check(file, (block.ids(work.id) for block in blocks))
    return {
        "rows": rows,
        "model": {"sha256": known.model.sha256},
        "output": str(output),
        "unseen_categories": unseen,
    }


@dataclass(frozen=True)
class _Prediction:
    """What every block is predicted with.

    Args:
        id: The column of ids.
    """

    encoding: Encoding
    head: LinearHead
    id: str


def _predictions(work: _Prediction, block: ReadBlock) -> tuple[pa.Table, bool, dict[str, int]]:
    """The predictions of a block, whether its rows have ids, and texts that nobody knows."""
    path, table, head = block.path, block.table, work.head
    named = work.id in table.column_names
    if named:
        ids = block.ids(work.id)
    else:
        ids = [str(row) for row in range(block.first, block.first + table.num_rows)]
    rows = work.encoding.encode(path, table)
    columns: dict[str, Any] = {work.id: ids, "prediction": head.predict(rows)}
    if head.classes is not None:
        for name, share in zip(head.classes, head.probabilities(rows).T, strict=True):
            columns[f"probability_{name}"] = share
    return pa.table(columns), named, work.encoding.unseen(table)
