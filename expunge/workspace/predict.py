"""`predict`: labels and probabilities for a table, by the current model."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

from expunge.core.whole_file import remove_unfinished
from expunge.workspace.csv_tables import PLAIN, CsvForm
from expunge.workspace.folder import Folder
from expunge.workspace.table_limits import USUAL, TableLimits
from expunge.workspace.table_reader import TableReader
from expunge.workspace.tables import check_output, ids_of, write_table

__all__ = ["predict"]

BLOCK = 65_536


def predict(
    workspace: Path,
    file: Path,
    output: Path,
    *,
    limits: TableLimits = USUAL,
    form: CsvForm = PLAIN,
    progress: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Write ids, `prediction` and one `probability_<class>` a class to a table.

    Ids are those of the workspace's id column, each once, or row numbers where there is none.

    Raises:
        InvalidInput: a table that cannot be read, or lacks a column.
    """
    check_output(output)
    folder = Folder.opened(workspace)
    known = TableReader.of(folder)
    folder.ledger.close()
    progress("reading")
    table, id_column = known.read(file, limits, form), known.options.id
    if id_column in table.column_names:
        ids = ids_of(file, table, id_column)
    else:
        ids = [str(row) for row in range(1, table.num_rows + 1)]
    progress("predicting")
    blocks = [
        _predictions(known, file, table.slice(start, BLOCK), ids[start : start + BLOCK])
        for start in range(0, table.num_rows, BLOCK)
    ]
    progress("writing")
    remove_unfinished(output)
    write_table(pa.concat_tables(blocks).rename_columns({"id": id_column}), output)
    return {
        "rows": table.num_rows,
        "model": {"sha256": known.model.sha256},
        "output": str(output),
        "unseen_categories": known.encoding.unseen(table),
    }


def _predictions(known: TableReader, file: Path, table: pa.Table, ids: list[str]) -> pa.Table:
    rows, head = known.encoding.encode(file, table), known.head
    columns: dict[str, Any] = {"id": ids, "prediction": head.predict(rows)}
    if head.classes is not None:
        for name, share in zip(head.classes, head.probabilities(rows).T, strict=True):
            columns[f"probability_{name}"] = share
    return pa.table(columns)
