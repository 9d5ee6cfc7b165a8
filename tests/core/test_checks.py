"""Rules for parameters: what passes becomes a plain number, the rest is refused by name."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
import torch

from expunge.core import checks
from expunge.core.checks import (
    as_float,
    check_fields,
    check_values,
    choice,
    count,
    either,
    flag,
    instance,
    integer,
    not_negative,
    number,
    open_share,
    optional,
    positive,
    positive_or_infinite,
    share,
    whole_numbers,
)

GOOD = [
    (number, (-1, 0, 2.5, np.float32(1.5), np.int64(-3), Fraction(1, 4))),
    (positive, (1, 1e-300, 1e100, np.float64(2))),
    (as_float(positive), (1.0, 2.0**70)),
    (not_negative, (0, 0.0, 3)),
    (positive_or_infinite, (math.inf, np.float32("inf"), 1)),
    (share, (1, 0.5, np.float32(0.25))),
    (open_share, (0.5, 1e-12)),
    (integer, (-5, 0, np.int32(7))),
    (count(2), (2, np.int64(9), 2**53)),
    (whole_numbers(), ((), [1, 2], np.array([3]))),
    (flag, (True, False, np.bool_(True))),
    (choice("a", "b"), ("a", "b")),
    (either("public", positive), ("public", 2.0)),
    (optional(positive), (None, 1.0)),
    (instance(dict, "a dict"), ({},)),
    (checks.function, (len, torch.optim.Adam)),
    (checks.array, ([1, 2], 3.0, np.eye(2), torch.ones(2))),
    (checks.device, ("cpu", torch.device("cpu"))),
]
BAD = [
    (
        number,
        (True, np.bool_(True), "1", None, [1], math.nan, math.inf, 10**400, 1j, torch.ones(1)),
    ),
    (positive, (0, -1, 1e-310, 1e101)),
    (as_float(positive), (0, 10**400, "x")),
    (not_negative, (-1e-9, math.nan)),
    (positive_or_infinite, (0, -math.inf, math.nan, True)),
    (share, (0, 1.01, -1)),
    (open_share, (0, 1, -1, math.nan)),
    (integer, (1.0, True, "1", None, math.nan)),
    (count(2), (1, -1, 2.0, True, 2**53 + 1, 10**5000)),
    (whole_numbers(), ("12", 1, None, (1.5,), (-1,), (True,))),
    (flag, (0, 1, "yes", None)),
    (choice("a", "b"), ("c", "", None, 1, ["a"])),
    (choice("a"), ("b",)),
    (either("public", positive), ("private", 0, None, True)),
    (optional(positive), (0, "x", False)),
    (instance(dict, "a dict"), (dict, [], None)),
    (checks.function, (1, "len", None)),
    (checks.array, ("x", ["a"], None, [[1], [1, 2]])),
    (checks.device, ("meta", "mps", "gpu", 0, None, True, "cuda:99")),
]


def pairs(table):
    each = [(rule, value) for rule, values in table for value in values]
    return [pytest.param(*pair, id=str(index)) for index, pair in enumerate(each)]


@pytest.mark.parametrize(("rule", "value"), pairs(GOOD))
def test_sense_passes(rule, value):
    found = rule("some_name", value)
    if isinstance(found, float | int):
        assert type(found) in (float, int, bool)
        assert found == value


@pytest.mark.parametrize(("rule", "value"), pairs(BAD))
def test_nonsense_is_refused_in_one_short_line_with_the_name(rule, value):
    with pytest.raises(ValueError, match=r"^some_name: ") as refused:
        rule("some_name", value)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 120


@dataclass(frozen=True)
class Record:
    size: object
    rate: object = 0.5

    def __post_init__(self):
        check_fields(self, size=count(1), rate=share)


def test_fields_become_plain_numbers():
    record = Record(np.int64(3), np.float32(0.5))
    assert (type(record.size), type(record.rate)) == (int, float)
    with pytest.raises(ValueError, match="rate: 2"):
        Record(1, 2)


def test_values_are_checked_and_left_alone():
    given = {"size": np.int64(3), "other": "anything"}
    assert check_values(given, size=count(1)) == {"size": 3}
    assert type(given["size"]) is np.int64


def test_an_integer_that_torch_cannot_hold_becomes_a_float():
    value = as_float(positive)("l2", 2**70)
    assert type(value) is float
    assert value == 2**70
