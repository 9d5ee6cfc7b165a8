"""Ids: one for each private record, and only such ids can be forgotten."""

import math

import numpy as np
import pandas as pd
import pytest
import torch

from expunge.unlearning.ids import RowNumbers, id_rows


def test_row_numbers_are_the_default_and_public_rows_come_first():
    assert id_rows(None, 3, offset=2) == {0: 2, 1: 3, 2: 4}


@pytest.mark.parametrize(("ids", "culprit"), [(["a"], "1 ids for 3"), (["a", "b", "a"], "'a'")])
def test_ids_are_given_once_for_each_record(ids, culprit):
    with pytest.raises(ValueError, match=culprit):
        id_rows(ids, 3, offset=0)


def test_row_numbers_are_the_default_ids_and_behave_like_a_dictionary_of_them():
    numbers, dictionary = id_rows(None, 5, offset=3), {i: i + 3 for i in range(5)}
    assert isinstance(numbers, RowNumbers)
    assert dict(numbers) == dictionary
    assert len(numbers) == 5
    for one in (0, 4, 5, -1, 1.0, 1.5, True, "0", None, np.int64(2)):
        assert (one in numbers) == (one in dictionary)
        assert numbers.get(one) == dictionary.get(one)


def test_tensors_of_ids_are_numbers():
    known = id_rows(torch.tensor([5, 7, 6]), 3, 0)
    assert dict(known) == {5: 0, 7: 1, 6: 2}
    with pytest.raises(ValueError, match="given twice"):
        id_rows(torch.tensor([1, 1, 2]), 3, 0)


@pytest.mark.parametrize("missing", [None, math.nan, np.float64("nan"), pd.NA, pd.NaT])
@pytest.mark.parametrize("kind", [list, np.array, pd.Series], ids=lambda kind: kind.__name__)
def test_a_missing_id_is_refused_because_nobody_could_ask_for_that_record(kind, missing):
    with pytest.raises(ValueError, match="is no id: nobody could ask for that record again"):
        id_rows(kind([missing, 1.0]), 2, 0)
