"""Columns as numbers: the stated rule for every kind, missing and unseen values."""

import math

import numpy as np
import pyarrow as pa
import pytest

from expunge.errors import InvalidInput
from expunge.workspace import encoding as module
from expunge.workspace.encoding import Category, Encoding, Number, declared, fitted


def fitted_on(path, columns):
    table = pa.table(columns)
    return fitted(path, table, table.column_names, {})


def test_numbers_are_centred_and_scaled_by_the_given_records(tmp_path):
    rules = fitted_on(tmp_path, {"x": [1.0, None, 3.0, math.nan, 8.0]})
    known = np.array([1.0, 3.0, 8.0])
    assert rules.rules == {"x": Number(known.mean(), known.std())}
    encoded = rules.encode(tmp_path, pa.table({"x": [1.0, None, math.nan, 100.0]}))
    want = [(1 - known.mean()) / known.std(), 0, 0, (100 - known.mean()) / known.std()]
    np.testing.assert_allclose(encoded[:, 0], want, rtol=1e-6)
    assert encoded.dtype == np.float32


def test_a_constant_column_is_only_centred(tmp_path):
    assert fitted_on(tmp_path, {"x": [4, 4]}).rules == {"x": Number(4.0, 1.0)}


@pytest.mark.parametrize(
    "column",
    [pa.array([1, 0, 1]), pa.array([True, False, True]), pa.array([1.0, 0.0, 1.0], pa.float32())],
)
def test_integers_booleans_and_floats_are_numbers(tmp_path, column):
    (rule,) = fitted_on(tmp_path, {"x": column}).rules.values()
    assert rule == Number(pytest.approx(2 / 3), pytest.approx(math.sqrt(2) / 3))


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_texts_are_categories_in_sorted_order(tmp_path, kind):
    column = pa.array(["b", None, "a", "", "c", "a"], kind)
    rules = fitted_on(tmp_path, {"x": column})
    assert rules.rules == {"x": Category(("a", "b", "c"))}
    assert rules == fitted_on(tmp_path, {"x": column.dictionary_encode()})
    encoded = rules.encode(tmp_path, pa.table({"x": pa.array(["c", "a", None, "", "d"], kind)}))
    want = [[0, 0, 1], [1, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0, 0]]
    np.testing.assert_array_equal(encoded, want)


def test_a_row_is_divided_by_the_root_of_its_columns(tmp_path):
    rules = Encoding({"x": Number(0, 1), "y": Number(0, 2), "z": Category(("a", "b"))})
    encoded = rules.encode(tmp_path, pa.table({"z": ["b"], "y": [2.0], "x": [3.0]}))
    np.testing.assert_allclose(encoded, np.array([[3, 1, 0, 1]]) / math.sqrt(3), rtol=1e-6)
    assert rules.width == 4
    assert rules.categories == ["z"]


def test_blocks_make_no_difference(tmp_path, monkeypatch):
    rules = Encoding({"x": Number(0, 1), "z": Category(("a", "b"))})
    table = pa.table({"x": [*range(7)], "z": list("abcabca")})
    whole = rules.encode(tmp_path, table)
    monkeypatch.setattr(module, "BLOCK", 3)
    np.testing.assert_array_equal(rules.encode(tmp_path, table), whole)


def test_what_is_stored_comes_back(tmp_path):
    rules = fitted_on(tmp_path, {"x": [1.0, 4.0], "z": ["a", "b"]})
    assert Encoding.of(rules.document()) == rules


@pytest.mark.parametrize(
    ("column", "complaint"),
    [
        (pa.nulls(2), "column 'x' is empty: leave it out with --drop \"x\""),
        (pa.array([None, None], pa.float64()), "column 'x' is empty: "),
        (pa.array([math.nan, math.nan]), "column 'x' is empty: "),
        (pa.array(["", None]), "column 'x' is empty: "),
        (pa.array([1.0, math.inf]), r"column 'x' holds a number of 1e\+30 or more"),
        (pa.array([1e200, -1e200]), r"column 'x' holds a number of 1e\+30 or more"),
        (pa.array([b"a", b"b"]), "column 'x' is binary: .*--encoding FILE"),
        (pa.array([[1], [2]]), "column 'x' is list.*: .*--drop"),
        (pa.array([f"{one}" for one in range(1001)]), "1,001 different texts, more than 1,000"),
    ],
)
def test_a_column_that_cannot_be_fitted_is_named_with_the_remedy(tmp_path, column, complaint):
    with pytest.raises(InvalidInput, match=complaint):
        fitted_on(tmp_path / "public.csv", {"x": column})


def test_a_thousand_categories_are_not_too_many(tmp_path):
    assert fitted_on(tmp_path, {"x": [f"{one}" for one in range(1000)]}).width == 1000


@pytest.mark.parametrize(
    ("columns", "complaint"),
    [
        ({"z": ["a"]}, "no column 'x', which the model needs"),
        ({"x": ["old"], "z": ["a"]}, "column 'x': "),
        ({"x": [math.inf], "z": ["a"]}, r"column 'x' holds a number of 1e\+30 scales"),
        ({"x": [-1e40], "z": ["a"]}, r"column 'x' holds a number of 1e\+30 scales"),
        ({"x": [1.0], "z": [["a"]]}, "column 'z': "),
    ],
)
def test_rows_that_cannot_be_encoded_are_refused_by_column(tmp_path, columns, complaint):
    rules = Encoding({"x": Number(0, 1), "z": Category(("a",))})
    with pytest.raises(InvalidInput, match=complaint) as refused:
        rules.encode(tmp_path / "rows.csv", pa.table(columns))
    assert "rows.csv" in str(refused.value)
    assert "\n" not in str(refused.value)


def test_rules_may_be_declared(tmp_path):
    path = tmp_path / "encoding.json"
    path.write_text('{"columns": {"x": {"scale": 2}, "y": {"center": 1, "scale": 3}, "z": {"values": ["b", "a"]}}}')  # fmt: skip  # noqa: E501
    rules = {"x": Number(0, 2), "y": Number(1, 3), "z": Category(("b", "a"))}
    assert declared(path) == (rules, {})
    path.write_text('{"columns": {"x": {"scale": 2}, "since": {"date": "parts"}}}')
    assert declared(path) == ({"x": Number(0, 2)}, {"since": "parts"})


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", "encoding.json"),
        ("[]", "encoding.json"),
        ("{}", "columns"),
        ('{"columns": {}, "more": 1}', "more"),
        ('{"columns": {"x": {}}}', "columns.x"),
        ('{"columns": {"x": {"center": 1}}}', "columns.x: give either"),
        ('{"columns": {"x": {"scale": 1, "values": ["a"]}}}', "columns.x: give either"),
        ('{"columns": {"x": {"scale": 0}}}', "columns.x.scale"),
        ('{"columns": {"x": {"scale": -1}}}', "columns.x.scale"),
        ('{"columns": {"x": {"scale": NaN}}}', "encoding.json"),
        ('{"columns": {"x": {"scale": 1e999}}}', "columns.x.scale"),
        ('{"columns": {"x": {"scale": 1, "centre": 2}}}', "columns.x.centre"),
        ('{"columns": {"x": {"values": []}}}', "columns.x.values"),
        ('{"columns": {"x": {"values": [1]}}}', "columns.x.values.0"),
        ('{"columns": {"x": {"values": ["a", "a"]}}}', "columns.x: a value is there twice"),
    ],
)
def test_a_declaration_that_is_none_is_refused_by_field(tmp_path, text, named):
    path = tmp_path / "encoding.json"
    path.write_text(text)
    with pytest.raises(InvalidInput, match=named) as refused:
        declared(path)
    assert "encoding.json" in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_declaration_must_be_text(tmp_path):
    (tmp_path / "encoding.json").write_bytes(b"\xff\xfe{}")
    with pytest.raises(InvalidInput, match="not UTF-8 text"):
        declared(tmp_path / "encoding.json")
