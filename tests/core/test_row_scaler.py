"""The exported step gives the rows that the model was trained with."""

import numpy as np
import pytest
from sklearn.base import clone

from expunge.core.row_scaler import RowScaler
from expunge.core.rows import bounded_rows

ROWS = np.random.default_rng(0).normal(size=(50, 4)).astype(np.float32) * 3


@pytest.mark.parametrize("row_norm", [0.1, 3.0, 1e6])
@pytest.mark.parametrize("factor", [1.0, 0.5])
def test_rows_are_those_of_core_rows_without_the_intercept(row_norm, factor):
    found = RowScaler(factor, row_norm).fit(ROWS).transform(ROWS)
    np.testing.assert_array_equal(found, bounded_rows(ROWS * np.float32(factor), row_norm)[:, :-1])


def test_it_is_a_step_that_can_be_cloned_and_needs_no_fit():
    step = clone(RowScaler(0.5, 2.0))
    assert step.get_params() == {"factor": 0.5, "row_norm": 2.0}
    assert np.linalg.norm(step.transform(ROWS), axis=1).max() <= 2 / np.sqrt(2)
