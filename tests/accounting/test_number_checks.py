"""Numbers of a history: plain ones come out, everything else is refused by its field."""

import math
from fractions import Fraction

import numpy as np
import pytest

from expunge.accounting.number_checks import (
    MOST_STEPS,
    check_count,
    check_flag,
    check_number,
    check_positive,
)
from expunge.errors import InvalidInput


@pytest.mark.parametrize("value", [0, 1, 2.5, np.float32(0.5), np.int64(3), Fraction(1, 2)])
def test_numbers_come_out_plain(value):
    found = check_number("x", value)
    assert type(found) in (int, float)
    assert found == value


@pytest.mark.parametrize("value", [0, 7, np.int32(7), MOST_STEPS])
def test_counts_come_out_plain(value):
    assert type(check_count("x", value)) is int


def test_flags_come_out_plain():
    assert check_flag("x", np.bool_(True)) is True
    assert check_flag("x", False) is False


@pytest.mark.parametrize(
    ("check", "values"),
    [
        (check_number, (True, np.bool_(False), "1", None, [1], math.nan, math.inf, -1, 10**400)),
        (check_number, (1e-301, 1e101)),
        (check_positive, (0, 0.0, -1)),
        (check_count, (True, 1.0, "1", None, -1, MOST_STEPS + 1, 10**5000)),
        (check_flag, (0, 1, "true", None)),
    ],
)
def test_everything_else_names_its_field_in_one_line(check, values):
    for value in values:
        with pytest.raises(InvalidInput) as refused:
            check("phases[0].x", value)
        assert refused.value.field == "phases[0].x"
        assert "\n" not in str(refused.value)
        assert len(str(refused.value)) < 120


def test_a_count_may_have_a_least():
    assert check_count("x", 2, least=2) == 2
    with pytest.raises(InvalidInput, match="at least 2"):
        check_count("x", 1, least=2)
