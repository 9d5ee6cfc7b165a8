"""Raw columns on one scale: numbers standardised, marks as they are, rows no longer than 1."""

import numpy as np
import pytest

from expunge.features.raw_columns import FARTHEST, RawColumns

RNG = np.random.default_rng(0)
NUMBERS = RNG.normal(40, 12, size=(300, 2))
RARE = (np.arange(300) % 100 == 0).astype(float)  # a category that one row in a hundred has


def test_numbers_are_standardised_and_columns_of_0_and_1_stay_as_they_are():
    rows = np.column_stack([NUMBERS, RARE])
    scales = RawColumns.of(rows)
    standardised = scales.standardise(rows)
    np.testing.assert_allclose(standardised[:, :2].mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(standardised[:, :2].std(axis=0), 1)
    np.testing.assert_array_equal(standardised[:, 2], RARE)


def test_the_longest_public_row_has_norm_1_and_longer_ones_are_scaled_down_to_it():
    scales = RawColumns.of(NUMBERS)
    norms = np.linalg.norm(scales.rows(NUMBERS), axis=1)
    assert norms.max() == pytest.approx(1)
    beyond = scales.rows(40 + 1e6 * (NUMBERS - 40))
    np.testing.assert_allclose(np.linalg.norm(beyond, axis=1), 1)


def test_public_rows_keep_their_directions_and_relative_lengths():
    """So a linear model of them is one of the standardised columns, with another ridge."""
    scales = RawColumns.of(NUMBERS)
    np.testing.assert_allclose(scales.rows(NUMBERS) * scales.norm, scales.standardise(NUMBERS))


def test_missing_values_are_0_and_do_not_count():
    holes = NUMBERS.copy()
    holes[::3, 0] = np.nan
    scales = RawColumns.of(holes)
    assert scales.centre[0] == pytest.approx(np.nanmean(holes[:, 0]))
    assert scales.width[0] == pytest.approx(np.nanstd(holes[:, 0]))
    assert (scales.rows(holes)[::3, 0] == 0).all()


def test_constant_and_enormous_columns_give_finite_rows():
    rows = np.column_stack([np.full(300, 7.0), NUMBERS[:, 0]])
    scales = RawColumns.of(rows)
    assert (scales.standardise(rows)[:, 0] == 0).all()
    wild = scales.rows(np.array([[7.0, 1e300], [-1e300, 0.0]]))
    assert np.isfinite(wild).all()
    assert scales.standardise(np.array([[7.0, 1e300]]))[0, 1] == FARTHEST
    nothing = RawColumns.of(np.zeros((5, 2)))
    assert (nothing.rows(np.zeros((5, 2))) == 0).all()
