"""Rows in every form that users have them in are cut by number, and nothing else."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from expunge.features.row_blocks import BLOCK, blocks, count_rows, dense, take_rows

NUMBERS = np.arange(12.0).reshape(6, 2)
TEXTS = [f"text {number}" for number in range(6)]
TABLES = {
    "array": NUMBERS,
    "frame": pd.DataFrame(NUMBERS, columns=["a", "b"], index=list("zyxwvu")),
    "sparse": sparse.coo_array(NUMBERS),
    "list of rows": NUMBERS.tolist(),
}


@pytest.mark.parametrize("form", TABLES)
def test_rows_are_taken_by_their_number_whatever_the_index_says(form):
    rows = TABLES[form]
    assert count_rows(rows) == 6
    np.testing.assert_array_equal(dense(take_rows(rows, slice(1, 3))), NUMBERS[1:3])
    np.testing.assert_array_equal(dense(take_rows(rows, np.array([4, 4, 0]))), NUMBERS[[4, 4, 0]])


@pytest.mark.parametrize("texts", [TEXTS, pd.Series(TEXTS), np.array(TEXTS), tuple(TEXTS)])
def test_texts_need_no_columns(texts):
    assert count_rows(texts) == 6
    assert list(take_rows(texts, np.array([5, 0]))) == [TEXTS[5], TEXTS[0]]


def test_blocks_hold_all_rows_in_order_and_follow_from_the_number_alone():
    rows = np.arange(2.0 * BLOCK + 3)[:, None]
    parts = list(blocks(rows))
    assert [len(part) for part in parts] == [BLOCK, BLOCK, 3]
    np.testing.assert_array_equal(np.concatenate(parts), rows)
    assert [part.shape for part in blocks(np.empty((0, 3)))] == [(0, 3)]


@pytest.mark.parametrize("single", [5, "one text", None, np.array(3.0)])
def test_a_single_value_is_no_table(single):
    with pytest.raises(ValueError, match="X: must have rows"):
        count_rows(single)


def test_one_row_of_numbers_is_told_how_to_become_a_table():
    with pytest.raises(ValueError, match="Reshape your data"):
        count_rows(np.arange(3.0))
