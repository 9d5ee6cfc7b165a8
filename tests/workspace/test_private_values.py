"""Private values: read by public types, so that no one record changes what fit does or keeps."""

import json
import math

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from expunge.errors import InvalidInput
from expunge.workspace.encoding import Encoding, Number
from expunge.workspace.fit import fit
from expunge.workspace.forget import forget
from expunge.workspace.options import Options
from expunge.workspace.private_values import Unread, private_labels, read_numbers
from expunge.workspace.table_limits import FEWEST
from expunge.workspace.verify import verify
from tests.workspace.tables_made import (
    DECLARED,
    ledger_rows,
    private_chunk,
    private_people,
    public_people,
    write,
    write_declared,
)

AGE = Encoding({"age": Number(40.0, 10.0)})
ODD = {
    "a word in a number": ("age", "about forty"),
    "a date in a number": ("age", "2026-01-01"),
    "an infinite number": ("age", "inf"),
    "a number beyond all scales": ("age", "1e300"),
    "digits of another script": ("age", "\u0664\u0662"),
    "a number with a separator": ("age", "1_000"),
    "a word in a boolean": ("member", "perhaps"),
    "a number in a text": ("colour", "7"),
    "a line break in a text": ("colour", "re\nd"),
    "an unknown label": ("label", "maybe"),
    "a number for a label": ("label", "3.5"),
    "no label": ("label", None),
}


def settings(workspace):
    return {name: json.loads(value) for name, value in ledger_rows(workspace)["settings"]}


def schema(workspace):
    return parquet.read_schema(private_chunk(workspace)).remove_metadata()


def with_one_odd(columns, name, value, row=11):
    return columns | {name: [value if i == row else each for i, each in enumerate(columns[name])]}


def learned(folder, mine, theirs, **changed):
    folder.mkdir()
    told = []
    private = write(folder / "private.csv", mine)
    public = None if theirs is None else write(folder / "public.csv", theirs)
    rules = write_declared(folder / "rules.json", DECLARED) if theirs is None else None
    options = Options(id="id", label="label", **changed)
    made = folder / "workspace"
    fit(made, private, public, options, encoding=rules, notice=told.append)
    return made, told


@pytest.mark.parametrize("odd", ODD, ids=str)
@pytest.mark.parametrize("public", [True, False], ids=["public table", "declared"])
def test_one_odd_private_record_changes_neither_types_nor_rules_nor_the_outcome(
    tmp_path, odd, public
):
    theirs = public_people() if public else None
    named = {} if public else {"classes": ("yes", "no")}
    usual, quiet = learned(tmp_path / "usual", private_people(), theirs, **named)
    strange = with_one_odd(private_people(), *ODD[odd])
    made, told = learned(tmp_path / "odd", strange, theirs, **named)
    assert settings(made)["encoding"] == settings(usual)["encoding"]
    labels = [settings(each)["head"]["labels"] for each in (made, usual)]
    assert labels[0] == labels[1]
    assert schema(made) == schema(usual)
    assert quiet == []
    assert len(told) == (ODD[odd][0] != "colour")
    assert all("1 of 150 cannot be read" in line for line in told)
    assert forget(made, ["00011"])["records"]["forgotten"] == 1
    assert verify(made)["valid"]


def test_bytes_that_are_no_text_are_one_more_unknown_value(tmp_path):
    private = write(tmp_path / "private.csv", private_people())
    content = private.read_bytes()
    private.write_bytes(content.replace(b"mauve", b"m\xffuve").replace(b"red", b"\xfe", 1))
    public = write(tmp_path / "public.csv", public_people())
    options = Options(id="id", label="label")
    assert fit(tmp_path / "made", private, public, options)["records"]["private"] == 150


@pytest.mark.parametrize(
    ("name", "value", "complaint"),
    [
        ("age", "about forty", "'about forty' in row 12 is not a number, and most others are"),
        ("age", "inf", "column 'age' holds a number of 1e"),
        ("label", None, "row 12 has no label"),
    ],
)
def test_the_same_in_the_public_table_is_an_ordinary_error(tmp_path, name, value, complaint):
    with pytest.raises(InvalidInput, match=complaint):
        learned(tmp_path / "one", private_people(), with_one_odd(public_people(), name, value))


def test_one_odd_public_label_among_numbers_is_an_ordinary_error(tmp_path):
    def numbered(columns):
        return columns | {"label": [int(each == "yes") for each in columns["label"]]}

    mine, theirs = numbered(private_people()), numbered(public_people())
    learned(tmp_path / "usual", mine, theirs)
    with pytest.raises(InvalidInput, match=r"'x' is not a number.*name all labels with --classes"):
        learned(tmp_path / "odd", mine, with_one_odd(theirs, "label", "x"))


def test_one_odd_private_label_among_numbers_is_a_blank_row(tmp_path):
    def numbered(columns):
        return columns | {"label": [int(each == "yes") for each in columns["label"]]}

    mine = with_one_odd(numbered(private_people()), "label", "x")
    made, told = learned(tmp_path / "one", mine, numbered(public_people()))
    assert settings(made)["head"]["labels"]["values"] == [0, 1]
    assert len(told) == 1


@pytest.mark.parametrize("odd", ["about 7", "", "nan", "-inf", "2026-01-01"])
def test_one_odd_target_of_a_regression_is_a_blank_row(tmp_path, odd):
    def aged(columns):
        return columns | {"label": [float(i % 7) for i in range(len(columns["label"]))]}

    mine = with_one_odd(aged(private_people()), "label", odd)
    made, told = learned(tmp_path / "one", mine, aged(public_people()), task="regression")
    assert len(told) == 1
    assert forget(made, ["00011"])["records"]["forgotten"] == 1


# ---- the rules themselves -----------------------------------------------------------------------


def read(values, kind=None):
    told, unread = [], Unread()
    table = read_numbers("t.csv", pa.table({"age": pa.array(values, kind)}), AGE, unread)
    unread.tell("t.csv", told.append)
    return table["age"].to_pylist(), told


def test_numbers_are_read_one_by_one():
    found, told = read(["1.5", " 2e1 ", "-.5", "TRUE", "false", "+7", "NA", "", None])
    assert found == [1.5, 20.0, -0.5, 1.0, 0.0, 7.0, None, None, None]
    assert told == []


@pytest.mark.parametrize("odd", ["x", "1,5", "0x10", "1_0", "inf", "-Infinity", "1e40", "\u0661"])
def test_what_is_no_number_is_missing_and_counted(odd):
    found, told = read(["1.5", odd, "2"])
    assert found == [1.5, None, 2.0]
    assert told == ["t.csv: column 'age': 1 of 3 cannot be read as a number"]


def test_numbers_of_a_typed_file_are_not_refused_for_their_size():
    assert read([2**60, 1])[0] == [float(2**60), 1.0]
    assert read([math.inf, math.nan, 1.0])[0] == [None, None, 1.0]


def test_a_column_of_nothing_but_missing_values_is_fine():
    assert read([None, None], pa.string())[0] == [None, None]


def test_a_column_in_which_nothing_can_be_read_is_refused():
    with pytest.raises(InvalidInput, match="column 'age': no value can be read as a number"):
        read(["x"] * FEWEST + [None])


@pytest.mark.parametrize("others", [0, 20], ids=["alone", "where others have none"])
def test_one_record_that_cannot_be_read_refuses_no_column(others):
    """A table to add may hold one record, and a column may be empty but for one."""
    values, told = read(["x", *[None] * others])
    assert values == [None] * (1 + others)
    assert "1 of" in told[0]


def test_what_cannot_be_read_is_counted_over_all_blocks():
    """A block in which nothing can be read says nothing of the whole."""
    told, unread = [], Unread()
    for values in (["x", "y"], ["1", "z"]):
        read_numbers("t.csv", pa.table({"age": values}), AGE, unread)
    unread.tell("t.csv", told.append)
    assert told == ["t.csv: column 'age': 3 of 4 cannot be read as a number"]


def test_a_column_that_the_file_declares_a_date_is_refused():
    with pytest.raises(InvalidInput, match="column 'age' is date32"):
        read([0, 1], pa.date32())


def labels(values, known, **changed):
    options = Options(id="id", label="label", **changed)
    return private_labels("t.csv", pa.table({"label": values}), options, known, Unread())


def test_labels_are_those_known_however_they_are_written():
    found, blank = labels(["1", "1.0", "01", "0"], [0, 1])
    assert found.tolist() == [1, 1, 1, 0]
    assert not blank.any()
    found, blank = labels(["True", "false"], ["false", "true"])
    assert found.tolist() == ["true", "false"]
    found, blank = labels([1, 0], ["0", "1"])
    assert found.tolist() == ["1", "0"]


def test_other_labels_are_the_first_one_and_marked():
    found, blank = labels(["b", "c", None, "", "a"], ["a", "b"])
    assert found.tolist() == ["b", "a", "a", "a", "a"]
    assert blank.tolist() == [False, True, True, True, False]


def test_targets_that_cannot_be_read_are_0_and_marked():
    found, blank = labels(["2", "x", None], None, task="regression")
    assert found.tolist() == [2.0, 0.0, 0.0]
    assert blank.tolist() == [False, True, True]
    assert found.dtype == np.float64
