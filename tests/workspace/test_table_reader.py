"""What `fit` settled of tables, as those read it who come later."""

import numpy as np

from expunge.workspace.csv_tables import PLAIN
from expunge.workspace.fit import fit
from expunge.workspace.folder import Folder
from expunge.workspace.held_out import evaluate_held_out
from expunge.workspace.options import Options
from expunge.workspace.table_limits import USUAL
from expunge.workspace.table_reader import TableReader
from tests.workspace.tables_made import people, private_people, public_people, usual, write

DAYS = [f"2024-{1 + row % 12:02d}-{1 + row % 28:02d}" for row in range(200)]


def test_settings_and_the_current_model_come_together(tmp_path):
    folder = Folder.opened(usual(tmp_path))
    known = TableReader.of(folder)
    assert (known.options.label, known.dates) == ("label", {})
    assert known.encoding.categories == ["colour"]
    assert known.model == folder.look(lambda _, model: model)
    assert known.head.classes.tolist() == ["no", "yes"]


def test_ids_and_categories_are_text_and_declared_dates_are_spread(tmp_path):
    dated = [
        columns | {"day": DAYS[: len(columns["id"])]}
        for columns in (private_people(), public_people())
    ]
    mine, theirs = (write(tmp_path / f"{i}.csv", columns) for i, columns in enumerate(dated))
    declared = tmp_path / "encoding.json"
    declared.write_text('{"columns": {"day": {"date": "parts"}}}')
    fit(tmp_path / "shop", mine, theirs, Options(id="id", label="label"), encoding=declared)
    known = TableReader.of(Folder.opened(tmp_path / "shop"))
    file = write(tmp_path / "new.csv", people(30, seed=5, prefix="7") | {"day": DAYS[:30]})
    table = known.read(file, USUAL, PLAIN)
    assert "day" not in table.column_names
    assert {"day.year", "day.month", "day.weekday"} <= set(table.column_names)
    assert table["id"].to_pylist()[0] == "70000"
    assert np.isfinite(known.encoding.encode(file, table)).all()
    # a report on held-out rows reads them in the same way
    assert evaluate_held_out(Folder.opened(tmp_path / "shop"), file)["accuracy"] > 0.5
