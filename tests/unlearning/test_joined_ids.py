"""Ids of records that join: each has a row, and the mapping of before stays as it was."""

import pytest

from expunge.unlearning.ids import RowNumbers, id_rows
from expunge.unlearning.joined_ids import grow, ids_by_row, new_ids


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
