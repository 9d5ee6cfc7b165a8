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

from expunge.errors import InvalidInput
from expunge.ledger import IdOutcome
from expunge.unlearning.linear.linear_head import LinearHead
from expunge.unlearning.linear.public_model import public_model
from expunge.workspace.block_size import MEMORY, block_rows, rows_known
from expunge.workspace.csv_tables import PLAIN, CsvForm
from expunge.workspace.encoding import Encoding
from expunge.workspace.folder import PUBLIC, Folder
from expunge.workspace.given_once import GivenOnce
from expunge.workspace.labels import check_labelled, labels_of
from expunge.workspace.options import Options
from expunge.workspace.private_values import Unread, private_labels
from expunge.workspace.public_records import public_records
from expunge.workspace.rate import RowRate
from expunge.workspace.scores import LabelCount, Score
from expunge.workspace.table_limits import USUAL, TableLimits
from expunge.workspace.table_reader import ReadBlock, TableReader

__all__ = ["evaluate"]


def evaluate(
    workspace: Path,
    data: Path,
    *,
    limits: TableLimits = USUAL,
    form: CsvForm = PLAIN,
    memory: float = MEMORY,
    progress: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Score the current model on a table with labels; accuracy, or R2 of a regression.

    A label that the model does not know counts as a mistake, and is counted.

    Args:
        data: A table, or a folder or a pattern of files, read in blocks.
        memory: GiB that the rows may take at a time.

    Raises:
        InvalidInput: a table that cannot be read, lacks a column, or has a row without a label.
    """
    folder = Folder.opened(workspace)
    known = TableReader.of(folder)
    options, encoding, head = known.options, known.encoding, known.head
    progress("learning from the public records alone")
    alone = folder.steady(
        lambda entries, _: entries.setting(PUBLIC),
        lambda public: _public_model(folder, public, options, encoding, head),
    )
    labels, tally = LabelCount(classes=head.classes is not None), Unread()
    scores = [Score(each) for each in (head, alone) if each is not None]
    unseen, trained_on = Counter[str](), Counter[str]()
    rate, given_once = RowRate("scoring", rows_known(data), progress), GivenOnce()
    size, named = block_rows(encoding, memory), False
    for block in known.blocks(data, limits, form, size, labels=True):
        given, unknown = _labels(block, options, head, tally)
        labels.add(given, unknown)
        rows = encoding.encode(block.path, block.table)
        for each in scores:
            each.add(rows, given, unknown)
        unseen.update(encoding.unseen(block.table))
        named = options.id in block.table.column_names
        if named:
            ids = block.ids(options.id)
            given_once.add(ids)
            trained_on.update(_outcomes(folder, ids, doubt=labels.rows == len(ids)))
        rate.at(labels.rows)
    blocks = known.blocks(data, limits, form, size, labels=True)
    given_once.check(data, (block.ids(options.id) for block in blocks))
    _refuse_unknown(data, options, head, labels)
    folder.ledger.close()
    documents = [each.document(labels) for each in scores]
    return {
        "data": str(data),
        "rows": labels.rows,
        "task": options.task,
        "label": options.label,
        "model": {"number": known.model.number, "sha256": known.model.sha256},
        **documents[0],
        "public_only": None if alone is None else documents[1],
        "majority": labels.majority(),
        "unknown_labels": labels.unknown,
        "unseen_categories": dict(unseen),
        "trained_on": {"private": trained_on["forgotten"], "public": trained_on["public"]}
        if named
        else None,
    }


def _outcomes(folder: Folder, ids: list[str], *, doubt: bool) -> list[IdOutcome]:
    """What a request would make of each id; with `doubt` all records are read if one is unknown."""
    return folder.look(lambda entries, _: [*entries.outcomes(ids, doubt=doubt).values()])


def _labels(
    block: ReadBlock, options: Options, head: LinearHead, tally: Unread
) -> tuple[np.ndarray, np.ndarray]:
    """Labels as the model knows them, and which of them it does not know.

    Raises:
        InvalidInput: a row has no label.
    """
    check_labelled(block.path, block.table, options.label, block.first)
    if head.classes is None:
        values = labels_of(block.path, block.table, options)
        return values, np.zeros(len(values), dtype=bool)
    return private_labels(block.path, block.table, options, head.classes.tolist(), tally)


def _refuse_unknown(data: Path, options: Options, head: LinearHead, labels: LabelCount) -> None:
    """Refuse a table of which no label is one that the model knows.

    Raises:
        InvalidInput: it is such a table.
    """
    if head.classes is not None and labels.unknown == labels.rows:
        known = ", ".join(repr(str(label)) for label in head.classes[:10])
        problem = f"no label in {options.label!r} is one that the model knows: {known}"
        raise InvalidInput(str(data), problem)


def _public_model(
    folder: Folder, public: str, options: Options, encoding: Encoding, beside: LinearHead
) -> LinearHead | None:
    path, table = folder.public_file(public), public_records(folder, public)
    if table is None:
        return None
    rows, labels = encoding.encode(path, table), labels_of(path, table, options)
    try:
        return public_model(beside, rows, labels)
    except (ValueError, ArithmeticError) as error:
        raise InvalidInput(str(path), f"no model of the public records alone ({error})") from error
