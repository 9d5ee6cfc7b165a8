"""Ids: one for each private record, and only such ids can be forgotten."""

import math

import numpy as np
import pandas as pd
import pytest
import torch

from expunge.unlearning.ids import (
    RowNumbers,
    check_names,
    grow,
    id_rows,
    ids_by_row,
    new_ids,
)


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


def test_ids_that_join_come_after_those_at_fit_and_the_mapping_before_stays_as_it_was():
    first = id_rows(["a", "b"], 2, offset=3)
    grown = grow(grow(first, ["c"], 5), ["d", "e"], 6)
    assert dict(grown) == {"a": 3, "b": 4, "c": 5, "d": 6, "e": 7}
    assert (len(grown), "c" in grown, "z" in grown) == (5, True, False)
    assert dict(first) == {"a": 3, "b": 4}


def test_an_id_that_came_back_has_its_latest_row_and_is_listed_at_both():
    grown = grow(grow(id_rows(["a", "b"], 2, offset=0), ["a", "c"], 2), ["a"], 4)
    assert dict(grown) == {"a": 4, "b": 1, "c": 3}
    assert list(ids_by_row(grown)) == ["a", "b", "a", "c", "a"]


def test_after_many_additions_an_id_is_looked_up_in_a_few_dictionaries():
    grown = id_rows(["first"], 1, offset=0)
    for row in range(1, 1001):
        grown = grow(grown, [f"r{row}"], row)
    assert len(grown.layers) <= 11
    assert all(grown[f"r{row}"] == row for row in range(1, 1001))
    assert grown["first"] == 0
    with pytest.raises(KeyError):
        grown["r1001"]


def test_row_numbers_go_on_and_stay_row_numbers():
    first = id_rows(None, 4, offset=2)
    grown = grow(first, new_ids(first, None, 3), 6)
    assert isinstance(grown, RowNumbers)
    assert dict(grown) == {i: i + 2 for i in range(7)}
    named = grow(first, new_ids(first, ["x"], 1), 6)
    assert list(ids_by_row(named)) == [0, 1, 2, 3, "x"]
    with pytest.raises(ValueError, match="ids: give one for each record"):
        new_ids(named, None, 2)


def test_ids_of_newcomers_are_as_many_as_they_are_and_given_once():
    known = id_rows(["a"], 1, offset=0)
    for ids, said in (
        (["b"], "1 ids for 2"),
        (["b", "b"], "'b' is given twice"),
        ([["b"], "c"], "is no id"),
    ):
        with pytest.raises(ValueError, match=said):
            new_ids(known, ids, 2)


@pytest.mark.parametrize("missing", [None, math.nan, np.float64("nan"), pd.NA, pd.NaT])
@pytest.mark.parametrize("kind", [list, np.array, pd.Series], ids=lambda kind: kind.__name__)
def test_a_missing_id_is_refused_because_nobody_could_ask_for_that_record(kind, missing):
    with pytest.raises(ValueError, match="is no id: nobody could ask for that record again"):
        id_rows(kind([missing, 1.0]), 2, 0)


def test_names_of_requests_are_one_text_for_each_or_none():
    assert check_names(None, 2) == [None, None]
    assert check_names(["a", "b"], 2) == ["a", "b"]
    for bad in ("ab", ["a"], ["a", "a"], ["a", ""], ["a", None], 3):
        with pytest.raises(ValueError, match="names: "):
            check_names(bad, 2)
