"""A schema is a file of ranges and categories; what is wrong with it is told with the column."""

import json

import pytest

from expunge.errors import InvalidInput
from expunge.features import DeclaredColumns
from expunge.workspace.declared_schema import Schema, read_schema
from expunge.workspace.encoding import Category, Number

KNOWN = {"ranges": {"age": [18, 90]}, "categories": {"town": ["Ulm", "Bonn"]}}


def written(folder, content, name="schema.json"):
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def test_json_and_toml_say_the_same(tmp_path):
    toml = 'ranges = {age = [18, 90]}\n[categories]\ntown = ["Ulm", "Bonn"]\n'
    schema = read_schema(written(tmp_path, toml, "schema.toml"))
    assert schema == read_schema(written(tmp_path, KNOWN))
    assert schema == Schema({"age": (18.0, 90.0)}, {"town": ("Ulm", "Bonn")})


def test_its_rules_are_those_of_declared_columns():
    schema = Schema({"age": (18.0, 90.0)}, {"town": ("Ulm", "Bonn")})
    assert schema.rules == {"age": Number(54.0, 36.0), "town": Category(("Ulm", "Bonn"))}
    columns = DeclaredColumns(ranges={0: (18, 90)})
    for age in (18, 54, 71.5, 90):
        assert columns.transform([[age]])[0, 0] == pytest.approx((age - 54.0) / 36.0)


def test_an_empty_schema_declares_nothing(tmp_path):
    assert read_schema(written(tmp_path, {})).rules == {}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "a schema is like"),
        ("[1]", "a schema is like"),
        ({"range": {}}, "range: extra inputs are not permitted"),
        ({"ranges": {"age": [90, 18]}}, "ranges.age: must be \\(low, high\\), not \\(90, 18\\)"),
        ({"ranges": {"age": [1]}}, "ranges.age: must be a pair"),
        ({"ranges": {"age": "old"}}, "ranges.age: .*a schema is like"),
        ({"categories": {"town": []}}, "categories.town: no values"),
        ({"categories": {"town": ["Ulm", "Ulm"]}}, "categories.town: 'Ulm' is there twice"),
        ({"ranges": {"a": [0, 1]}, "categories": {"a": ["x"]}}, "'a': has a range and categories"),
    ],
)
def test_what_is_wrong_is_named_with_its_column(tmp_path, content, said):
    with pytest.raises(InvalidInput, match=said) as raised:
        read_schema(written(tmp_path, content))
    assert "\n" not in str(raised.value)
    assert "schema.json" in str(raised.value)


def test_a_file_that_is_none_is_named(tmp_path):
    with pytest.raises(InvalidInput, match=r"none\.json: cannot be read"):
        read_schema(tmp_path / "none.json")
    with pytest.raises(InvalidInput, match=r"schema\.toml: not TOML"):
        read_schema(written(tmp_path, "a = = 1", "schema.toml"))
    path = tmp_path / "schema.json"
    path.write_bytes(b"\xff\xfe{")
    with pytest.raises(InvalidInput, match="not UTF-8"):
        read_schema(path)
