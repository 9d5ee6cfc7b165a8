"""`evaluate`: how well the current model does on rows of yours, beside what it has to beat.

    model         on these rows
    public only   learned from the public records alone, with the same loss
    majority      the label that most of these rows have, said of all of them; of a regression their
                  mean, which has an R2 of 0

Nothing is written, and no private record is opened. Rows that the model was trained on are counted,
because on these every model looks better than it is.
"""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from expunge.errors import InvalidInput
from expunge.unlearning.linear.linear_head import LinearHead
from expunge.unlearning.linear.public_model import public_model
from expunge.workspace.csv_tables import PLAIN, CsvForm
from expunge.workspace.encoding import Encoding
from expunge.workspace.folder import PUBLIC_RECORDS, Folder
from expunge.workspace.labels import check_labelled, labels_of
from expunge.workspace.options import Options
from expunge.workspace.private_values import Unread, private_labels
from expunge.workspace.public_records import PUBLIC, public_records
from expunge.workspace.table_limits import USUAL, TableLimits
from expunge.workspace.table_reader import TableReader
from expunge.workspace.tables import ids_of

__all__ = ["evaluate", "score"]


def evaluate(
    workspace: Path,
    data: Path,
    *,
    limits: TableLimits = USUAL,
    form: CsvForm = PLAIN,
    progress: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Score the current model on a table with labels; accuracy, or R2 of a regression.

    A label that the model does not know counts as a mistake, and is counted.

    Raises:
        InvalidInput: a table that cannot be read, lacks a column, or has a row without a label.
    """
    folder = Folder.opened(workspace)
    known = TableReader.of(folder)
    options, encoding, head = known.options, known.encoding, known.head
    progress("reading")
    table = known.read(data, limits, form)
    labels, unknown = _labels(data, table, options, head)
    rows = encoding.encode(data, table)
    trained_on = _known_records(folder, data, table, options)
    progress("learning from the public records alone")
    alone = folder.steady(
        lambda entries, _: entries.setting(PUBLIC),
        lambda public: _public_model(folder, public, options, encoding, head),
    )
    folder.ledger.close()
    return {
        "data": str(data),
        "rows": table.num_rows,
        "task": options.task,
        "label": options.label,
        "model": {"number": known.model.number, "sha256": known.model.sha256},
        **score(head, rows, labels, unknown),
        "public_only": None if alone is None else score(alone, rows, labels, unknown),
        "majority": _majority(head, labels, unknown),
        "unknown_labels": int(unknown.sum()),
        "unseen_categories": encoding.unseen(table),
        "trained_on": trained_on,
    }


def score(
    head: LinearHead, rows: np.ndarray, labels: np.ndarray, unknown: np.ndarray | None = None
) -> dict[str, float | None]:
    """Accuracy of a classifier; R2 and error of a regression.

    R2 is null where all values are the same: there is nothing to explain.

    Args:
        unknown: Rows with a label that the model does not know.
    """
    said = head.predict(rows)
    if head.classes is None:
        squares = float(np.sum((said - labels) ** 2))
        spread = float(np.sum((labels - labels.mean()) ** 2))
        error = float(np.sqrt(squares / len(labels)))
        return {"r2": 1 - squares / spread if spread else None, "root_mean_square_error": error}
    right = said == labels
    return {"accuracy": float(np.mean(right if unknown is None else right & ~unknown))}


def _labels(
    data: Path, table: pa.Table, options: Options, head: LinearHead
) -> tuple[np.ndarray, np.ndarray]:
    """Labels as the model knows them, and which of them it does not know.

    Raises:
        InvalidInput: a row has no label, or no label is one that the model knows.
    """
    check_labelled(data, table, options.label)
    if head.classes is None:
        values = labels_of(data, table, options)
        return values, np.zeros(len(values), dtype=bool)
    labels, unknown = private_labels(data, table, options, head.classes.tolist(), Unread())
    if unknown.all():
        known = ", ".join(repr(str(label)) for label in head.classes[:10])
        problem = f"no label in {options.label!r} is one that the model knows: {known}"
        raise InvalidInput(str(data), problem)
    return labels, unknown


def _known_records(
    folder: Folder, data: Path, table: pa.Table, options: Options
) -> dict[str, int] | None:
    """How many of the rows are records of the workspace; None where the table has no ids."""
    if options.id not in table.column_names:
        return None
    ids = ids_of(data, table, options.id)
    outcomes = folder.look(lambda entries, _: Counter(entries.outcomes(ids).values()))
    return {"private": outcomes["forgotten"], "public": outcomes["public"]}


def _public_model(
    folder: Folder, public: str, options: Options, encoding: Encoding, beside: LinearHead
) -> LinearHead | None:
    path, table = folder.records_file(PUBLIC_RECORDS), public_records(folder, public)
    if table is None:
        return None
    rows, labels = encoding.encode(path, table), labels_of(path, table, options)
    try:
        return public_model(beside, rows, labels)
    except (ValueError, ArithmeticError) as error:
        raise InvalidInput(str(path), f"no model of the public records alone ({error})") from error


def _majority(head: LinearHead, labels: np.ndarray, unknown: np.ndarray) -> dict[str, Any]:
    """What knowing nothing but the rows' own labels would give."""
    if head.classes is None:
        error = float(np.sqrt(np.mean((labels - labels.mean()) ** 2)))
        return {"mean": float(labels.mean()), "r2": 0.0, "root_mean_square_error": error}
    label, count = Counter(labels[~unknown].tolist()).most_common(1)[0]
    return {"label": str(label), "accuracy": count / len(labels)}
