"""Labels: text and integers are classes, numbers a regression, everything else is refused."""

import math

import pyarrow as pa
import pytest

from expunge.errors import InvalidInput
from expunge.workspace.labels import labels_of
from expunge.workspace.options import Options


def labels(path, column, **options):
    return labels_of(path, pa.table({"y": column}), Options(id="id", label="y", **options))


@pytest.mark.parametrize(
    ("column", "kind", "found"),
    [
        (pa.array(["b", "a"]), "U", ["b", "a"]),
        (pa.array(["b", "a"], pa.large_string()), "U", ["b", "a"]),
        (pa.array(["b", "a"]).dictionary_encode(), "U", ["b", "a"]),
        (pa.array([2, -1], pa.int8()), "i", [2, -1]),
        (pa.array([2.0, -1.0]), "i", [2, -1]),
        (pa.array([True, False]), "U", ["true", "false"]),
    ],
)
def test_classes_are_text_or_integers(tmp_path, column, kind, found):
    result = labels(tmp_path, column)
    assert result.dtype.kind == kind
    assert result.tolist() == found


@pytest.mark.parametrize("column", [["2", "1"], [2, 1], [2.0, 1.0]])
def test_declared_classes_are_compared_as_text(tmp_path, column):
    assert labels(tmp_path, column, classes=("1", "2")).tolist() == ["2", "1"]


@pytest.mark.parametrize("column", [[2, 1], [2.0, 1.0], pa.array([2.0, 1.0], pa.float32())])
def test_a_regression_has_floats(tmp_path, column):
    result = labels(tmp_path, column, task="regression")
    assert result.dtype == float
    assert result.tolist() == [2, 1]


@pytest.mark.parametrize(
    ("column", "options", "complaint"),
    [
        (["a", None], {}, "row 2 has no label"),
        (["a", "", "b"], {}, "row 2 has no label"),
        ([1.0, 2.0, math.nan], {}, "row 3 has no label"),
        ([None, 1.0], {"task": "regression"}, "row 1 has no label"),
        ([None, 1], {"classes": ("1",)}, "row 1 has no label"),
        ([0.5, 1.0], {}, "are fractions: use --task regression, or name classes"),
        ([0.5, 1.0], {"classes": ("1",)}, "are fractions"),
        ([1.0, math.inf], {}, "labels in 'y' are not all finite"),
        ([1.0, math.inf], {"task": "regression"}, "labels in 'y' are not all finite"),
        (["a", "b"], {"task": "regression"}, "are string, not numbers"),
        ([True, False], {"task": "regression"}, "are bool, not numbers"),
        ([[1], [2]], {}, "use text or integers"),
    ],
)
def test_what_is_no_label_is_refused(tmp_path, column, options, complaint):
    with pytest.raises(InvalidInput, match=complaint) as refused:
        labels(tmp_path / "table.csv", column, **options)
    assert "table.csv" in str(refused.value)


def test_a_missing_column_is_named(tmp_path):
    with pytest.raises(InvalidInput, match="no column 'y'"):
        labels_of(tmp_path, pa.table({"x": [1]}), Options(id="id", label="y"))
