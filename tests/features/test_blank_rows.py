"""One private row decides nothing but its own features."""

import numpy as np
import pytest
from scipy import sparse

from expunge.features.blank_rows import blank, finite_rows, usable_rows

ROWS = np.arange(20.0).reshape(10, 2)


def failing_on(*values, error=ValueError):
    def transform(rows):
        if np.isin(rows[:, 0], values).any():
            raise error("no such value")
        return rows

    return transform


@pytest.mark.parametrize("wrong", [[], [0], [9], [3, 4], [0, 5, 9], list(range(10))])
def test_exactly_the_rows_that_fail_are_found(wrong):
    usable = usable_rows(failing_on(*ROWS[wrong, 0]), ROWS)
    np.testing.assert_array_equal(np.flatnonzero(~usable), wrong)


def test_a_table_that_goes_through_is_tried_once_and_an_empty_one_never():
    seen = []

    def transform(rows):
        seen.append(len(rows))

    assert usable_rows(transform, ROWS).all()
    assert len(usable_rows(transform, ROWS[:0])) == 0
    assert seen == [10]


def test_a_machine_without_memory_is_no_rows_fault():
    with pytest.raises(MemoryError):
        usable_rows(failing_on(4.0, error=MemoryError), ROWS)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_rows_with_a_number_that_is_not_finite_are_found_and_blanked(kind):
    rows = ROWS.copy()
    rows[2, 1], rows[7, 0], rows[8] = np.nan, -np.inf, 0
    features = kind(rows)
    kept = finite_rows(features)
    assert np.flatnonzero(~kept).tolist() == [2, 7]
    made, before = blank(features, kept), features.copy()
    rows[[2, 7]] = 0
    np.testing.assert_array_equal(made.toarray() if sparse.issparse(made) else made, rows)
    assert made.dtype == features.dtype
    assert sparse.issparse(made) == sparse.issparse(features)
    if sparse.issparse(made):
        assert (made.data != 0).all()  # how many there were is gone, too
        np.testing.assert_array_equal(features.data, before.data)


def test_single_precision_stays():
    assert blank(ROWS.astype(np.float32), np.zeros(10, dtype=bool)).dtype == np.float32
