"""How the current model does on a table of rows that it has never seen: `report --test FILE`."""

from pathlib import Path
from typing import Any

from expunge.errors import InvalidInput
from expunge.workspace.csv_tables import PLAIN
from expunge.workspace.evaluation import evaluation
from expunge.workspace.folder import Folder
from expunge.workspace.labels import labels_of
from expunge.workspace.table_limits import USUAL, TableLimits
from expunge.workspace.table_reader import TableReader
from expunge.workspace.tables import ids_of

__all__ = ["evaluate_held_out"]


def evaluate_held_out(folder: Folder, file: Path, *, limits: TableLimits = USUAL) -> dict[str, Any]:
    """Evaluate the current model on a file, as a document that says whose rows they are.

    Rows whose ids are in the workspace are refused: what was learned from flatters, and what was
    forgotten is not looked at again.

    Raises:
        InvalidInput: a table that cannot be read, lacks a label, or has rows of the workspace.
    """
    known = TableReader.of(folder)
    options, encoding = known.options, known.encoding
    table = known.read(file, limits, PLAIN)
    if not table.num_rows:
        raise InvalidInput(str(file), "has no rows to test on")
    named = options.id in table.column_names
    if named:
        _refuse_known(folder, file, ids_of(file, table, options.id))
    labels = labels_of(file, table, options)
    predictor = known.head
    if predictor.classes is not None:
        unknown = sorted({str(label) for label in labels} - set(map(str, predictor.classes)))
        if unknown:
            raise InvalidInput(
                str(file), f"label {unknown[0]!r} is none of the model's; leave such rows out"
            )
    whose = (
        f"rows of {file.name}, none with an id of this workspace"
        if named
        else f"rows of {file.name}, which has no ids: whether the model learned from them is the "
        "operator's word"
    )
    return {"on": whose, **evaluation(predictor, encoding.encode(file, table), labels)}


def _refuse_known(folder: Folder, file: Path, ids: list[str]) -> None:
    outcomes = folder.look(lambda entries, _: entries.outcomes(ids))
    known = [record for record, outcome in outcomes.items() if outcome != "unknown"]
    if known:
        more = f" and {len(known) - 1:,} more" if len(known) > 1 else ""
        raise InvalidInput(
            str(file), f"id {known[0]!r}{more} is in the workspace; test on rows that are not"
        )
