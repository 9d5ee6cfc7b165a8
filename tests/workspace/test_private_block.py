"""Blocks of private tables, read by public rules alone."""

import numpy as np
import pyarrow as pa
import pytest

from expunge.errors import InvalidInput
from expunge.workspace.encoding import Category, Encoding, Number
from expunge.workspace.options import Options
from expunge.workspace.private_block import PrivateRules
from expunge.workspace.private_values import Unread

RULES = PrivateRules(
    Encoding({"age": Number(40.0, 10.0), "colour": Category(("red", "blue"))}),
    Options(id="id", label="label"),
    np.array(["no", "yes"]),
)


def table(**columns):
    given = {"id": ["a", "b"], "age": ["30", "old"], "colour": ["red", "green"]}
    return pa.table(given | {"label": ["yes", "perhaps"]} | columns)


def test_ids_values_rows_and_labels_come_together(tmp_path):
    unread = Unread()
    block = RULES.read(tmp_path / "x.csv", table(), unread)
    assert block.ids == ["a", "b"]
    assert block.table["age"].to_pylist() == [30.0, None]
    assert block.labels.tolist() == ["yes", "no"]
    assert block.rows[0].any()
    assert not block.rows[1].any()  # without a label it is blank
    told = []
    unread.tell(tmp_path / "x.csv", told.append)
    assert len(told) == 2


def test_ids_are_kept_in_the_form_in_which_they_are_compared(tmp_path):
    block = RULES.read(tmp_path / "x.csv", table(id=["e\u0301", "b"]), Unread())
    assert block.ids == block.table["id"].to_pylist() == ["\u00e9", "b"]


def test_a_row_is_named_by_its_number_in_the_whole_table(tmp_path):
    with pytest.raises(InvalidInput, match="row 102 has no id"):
        RULES.read(tmp_path / "x.csv", table(id=["a", ""]), Unread(), 101)
