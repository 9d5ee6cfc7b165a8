"""Ids: one for each private record, and only such ids can be forgotten."""

import numpy as np
import pandas as pd
import pytest
import torch

from expunge.unlearning.ids import RowNumbers, id_rows, rows_to_forget

KNOWN = id_rows(["a", "b", "c"], 3, offset=10)
KEEP = torch.ones(13, dtype=torch.bool)


def test_row_numbers_are_the_default_and_public_rows_come_first():
    assert id_rows(None, 3, offset=2) == {0: 2, 1: 3, 2: 4}


@pytest.mark.parametrize("ids", ["b", ["b"], ("b",), np.array(["b"]), pd.Index(["b"]), {"b"}])
def test_ids_come_alone_or_in_any_collection(ids):
    assert rows_to_forget(ids, KNOWN, KEEP) == [11]


def test_numpy_numbers_are_plain_numbers():
    known = id_rows(np.arange(3), 3, offset=0)
    assert rows_to_forget([np.int64(2), 1], known, KEEP) == [2, 1]


@pytest.mark.parametrize(
    ("ids", "culprit"),
    [("z", "'z'"), (["a", "a"], "'a' is given twice"), ([], "no ids"), ([True, False], "mask")],
)
def test_wrong_ids_are_named(ids, culprit):
    with pytest.raises(ValueError, match=culprit):
        rows_to_forget(ids, KNOWN, KEEP)


def test_a_forgotten_id_is_said_to_be_forgotten():
    keep = KEEP.clone()
    keep[12] = False
    with pytest.raises(ValueError, match="already forgotten"):
        rows_to_forget("c", KNOWN, keep)


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
