"""Row norms are enforced: checked in exact rational arithmetic, row by row."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from expunge.core.rows import (
    bounded_rows,
    bounded_sparse,
    bounded_values,
    public_row_norm,
    row_norms,
)


def squared_norm(row):
    return sum(Fraction(float(value)) ** 2 for value in row)


def sample(dtype, scale, rows=40, features=23):
    drawn = np.random.default_rng(0).normal(size=(rows, features)) * scale
    return drawn.astype(dtype)


@pytest.mark.parametrize("row_norm", [0.1, 1.0, math.sqrt(2), 3.3])
@pytest.mark.parametrize("scale", [1e-30, 1e-3, 1 / 7, 1.0, 1e6, 1e30])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("intercept", [True, False])
def test_no_row_exceeds_the_bound_in_exact_arithmetic(dtype, scale, row_norm, intercept):
    bounded = bounded_rows(sample(dtype, scale), row_norm, intercept=intercept)
    assert bounded.dtype == dtype
    assert max(map(squared_norm, bounded)) <= Fraction(row_norm) ** 2


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_a_few_ulps_around_the_bound_stay_within_it(dtype):
    bound = dtype(1 / math.sqrt(2))
    values = [bound]
    for _ in range(20):
        values = [np.nextafter(values[0], dtype(0)), *values, np.nextafter(values[-1], dtype(9))]
    bounded = bounded_rows(np.array(values, dtype=dtype)[:, None], 1.0)
    assert max(map(squared_norm, bounded)) <= 1


def test_the_check_catches_scaling_to_the_bound_without_room_for_rounding():
    """The planted fault: no hair below the bound."""
    rows = sample(np.float32, 1.0)
    scaled = rows * (1 / np.linalg.norm(rows.astype(float), axis=1))[:, None].astype(np.float32)
    assert max(map(squared_norm, scaled)) > 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_above_the_bound_are_scaled_to_it_and_keep_their_direction(dtype):
    rows = sample(dtype, 10.0)
    bounded = bounded_rows(rows, 1.0)[:, :-1].astype(float)
    norms = np.linalg.norm(bounded, axis=1)
    eps = np.finfo(dtype).eps
    room = 10 * eps + (rows.shape[1] + 8) * np.finfo(float).eps  # as the module documents
    np.testing.assert_allclose(norms, 1 / math.sqrt(2), rtol=room)
    unit = rows.astype(float) / np.linalg.norm(rows.astype(float), axis=1, keepdims=True)
    np.testing.assert_allclose(bounded / norms[:, None], unit, rtol=8 * eps)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_below_the_bound_are_only_given_an_intercept(dtype):
    rows = sample(dtype, 1e-3)
    bounded = bounded_rows(rows, 1.0)
    assert np.array_equal(bounded[:, :-1], rows)
    assert (bounded[:, -1] == bounded[0, -1]).all()
    room = float(10 * np.finfo(dtype).eps + (rows.shape[1] + 8) * np.finfo(float).eps)
    assert bounded[0, -1] == pytest.approx(1 / math.sqrt(2), rel=room)
    assert np.array_equal(bounded_rows(rows, 1.0, intercept=False), rows)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_row_does_not_depend_on_the_others(dtype):
    rows = np.concatenate([sample(dtype, 1.0), sample(dtype, 1e-9), sample(dtype, 1e9)])
    together = bounded_rows(rows, 1.0)
    for i in range(0, len(rows), 7):
        assert np.array_equal(bounded_rows(rows[i : i + 1], 1.0)[0], together[i])
    assert np.array_equal(bounded_rows(rows[::-1], 1.0)[::-1], together)


def test_zero_rows_stay_zero():
    bounded = bounded_rows(np.zeros((2, 3)), 1.0)
    assert np.array_equal(bounded[:, :-1], np.zeros((2, 3)))


def test_the_input_is_left_alone():
    rows = sample(np.float64, 5.0)
    before = rows.copy()
    bounded_rows(rows, 1.0)
    assert np.array_equal(rows, before)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_that_are_not_finite_are_refused(value, dtype):
    rows = sample(dtype, 1.0)
    rows[3, 2] = value
    with pytest.raises(ValueError, match="NaN or infinity"):
        bounded_rows(rows, 1.0)


def test_integers_become_float64():
    bounded = bounded_rows(np.array([[3, 4], [0, 0]]), 1.0, intercept=False)
    assert bounded.dtype == np.float64
    np.testing.assert_allclose(bounded, [[0.6, 0.8], [0, 0]], rtol=1e-14)


def test_an_empty_set_of_rows_is_fine():
    assert bounded_rows(np.empty((0, 3)), 1.0).shape == (0, 4)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_public_norm_leaves_public_rows_as_they_are(dtype):
    """F = B/sqrt 2 is the largest public norm: no public row shrinks beyond rounding."""
    rows = sample(dtype, 3.0)
    bound = public_row_norm(rows)
    largest = np.linalg.norm(rows.astype(float), axis=1).max()
    assert bound == pytest.approx(math.sqrt(2) * largest, rel=1e-5)
    bounded = bounded_rows(rows, bound)[:, :-1]
    room = 30 * np.finfo(dtype).eps + (rows.shape[1] + 8) * np.finfo(float).eps
    np.testing.assert_allclose(bounded, rows, rtol=room)


def sparse_sample(dtype, scale, rows=60, features=23):
    dense = sample(dtype, scale, rows, features)
    dense[np.random.default_rng(1).random(dense.shape) < 0.7] = 0
    dense[3] = 0
    return dense


@pytest.mark.parametrize("scale", [1e-30, 1e-3, 1 / 7, 1.0, 1e30])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("intercept", [True, False])
def test_no_sparse_row_exceeds_the_bound_in_exact_arithmetic(dtype, scale, intercept):
    given = sparse.csr_array(sparse_sample(dtype, scale))
    bounded = bounded_sparse(given, 1.3, intercept=intercept).dense().numpy()
    assert bounded.dtype == dtype
    assert bounded.shape == (60, 23 + intercept)
    assert max(map(squared_norm, bounded)) <= Fraction(1.3) ** 2


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_rows_are_the_dense_ones_to_the_bit_within_the_bound_and_nearly_above_it(dtype):
    dense = sparse_sample(dtype, 0.35)
    ours = bounded_sparse(sparse.csr_array(dense), 1.3).dense().numpy()
    theirs = bounded_rows(dense, 1.3)
    within = np.linalg.norm(dense.astype(float), axis=1) < 0.9
    assert 10 < within.sum() < 50
    np.testing.assert_array_equal(ours[within], theirs[within])
    summed = dense.shape[1] * np.finfo(np.float64).eps / 2  # a norm, by any order of its squares
    np.testing.assert_allclose(ours, theirs, rtol=2 * np.finfo(dtype).eps + summed)


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil"])
def test_every_sparse_form_gives_the_same_rows_and_is_left_alone(form):
    dense = sparse_sample(np.float64, 0.3)
    given = sparse.csr_array(dense).asformat(form)
    expected = bounded_sparse(sparse.csr_array(dense), 1.0).matrix
    bounded = bounded_sparse(given, 1.0).matrix
    assert (bounded != expected).nnz == 0
    assert bounded.has_canonical_format
    np.testing.assert_array_equal(given.toarray(), dense)


def test_numbers_that_are_given_twice_count_as_their_sum_and_zeros_are_not_kept():
    given = sparse.coo_array(([0.25, 0.25, 0.0, 0.1], ([0, 0, 0, 1], [2, 2, 1, 0])), shape=(2, 3))
    bounded = bounded_sparse(given, 1.0, intercept=False)
    np.testing.assert_array_equal(bounded.dense().numpy(), [[0, 0, 0.5], [0.1, 0, 0]])
    assert bounded.matrix.nnz == 2


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_sparse_rows_that_are_not_finite_are_refused(value):
    with pytest.raises(ValueError, match="NaN or infinity"):
        bounded_sparse(sparse.csr_array(np.array([[0, value]])), 1.0)


def test_sums_of_numbers_given_twice_that_are_not_finite_are_refused_too():
    twice = sparse.coo_array(([1e308, 1e308], ([0, 0], [1, 1])), shape=(1, 2))
    with pytest.raises(ValueError, match="NaN or infinity"), np.errstate(over="ignore"):
        bounded_sparse(twice, 1.0)


def test_bounded_values_keep_their_kind():
    dense = sparse_sample(np.float32, 0.3)
    kept = bounded_values(sparse.csr_matrix(dense), 1.0)
    np.testing.assert_allclose(
        kept.dense().numpy(), bounded_values(dense, 1.0).numpy(), rtol=2 * np.finfo(np.float32).eps
    )


def test_norms_of_rows_are_those_of_dense_ones_and_the_public_norm_too():
    dense = sparse_sample(np.float64, 2.0)
    given = sparse.csr_array(dense)
    expected = np.linalg.norm(dense, axis=1)
    for rows in (dense, given, bounded_sparse(given, 100.0, intercept=False)):
        np.testing.assert_allclose(row_norms(rows), expected, rtol=1e-14)
    assert math.isclose(public_row_norm(given), public_row_norm(dense), rel_tol=1e-14)
    with pytest.raises(ValueError, match="every row is zero"):
        public_row_norm(sparse.csr_array((3, 2)))
