"""Columns encoded by what is declared about them: no record shapes anything."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from expunge.features import DeclaredColumns

FRAME = pd.DataFrame(
    {"age": [0, 60, 120, 500, np.nan], "town": ["a", "b", "c", None, "a"], "name": list("vwxyz")}
)
DECLARED = DeclaredColumns(ranges={"age": (0, 120)}, categories={"town": ["a", "b"]})


def test_numbers_are_scaled_and_clipped_and_categories_become_columns():
    expected = [[-1, 1, 0], [0, 0, 1], [1, 0, 0], [1, 0, 0], [0, 1, 0]]
    np.testing.assert_array_equal(DECLARED.transform(FRAME), expected)
    assert DECLARED.get_feature_names_out().tolist() == ["age", "town_a", "town_b"]


def test_fitting_changes_nothing():
    fitted = clone(DECLARED).fit(FRAME)
    assert vars(fitted) == vars(clone(DECLARED))
    np.testing.assert_array_equal(fitted.transform(FRAME), DECLARED.transform(FRAME))


def test_columns_of_arrays_go_by_number():
    rows = np.array([[0.0, 3.0], [10.0, 4.0]])
    given = DeclaredColumns(ranges={0: (0, 10)}, categories={1: [3, 4]})
    np.testing.assert_array_equal(given.transform(rows), [[-1, 1, 0], [1, 0, 1]])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "declare the columns"),
        ({"ranges": [(0, 1)]}, "ranges: must be a dictionary"),
        ({"categories": "town"}, "categories: must be a dictionary"),
        ({"ranges": {"age": (1, 0)}}, r"ranges\['age'\]: must be \(low, high\)"),
        ({"categories": {"town": []}}, r"categories\['town'\]: must be a list"),
        ({"categories": {"town": "ab"}}, r"categories\['town'\]: must be a list"),
        ({"categories": {"town": ["a", "a"]}}, r"categories\['town'\]: must be a list"),
        ({"categories": {"town": [["a"], ["b"]]}}, r"categories\['town'\]: must be a list"),
        ({"categories": {"town": [{}]}}, r"categories\['town'\]: must be a list"),
        ({"categories": {"town": [10**400]}}, r"categories\['town'\]: must be a list"),
    ],
)
def test_declarations_that_make_no_sense_are_named(given, said):
    with pytest.raises(ValueError, match=said):
        DeclaredColumns(**given).fit(FRAME)


def test_a_declared_column_that_is_not_there_is_named():
    with pytest.raises(ValueError, match="X: has no column 'age'"):
        DECLARED.transform(FRAME[["town"]])


def test_a_value_that_cannot_be_read_is_missing_and_no_reason_to_refuse():
    """One record would otherwise decide whether there is a model, and the refusal would show it."""
    mixed = pd.DataFrame({"age": ["20", "sixty", None, 10**400, object(), 60]}, dtype=object)
    encoded = DeclaredColumns(ranges={"age": (0, 100)}).fit().transform(mixed)
    assert encoded[:, 0].tolist() == pytest.approx([-0.6, 0, 0, 0, 0, 0.2])
