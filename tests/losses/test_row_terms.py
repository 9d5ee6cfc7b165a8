"""Terms of rows: whole numbers close to the truth at 50 digits, the same in every batch."""

import math

import mpmath
import numpy as np
import pytest
import torch
from scipy import sparse

from expunge.core.sparse_rows import SparseRows
from expunge.losses import Declared, Logistic, Softmax, Squared
from expunge.losses.exact_sums import NonZeros
from expunge.losses.row_terms import GRADIENT_BITS, ROOT_BITS, ROWS, RowTerms, has_terms

LOSSES = (
    Logistic(l2=1e-3),
    Logistic(l2=1e-3, row_norm=3.7),
    Softmax(3, l2=1e-3),
    Squared(l2=1e-3, target_norm=0.7),
)
each_loss = pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)


def problem(loss, count=40, features=5, reach=6.0, seed=0):
    """Rows of every norm up to the bound, targets, and a point."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((count, features))
    rows *= loss.row_norm * rng.uniform(0, 1, (count, 1)) / np.linalg.norm(rows, axis=1)[:, None]
    rows[0] = 0
    rows[1] = 0
    rows[1, 0] = loss.row_norm
    targets = rng.integers(0, max(2, loss.outputs), count)
    if isinstance(loss, Squared):
        targets = rng.standard_normal(count)
    point = rng.standard_normal((loss.outputs, features))
    point *= reach / np.linalg.norm(point)
    return torch.from_numpy(point), torch.from_numpy(rows), torch.from_numpy(targets)


def equal(one, other):
    return all(
        (a is None and b is None) or torch.equal(a, b) for a, b in zip(one, other, strict=True)
    )


@each_loss
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_terms_of_rows_together_are_the_sum_of_each_ones_own(loss, dtype):
    point, rows, targets = problem(loss, count=ROWS)
    rows = (rows * 0.999).to(dtype)
    terms = RowTerms(loss, 5, 6.0)
    whole = terms.sum(point, rows, targets)
    for width in (1, 7, 64):
        parts = [
            terms.sum(point, rows[i : i + width], targets[i : i + width])
            for i in range(0, ROWS, width)
        ]
        summed = [
            None if part[0] is None else torch.stack(part).sum(0)
            for part in zip(*parts, strict=True)
        ]
        assert equal(whole, summed)


@each_loss
def test_the_largest_rows_of_all_give_exact_sums(loss):
    """512 equal rows on one feature, so that every product is as large as it can be."""
    point, rows, targets = problem(loss)
    rows, targets = rows[1:2].expand(ROWS, -1), targets[1:2].expand(ROWS)
    terms = RowTerms(loss, 5, 6.0)
    whole, single = terms.sum(0 * point, rows, targets), terms.sum(0 * point, rows[:1], targets[:1])
    scaled = [None if part is None else part * ROWS for part in single]
    assert equal(whole, scaled)
    assert int(whole.hessian.abs().max()) <= ROWS * 4**ROOT_BITS
    assert int(whole.gradient.abs().max()) <= ROWS * 2**GRADIENT_BITS


def true_weights(loss, scores, target):
    """Residuals, (outputs, outputs) second derivatives, and the sharper weight, at 50 digits."""
    if isinstance(loss, Squared):
        clipped = min(max(target, -loss.target_norm), loss.target_norm)
        return [scores[0] - mpmath.mpf(clipped)], [[mpmath.mpf(1)]], mpmath.mpf(0)
    if isinstance(loss, Logistic):
        p = 1 / (1 + mpmath.exp(-scores[0]))
        weight = p * (1 - p)
        return [p - (target > 0)], [[weight]], weight * (1 - 4 * weight)
    shares = [mpmath.exp(score) for score in scores]
    shares = [share / sum(shares) for share in shares]
    bends = [[(a == b) * p - p * q for b, q in enumerate(shares)] for a, p in enumerate(shares)]
    return [p - (a == target) for a, p in enumerate(shares)], bends, mpmath.mpf(0)


def errors_of(loss, terms, point, row, target):
    """Largest errors of a row's gradient, Hessian and sharper Hessian, over what is allowed."""
    got = terms.sum(point, row[None], target[None])
    with mpmath.workdps(50):
        x = [mpmath.mpf(float(each)) for each in row]
        scores = [
            sum(mpmath.mpf(float(w)) * v for w, v in zip(each, x, strict=True)) for each in point
        ]
        residuals, bends, sharp = true_weights(loss, scores, float(target))
        unit, square = mpmath.mpf(terms.gradient_unit), mpmath.mpf(terms.root_unit) ** 2
        gradient = mpmath.norm(
            [
                residuals[a] * x[j] - unit * int(got.gradient[a, j])
                for a in range(len(point))
                for j in range(len(x))
            ]
        )
        size, block = len(x) * len(point), len(x)
        hessian, sharper = mpmath.matrix(size), mpmath.matrix(size)
        for i in range(size):
            for j in range(size):
                outer = x[i % block] * x[j % block]
                true = bends[i // block][j // block] * outer
                hessian[i, j] = true - square * int(got.hessian[i, j])
                if got.sharp is not None:
                    sharper[i, j] = sharp * outer - square * int(got.sharp[i, j])
        return gradient, mpmath.mnorm(hessian, "f"), mpmath.mnorm(sharper, "f")


def allowed(loss, terms):
    """What the bounds on roots allow the Hessians' errors to be."""
    longest = loss.row_norm / (2 if isinstance(loss, Logistic) else 1)
    single = terms.root_error * (2 * longest + terms.root_error)
    both = single + terms.shares_error * (2 * longest + terms.shares_error)
    # Of softmax, one block for each class has its own roots: in Frobenius norm sqrt(classes) more.
    softmax = isinstance(loss, Softmax)
    return terms.gradient_error, math.sqrt(loss.outputs) * both if softmax else single, single


@each_loss
@pytest.mark.parametrize("reach", [0.3, 40.0])
def test_what_rounding_does_stays_within_its_bounds(loss, reach):
    point, rows, targets = problem(loss, count=16, reach=reach)
    terms = RowTerms(loss, 5, reach)
    for row, target in zip(rows, targets, strict=True):
        found = errors_of(loss, terms, point, row, target)
        assert all(error <= most for error, most in zip(found, allowed(loss, terms), strict=True))


@each_loss
def test_the_bounds_on_rounding_are_not_idle(loss):
    """A tenth of what is allowed is exceeded by some row: a bound that is lost is noticed."""
    point, rows, targets = problem(loss, count=16)
    terms = RowTerms(loss, 5, 6.0)
    worst = [
        max(each)
        for each in zip(
            *(errors_of(loss, terms, point, *pair) for pair in zip(rows, targets, strict=True)),
            strict=True,
        )
    ]
    assert worst[0] > allowed(loss, terms)[0] / 40
    assert worst[1] > allowed(loss, terms)[1] / 40


@pytest.mark.parametrize("factor", [1.01, math.nan, math.inf])
def test_rows_beyond_the_bound_on_their_norm_are_refused(factor):
    point, rows, targets = problem(LOSSES[0])
    with pytest.raises(ValueError, match="beyond the bound on its norm"):
        RowTerms(LOSSES[0], 5, 6.0).sum(point, rows * factor, targets)


def test_a_users_own_loss_has_no_terms():
    assert all(has_terms(loss) for loss in LOSSES)
    assert not has_terms(Declared(lambda s, y: (s[:, 0] - y) ** 2 / 2, slope=9.0, bend=1.0))


def test_scores_far_out_give_weights_that_vanish_and_no_overflow():
    loss = Logistic(l2=1e-3)
    point = torch.tensor([[5e3, 0.0, 0.0, 0.0, 0.0]], dtype=torch.float64)
    _, rows, targets = problem(loss)
    got = RowTerms(loss, 5, 5e3).sum(point, rows[1:2], targets[1:2])
    assert not got.hessian.any()
    assert got.sharp is not None
    assert not got.sharp.any()


@each_loss
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_sparse_row_brings_the_very_bits_that_it_brings_as_a_dense_one(loss, dtype):
    point, rows, targets = problem(loss, count=ROWS, features=9)
    rows = (rows * 0.999).to(dtype)
    rows[torch.rand(rows.shape, generator=torch.Generator().manual_seed(1)) < 0.6] = 0
    terms = RowTerms(loss, 9, 6.0)
    kept = SparseRows.of([sparse.csr_array(rows.numpy())])
    for some in (slice(0, ROWS), slice(4, 5), slice(0, 1)):
        made = terms.sum(point, kept[some], targets[some])
        assert equal(map(filled, made), terms.sum(point, rows[some], targets[some]))


def filled(whole):
    """The sum with its zeros."""
    if not isinstance(whole, NonZeros):
        return whole
    total = torch.zeros(whole.shape, dtype=torch.int64)
    whole.add_to(total)
    return total


def test_sparse_rows_beyond_the_bound_on_their_norm_are_refused():
    loss = Logistic(l2=1e-3)
    terms, point = RowTerms(loss, 3, 6.0), torch.zeros(1, 3, dtype=torch.float64)
    for value in (1.01, math.nan):
        rows = SparseRows.of([sparse.csr_array(np.array([[0, value, 0]]))])
        with pytest.raises(ValueError, match="beyond the bound"):
            terms.sum(point, rows, torch.zeros(1))
