"""A record of which nothing finite can be made counts as nothing; the others keep their share."""

import math
import warnings

import pytest
import torch

from expunge.errors import RecordsWarning
from expunge.sampling.left_out import LeftOut, sum_usable

VALUES = torch.tensor([1.0, 2.0, math.nan, 4.0, math.inf, 6.0, 7.0], dtype=torch.float64)


def total_of(rows):
    return VALUES[rows].sum()[None]


def test_others_keep_their_share_and_the_ruined_are_known():
    left_out = LeftOut()
    assert sum_usable(total_of, torch.arange(7), left_out) == 20
    assert left_out.rows == {2, 4}


def test_where_nothing_is_ruined_the_rows_stay_together():
    seen = []

    def compute(rows):
        seen.append(len(rows))
        return total_of(rows)

    assert sum_usable(compute, torch.tensor([0, 1, 3]), LeftOut()) == 7
    assert seen == [3]


def test_where_everything_is_ruined_the_sum_is_zero():
    left_out = LeftOut()
    assert sum_usable(total_of, torch.tensor([2, 4]), left_out).tolist() == [0.0]
    assert left_out.rows == {2, 4}


def test_what_is_raised_at_fit_is_the_callers_and_at_a_request_leaves_a_record_out():
    def raising(rows):
        if 3 in rows:
            raise IndexError("out of range")
        return total_of(rows)

    some = torch.tensor([0, 1, 3, 5])
    with pytest.raises(IndexError):
        sum_usable(raising, some, LeftOut(fitting=True))
    left_out = LeftOut(fitting=False)
    assert sum_usable(raising, some, left_out) == 9
    assert left_out.rows == {3}


def test_a_machine_without_memory_is_no_records_fault():
    def full(rows):
        raise torch.OutOfMemoryError("no room")

    with pytest.raises(torch.OutOfMemoryError):
        sum_usable(full, torch.arange(2), LeftOut(fitting=False))


def test_the_operator_is_told_how_many_and_nothing_else():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        LeftOut().warn(7)
    with pytest.warns(RecordsWarning, match=r"^2 of 7 records .* for you alone"):
        LeftOut(rows={2, 4}).warn(7)
