"""Private rows beyond the public range are told of where chance does not explain them."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from expunge.features.public_range import LIKELY, describe_outside

RNG = np.random.default_rng(0)
PUBLIC = RNG.normal(size=(300, 3))
ALIKE = RNG.normal(size=(2000, 3))


def test_rows_of_the_same_kind_are_not_spoken_of():
    assert describe_outside(ALIKE, PUBLIC) is None


def test_a_shifted_column_is_named_with_its_count():
    shifted = ALIKE.copy()
    shifted[:500, 1] += 100
    said = describe_outside(shifted, PUBLIC)
    expected = int(
        ((shifted[:, 1] < PUBLIC[:, 1].min()) | (shifted[:, 1] > PUBLIC[:, 1].max())).sum()
    )
    assert said.startswith(f"{expected:,} of 2,000 private rows lie outside the public range")
    assert f"columns number 1 ({expected:,})." in said


def test_a_frames_columns_are_named_and_only_a_few():
    names = [f"c{i}" for i in range(6)]
    public = pd.DataFrame(RNG.normal(size=(300, 6)), columns=names).assign(town="x")
    private = (public.drop(columns="town") + 50).assign(town="y")
    said = describe_outside(private, public)
    assert "columns c0 (300), c1 (300), c2 (300) and 3 more." in said
    assert "town" not in said


@pytest.mark.parametrize(
    ("private", "public"),
    [
        (["a text"], ["another"]),
        (sparse.csr_array(ALIKE + 9), sparse.csr_array(PUBLIC)),
        (np.array([["a"], ["b"]]), np.array([["a"], ["b"]])),
        (ALIKE + 9, PUBLIC[:0]),
    ],
)
def test_of_what_has_no_range_nothing_is_said(private, public):
    assert describe_outside(private, public) is None


def test_missing_values_are_not_beyond_and_a_column_that_public_rows_lack_is():
    holed = PUBLIC.copy()
    holed[:, 2] = np.nan
    private = ALIKE.copy()
    private[:, 0] = np.nan
    assert "columns number 2 (2,000)." in describe_outside(private, holed)
    assert describe_outside(private[:, :2], holed[:, :2]) is None


def test_chance_reaches_the_limit_as_rarely_as_the_page_says():
    """Each side's share beyond m rows is Beta(1, m): both together exceed x / m with (1+x)e^-x."""
    claimed = (1 + LIKELY) * math.exp(-LIKELY)
    assert claimed < 8.1e-5
    m = 200
    draws = np.random.default_rng(3).random((20_000, m))
    for x in (2, 4):  # where it can be counted
        share = 1 - (draws.max(axis=1) - draws.min(axis=1))
        rate = float((share > x / m).mean())
        exact = (1 + x) * math.exp(-x)
        assert rate < exact + 6 * math.sqrt(exact / 20_000)
