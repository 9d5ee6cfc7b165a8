"""Declared ranges belong to columns that there are, and are in order."""

import numpy as np
import pytest

from expunge.features.column_ranges import declared_range, range_columns

NAMES = np.array(["age", "height"], dtype=object)


@pytest.mark.parametrize("ranges", [{"age": (0, 120)}, {0: [0, 120]}, {0: np.array([0.0, 120.0])}])
def test_a_column_is_found_by_name_or_number(ranges):
    low, high = range_columns(ranges, 2, NAMES)
    np.testing.assert_array_equal(low, [0, np.nan])
    np.testing.assert_array_equal(high, [120, np.nan])


def test_all_columns_are_given_in_order_or_none():
    low, high = range_columns([(0, 1), (2, 3)], 2, None)
    assert (low.tolist(), high.tolist()) == ([0, 2], [1, 3])
    assert np.isnan(range_columns(None, 2, None)).all()


@pytest.mark.parametrize(
    ("ranges", "said"),
    [
        ({"weight": (0, 1)}, "no column 'weight'"),
        ({2: (0, 1)}, "no column 2"),
        ({-1: (0, 1)}, "no column -1"),
        ({True: (0, 1)}, "no column True"),
        ([(0, 1)], "or 2 pairs"),
        ("age", "or 2 pairs"),
    ],
)
def test_columns_that_are_not_there_are_named(ranges, said):
    with pytest.raises(ValueError, match=said):
        range_columns(ranges, 2, NAMES)


@pytest.mark.parametrize(
    "pair", [(1, 1), (2, 1), (0,), (0, 1, 2), (0, np.inf), (np.nan, 1), ("a", "b"), "ab", 5, None]
)
def test_what_is_no_range_is_refused_by_its_name(pair):
    with pytest.raises(ValueError, match=r"ranges\['age'\]: must be"):
        declared_range("ranges['age']", pair)
