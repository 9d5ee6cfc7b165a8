"""`predict`: labels and probabilities for a table, by the current model."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

from expunge.core.whole_file import remove_unfinished
from expunge.unlearning.linear.linear_head import LinearHead
from expunge.workspace.csv_tables import PLAIN, CsvForm
from expunge.workspace.current_model import head_of
from expunge.workspace.dates import read_dates, spread_dates
from expunge.workspace.encoding import Encoding
from expunge.workspace.folder import Folder
from expunge.workspace.options import Options
from expunge.workspace.table_limits import USUAL, TableLimits
from expunge.workspace.tables import check_output, ids_of, read_table, write_table

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
    options, encoding, dates = folder.look(
        lambda entries, _: (
            entries.setting("options"),
            entries.setting("encoding"),
            entries.find_setting("dates"),
        )
    )
    options, encoding = Options.of(options), Encoding.of(encoding)
    model, head = folder.steady(
        lambda entries, model: (model, entries.setting("head")),
        lambda said: (said[0], head_of(folder, *said)),
    )
    folder.ledger.close()
    progress("reading")
    table = read_table(file, [options.id, *encoding.categories], limits, form=form)
    table = spread_dates(file, table, read_dates(dates))
    if options.id in table.column_names:
        ids = ids_of(file, table, options.id)
    else:
        ids = [str(row) for row in range(1, table.num_rows + 1)]
    progress("predicting")
    blocks = [
        _predictions(head, encoding, file, table.slice(start, BLOCK), ids[start : start + BLOCK])
        for start in range(0, table.num_rows, BLOCK)
    ]
    progress("writing")
    remove_unfinished(output)
    write_table(pa.concat_tables(blocks).rename_columns({"id": options.id}), output)
    return {
        "rows": table.num_rows,
        "model": {"sha256": model.sha256},
        "output": str(output),
        "unseen_categories": encoding.unseen(table),
    }


def _predictions(
    head: LinearHead, encoding: Encoding, file: Path, table: pa.Table, ids: list[str]
) -> pa.Table:
    rows = encoding.encode(file, table)
    columns: dict[str, Any] = {"id": ids, "prediction": head.predict(rows)}
    if head.classes is not None:
        for name, share in zip(head.classes, head.probabilities(rows).T, strict=True):
            columns[f"probability_{name}"] = share
    return pa.table(columns)
