"""The chunked objective against direct sums, autograd and exact arithmetic."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
import torch
from scipy import sparse

from expunge.core.sparse_rows import SparseRows
from expunge.losses import objective as module
from expunge.losses import passes
from expunge.losses.declared import Declared
from expunge.losses.logistic import Logistic
from expunge.losses.objective import Objective, gradient_rounding
from expunge.losses.softmax import Softmax
from expunge.losses.squared import Squared

FEATURES = 4
LOSSES = [Logistic(0.05), Softmax(3, 0.02, row_norm=2.0), Squared(0.1, radius=50.0)]
ROWS = 2 * module.CHUNK + 345  # three chunks, the last one short


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(params=LOSSES, ids=["logistic", "softmax", "squared"])
def loss(request):
    return request.param


def data(loss, rows=ROWS, dtype=torch.float64, seed=0):
    generator = torch.Generator().manual_seed(seed)
    features = torch.randn(rows, FEATURES, generator=generator, dtype=torch.float64)
    features *= loss.row_norm / features.norm(dim=1, keepdim=True)
    if isinstance(loss, Squared):
        targets = torch.randn(rows, generator=generator, dtype=torch.float64)
    else:
        targets = torch.randint(0, max(2, loss.outputs), (rows,), generator=generator)
    return features.to(dtype), targets


def some_theta(loss, seed=5, scale=1.0):
    generator = torch.Generator().manual_seed(seed)
    shape = (loss.outputs, FEATURES)
    return scale * torch.randn(shape, generator=generator, dtype=torch.float64)


def direct_value(loss, features, targets, theta, divisor, center=0.0):
    """The formula in one line, for autograd."""
    total = loss.value(features.double() @ theta.T, targets).sum()
    return total / divisor + loss.l2 / 2 * ((theta - center) ** 2).sum()


def direct_gradient(*arguments, **keywords):
    theta = arguments[3].clone().requires_grad_()
    value = direct_value(*arguments[:3], theta, *arguments[4:], **keywords)
    return torch.autograd.grad(value, theta)[0]


def close(actual, expected):
    torch.testing.assert_close(actual, expected, rtol=1e-11, atol=1e-13)


# ---- sums -------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_chunked_gradient_is_the_direct_one(loss, dtype):
    """float32 rows are converted exactly: the gradient is float64 all the same."""
    features, targets = data(loss, dtype=dtype)
    theta = some_theta(loss)
    found = Objective(loss, features, targets).gradient(theta)
    assert found.dtype == torch.float64
    close(found, direct_gradient(loss, features, targets, theta, ROWS))


@pytest.mark.parametrize("rows", [1, 6, 7, 8, 20])
def test_the_size_of_chunks_does_not_matter(loss, rows, monkeypatch):
    features, targets = data(loss, rows)
    theta = some_theta(loss)
    whole = Objective(loss, features, targets)
    expected, gram = whole.gradient(theta), whole.gram()
    monkeypatch.setattr(module, "CHUNK", 7)
    monkeypatch.setattr(passes, "CHUNK", 7)
    close(whole.gradient(theta), expected)
    assert torch.equal(whole.gram().total, gram.total)
    assert sum(len(chunk[0]) for chunk in whole.chunks()) == rows


def test_value_and_gradient_agree_with_autograd(loss):
    features, targets = data(loss)
    theta = some_theta(loss)
    objective = Objective(loss, features, targets)
    value, gradient = objective.value_and_gradient(theta)
    expected = direct_value(loss, features, targets, theta, ROWS)
    assert value == pytest.approx(float(expected), rel=1e-12)
    assert torch.equal(gradient, objective.gradient(theta))


def test_a_keep_mask_is_the_same_as_removing_rows(loss):
    features, targets = data(loss)
    theta = some_theta(loss)
    keep = torch.rand(ROWS, generator=torch.Generator().manual_seed(3)) < 0.6
    keep[: module.CHUNK] = False  # a chunk with nothing left
    masked = Objective(loss, features, targets, keep)
    removed = Objective(loss, features[keep], targets[keep])
    assert masked.rows == masked.nbar == removed.rows == int(keep.sum())
    close(masked.gradient(theta), removed.gradient(theta))
    assert torch.equal(masked.gram().total, removed.gram().total)
    assert masked.value_and_gradient(theta)[0] == pytest.approx(
        removed.value_and_gradient(theta)[0], rel=1e-12
    )
    direction = some_theta(loss, seed=6)
    close(masked.hessian_product(theta)(direction), removed.hessian_product(theta)(direction))


def test_what_masked_rows_hold_does_not_change_a_bit(loss):
    """Zeroing the rows of forgotten records must not move the model."""
    features, targets = data(loss, 50)
    keep = torch.arange(50) % 3 != 0
    theta = some_theta(loss)
    expected = Objective(loss, features, targets, keep).gradient(theta)
    for content in (0.0, -1e3, 1e100):
        features[~keep] = content
        targets[~keep] = 0
        found = Objective(loss, features, targets, keep)
        assert torch.equal(found.gradient(theta), expected)
        assert torch.equal(found.value_and_gradient(theta)[1], expected)


def test_the_divisor_replaces_the_number_of_rows(loss):
    """THEORY 2.6: the fixed normaliser; the ridge is not rescaled."""
    features, targets = data(loss, 60)
    keep = torch.arange(60) < 40
    theta, direction = some_theta(loss), some_theta(loss, seed=6)
    fixed = Objective(loss, features, targets, keep, divisor=60)
    assert fixed.nbar == 60
    assert fixed.rows == 40
    close(fixed.gradient(theta), direct_gradient(loss, features[keep], targets[keep], theta, 60))
    mean = Objective(loss, features, targets, keep)
    ridge = loss.l2 * direction
    expected = (mean.hessian_product(theta)(direction) - ridge) * 40 / 60 + ridge
    close(fixed.hessian_product(theta)(direction), expected)


def test_the_center_moves_the_ridge_only(loss):
    features, targets = data(loss, 60)
    theta, center = some_theta(loss), some_theta(loss, seed=7)
    moved = Objective(loss, features, targets, center=center)
    expected = direct_gradient(loss, features, targets, theta, 60, center=center)
    close(moved.gradient(theta), expected)
    value, gradient = moved.value_and_gradient(theta)
    close(gradient, expected)
    direct = direct_value(loss, features, targets, theta, 60, center=center)
    assert value == pytest.approx(float(direct), rel=1e-12)


def test_the_hessian_product_agrees_with_autograd(loss):
    features, targets = data(loss)
    theta, direction = some_theta(loss), some_theta(loss, seed=6)
    at = theta.clone().requires_grad_()
    value = direct_value(loss, features, targets, at, ROWS)
    (gradient,) = torch.autograd.grad(value, at, create_graph=True)
    (expected,) = torch.autograd.grad((gradient * direction).sum(), at)
    close(Objective(loss, features, targets).hessian_product(theta)(direction), expected)


def test_the_hessian_product_of_float32_rows_is_a_fair_direction(loss):
    """It only steers a solver, so it may be as coarse as the rows: u = 2^-24, D + rows sums."""
    features, targets = data(loss, dtype=torch.float32)
    theta, direction = some_theta(loss), some_theta(loss, seed=6)
    exact = Objective(loss, features.double(), targets).hessian_product(theta)(direction)
    found = Objective(loss, features, targets).hessian_product(theta)(direction)
    assert found.dtype == torch.float64
    assert float((found - exact).norm()) < 1e-3 * float(exact.norm())


def test_the_gram_matrix_is_the_mean_outer_product(loss):
    """A coordinate is rounded by at most half of B/STEPS; there are two in a product."""
    features, targets = data(loss)
    gram = Objective(loss, features, targets).gram()
    unit = loss.row_norm / module.STEPS
    away = gram.total * unit**2 / gram.rows - features.T @ features / ROWS
    largest = float(features.abs().max())
    assert float(away.abs().max()) <= unit * largest + unit**2
    assert float(away.abs().max()) > 0


def test_subtracting_rows_from_a_gram_matrix_leaves_no_trace_of_them(loss):
    """With rounded sums it would: the planted fault is a product of float64 rows."""
    features, targets = data(loss)
    gone = torch.arange(ROWS) % 7 == 2
    whole, kept = Objective(loss, features, targets), Objective(loss, features, targets, ~gone)
    left = whole.gram().without(whole.gram(gone))
    assert left.rows == kept.rows
    assert torch.equal(left.total, kept.gram().total)
    careless = features.T @ features - features[gone].T @ features[gone]
    assert not torch.equal(careless, features[~gone].T @ features[~gone])


def test_sums_are_those_of_whole_numbers_at_the_most_rows_there_can_be():
    rows = 2 * module.SAMPLE - 1
    features = torch.rand(rows, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    features /= features.norm(dim=1, keepdim=True)
    gram = Objective(Logistic(0.1), features, torch.zeros(rows)).gram()
    assert gram.rows == rows
    whole = [[round(x * module.STEPS) for x in row] for row in features.tolist()]
    expected = [[sum(q[i] * q[j] for q in whole) for j in range(5)] for i in range(5)]
    assert [[int(x) for x in row] for row in gram.total.tolist()] == expected


def test_a_gram_matrix_samples_many_rows_and_forgets_that_absent_ones_were_there(loss, monkeypatch):
    monkeypatch.setattr(module, "SAMPLE", 5)
    features, targets = data(loss, 200)
    keep = torch.arange(200) % 3 != 0
    masked = Objective(loss, features, targets, keep)
    removed = Objective(loss, features[keep], targets[keep])
    assert masked.gram().rows < 100
    assert torch.equal(masked.gram().total, removed.gram().total)
    by_place = masked.gram(keep)
    assert by_place.rows == int((masked.sampled & keep).sum())
    assert not torch.equal(by_place.total, removed.gram().total)


def test_the_approximate_inverse_is_of_curvature_times_gram_plus_ridge(loss):
    features, targets = data(loss)
    objective = Objective(loss, features, targets)
    gram = objective.gram()
    mean = gram.total * (loss.row_norm / module.STEPS) ** 2 / gram.rows
    matrix = 0.2 * mean + loss.l2 * torch.eye(len(mean), dtype=torch.float64)
    given = some_theta(loss)
    inverse = objective.approximate_inverse(gram, 0.2)
    torch.testing.assert_close(inverse(given @ matrix), given, rtol=1e-8, atol=1e-10)
    assert torch.equal(objective.approximate_inverse(gram, math.nan)(given), given)


def test_nothing_given_is_changed(loss):
    features, targets = data(loss, 50)
    before = features.clone(), targets.clone()
    theta = some_theta(loss)
    objective = Objective(loss, features, targets)
    objective.value_and_gradient(theta)
    objective.hessian_product(theta)(theta)
    assert torch.equal(features, before[0])
    assert torch.equal(targets, before[1])
    assert torch.equal(theta, some_theta(loss))
    assert objective.shape == (loss.outputs, FEATURES)


# ---- sparse rows ------------------------------------------------------------------------------


def sparse_of(features, block=1024):
    """The same rows, kept as their non-zeros."""
    numbers = features.numpy()
    parts = range(0, len(numbers), block)
    return SparseRows.of(sparse.csr_array(numbers[start : start + block]) for start in parts)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_everything_is_the_same_of_sparse_rows(loss, dtype):
    features, targets = data(loss, dtype=dtype)
    features[torch.rand(features.shape, generator=torch.Generator().manual_seed(3)) < 0.4] = 0
    keep, theta, along = torch.arange(ROWS) % 5 != 1, some_theta(loss), some_theta(loss, seed=6)
    for present in (None, keep):
        plain = Objective(loss, features, targets, present)
        ours = Objective(loss, sparse_of(features), targets, present)
        close(ours.gradient(theta), plain.gradient(theta))
        for one, other in zip(
            ours.value_and_gradient(theta), plain.value_and_gradient(theta), strict=True
        ):
            close(torch.as_tensor(one), torch.as_tensor(other))
        torch.testing.assert_close(
            ours.hessian_product(theta)(along),
            plain.hessian_product(theta)(along),
            rtol=1e-4,
            atol=1e-5,
        )
        assert torch.equal(ours.gram().total, plain.gram().total)
        assert torch.equal(ours.gram(~keep).total, plain.gram(~keep).total)


def test_wide_rows_have_the_diagonal_of_their_gram_matrix_and_its_inverse(loss, monkeypatch):
    features, targets = data(loss)
    whole = Objective(loss, features, targets).gram()
    monkeypatch.setattr(module, "WIDE", FEATURES - 1)
    for rows in (features, sparse_of(features)):
        objective = Objective(loss, rows, targets)
        gram = objective.gram()
        assert torch.equal(gram.total, whole.total.diagonal())
        inverse = objective.approximate_inverse(gram, 0.2)
        mean = gram.total * (loss.row_norm / module.STEPS) ** 2 / gram.rows
        given = some_theta(loss)
        close(inverse(given * (0.2 * mean + loss.l2)), given)
        assert torch.equal(objective.approximate_inverse(gram, math.nan)(given), given)
    assert module.gram_width(FEATURES) == 1
    assert module.gram_width(FEATURES - 1) == FEATURES - 1


# ---- the rounding bound -----------------------------------------------------------------------


def exact_residual(loss, row, target, theta):
    """At 60 digits."""
    scores = [mpmath.fsum(t * x for t, x in zip(line, row, strict=True)) for line in theta]
    if isinstance(loss, Squared):
        clipped = max(-loss.target_norm, min(loss.target_norm, float(target)))
        return [scores[0] - mpmath.mpf(clipped)]
    if isinstance(loss, Logistic):
        return [1 / (1 + mpmath.exp(-scores[0])) - int(target)]
    top = max(scores)
    weights = [mpmath.exp(s - top) for s in scores]
    total = mpmath.fsum(weights)
    return [w / total - (k == int(target)) for k, w in enumerate(weights)]


def rounding_error(loss, features, targets, theta, repeats=1, form=lambda rows: rows):
    """||computed - exact||, the exact gradient at 60 digits; each row repeated in the computed."""
    rows = form(features.repeat(repeats, 1))
    computed = Objective(loss, rows, targets.repeat(repeats)).gradient(theta)
    with mpmath.workdps(60):
        lines = [[mpmath.mpf(float(t)) for t in line] for line in theta]
        exact = [[mpmath.mpf(0)] * FEATURES for _ in lines]
        for row, target in zip(features, targets, strict=True):
            x = [mpmath.mpf(float(v)) for v in row]
            for k, r in enumerate(exact_residual(loss, x, target, lines)):
                exact[k] = [e + r * v for e, v in zip(exact[k], x, strict=True)]
        total = mpmath.mpf(0)
        for k, line in enumerate(lines):
            for j, t in enumerate(line):
                gradient = exact[k][j] / len(features) + mpmath.mpf(loss.l2) * t
                total += (mpmath.mpf(float(computed[k, j])) - gradient) ** 2
        return float(mpmath.sqrt(total))


def bound_for(loss, rows, theta):
    norm = float(theta.norm()) * (1 + 1e-12)
    return gradient_rounding(loss, rows=rows, features=FEATURES, divisor=rows, theta_norm=norm)


@pytest.mark.parametrize("scale", [0.0, 0.3, 10.0])
@pytest.mark.parametrize("rows", [1, 300])
def test_rounding_bounds_the_error_on_random_rows(loss, rows, scale):
    features, targets = data(loss, rows)
    theta = some_theta(loss, scale=scale)
    error = rounding_error(loss, features, targets, theta)
    assert error <= bound_for(loss, rows, theta)


@pytest.mark.parametrize("scale", [0.3, 10.0])
def test_rounding_bounds_the_error_on_sparse_rows(loss, scale):
    features, targets = data(loss, 300)
    features[torch.rand(features.shape, generator=torch.Generator().manual_seed(3)) < 0.4] = 0
    theta = some_theta(loss, scale=scale)
    error = rounding_error(loss, features, targets, theta, form=sparse_of)
    assert 0 < error <= bound_for(loss, 300, theta)
    lost = rounding_error(loss, features, targets, theta, form=lambda rows: sparse_of(rows * 0.999))
    assert lost > bound_for(loss, 300, theta)  # rows that are not the same are noticed


def test_rounding_bounds_the_error_of_biased_sums_of_sparse_rows(loss):
    """One column of 40,000 equal numbers: chunks are added up as those of dense rows are."""
    features, targets = data(loss, 1, seed=1)
    features[:, 1:] = 0
    theta = some_theta(loss, seed=1, scale=20.0)
    error = rounding_error(loss, features, targets, theta, repeats=40_000, form=sparse_of)
    assert error <= bound_for(loss, 40_000, theta)


def test_rounding_bounds_the_error_of_biased_sums_and_is_not_absurd(loss):
    """Equal rows round in the same direction at every addition: 40,000 of them, large theta."""
    worst = 0.0
    for seed in range(12):
        features, targets = data(loss, 1, seed=seed)
        theta = some_theta(loss, seed=seed, scale=20.0 if seed % 2 else 0.5)
        error = rounding_error(loss, features, targets, theta, repeats=40_000)
        bound = bound_for(loss, 40_000, theta)
        assert error <= bound
        worst = max(worst, error / bound)
    assert worst > 1e-5


def test_rounding_bounds_the_error_where_terms_cancel():
    """Pairs of opposite rows with a tiny rest: the exact gradient is far below each term."""
    loss = Squared(1e-4, radius=1e3)
    rng = np.random.default_rng(0)
    half = rng.normal(size=(500, FEATURES))
    half /= np.linalg.norm(half, axis=1, keepdims=True) * (1 + 1e-12)
    features = torch.from_numpy(np.concatenate([half, -half]))
    targets = torch.cat([torch.ones(500), torch.ones(500)]).double()
    theta = some_theta(loss, scale=300.0)
    assert rounding_error(loss, features, targets, theta) <= bound_for(loss, 1000, theta)


def test_rounding_bounds_the_error_of_a_large_ridge():
    """l2 theta is rounded too: by up to u l2 |theta|, which no other term covers."""
    loss, worst = Logistic(1e3), 0.0
    for seed in range(12):
        features, targets = data(loss, 1, seed=seed)
        theta = some_theta(loss, seed=seed)
        error, bound = rounding_error(loss, features, targets, theta), bound_for(loss, 1, theta)
        assert error <= bound
        worst = max(worst, error / bound)
    assert worst > 0.05


def test_the_check_catches_a_bound_that_forgets_the_rows():
    """A planted fault: a bound of a few ulps of M does not survive biased sums."""
    loss = Squared(1e-4, radius=1e3)
    worst = 0.0
    for seed in range(12):
        features, targets = data(loss, 1, seed=seed)
        theta = some_theta(loss, seed=seed, scale=20.0)
        error = rounding_error(loss, features, targets, theta, repeats=40_000)
        forgetful = gradient_rounding(
            loss, rows=1, features=FEATURES, divisor=1, theta_norm=float(theta.norm())
        )
        worst = max(worst, error / forgetful)
    assert worst > 1


def test_rounding_grows_with_everything_that_makes_it_worse(loss):
    def bound(rows=1000, features=10, theta_norm=1.0):
        return gradient_rounding(
            loss, rows=rows, features=features, divisor=rows, theta_norm=theta_norm
        )

    assert 0 < bound() < bound(rows=10**6)
    assert bound() < bound(features=10**4)
    assert bound() < bound(theta_norm=40.0)
    assert bound(rows=10**6) < 1e-9


def test_the_exact_gradient_of_the_test_is_right_on_a_rational_case():
    """Squared loss has rational gradients: the 60-digit oracle against fractions."""
    loss = Squared(0.5, target_norm=4.0, radius=9.0)
    features = torch.tensor([[0.5, 0.25, 0.0, 0.125]], dtype=torch.float64)
    theta = torch.tensor([[1.0, 2.0, 3.0, 4.0]], dtype=torch.float64)
    found = Objective(loss, features, torch.tensor([3.0])).gradient(theta)
    residual = Fraction(1, 2) + Fraction(1, 2) + Fraction(1, 2) - 3
    expected = [float(residual * Fraction(x) + t / 2) for x, t in ((0.5, 1), (0.25, 2), (0, 3))]
    assert found[0, :3].tolist() == expected
    assert rounding_error(loss, features, torch.tensor([3.0]), theta) == 0.0


def test_rounding_knows_a_declared_bend():
    """A wave of slope 1 and bend 10^6: an error of the score is a million times one of r."""
    bend, worst = 1e6, 0.0
    wave = Declared(lambda s, _: torch.sin(bend * s[:, 0]) / bend, 1.0 + 1e-9, bend, l2=1e-9)
    plain = Declared(wave.function, wave.slope, 1.0, l2=1e-9)
    for seed in range(20):
        features, targets = data(plain, 1, seed=seed)
        theta = some_theta(plain, seed=seed, scale=20.0)
        x, t = ([Fraction(v) for v in part.ravel().tolist()] for part in (features, theta))
        score = sum((a * b for a, b in zip(x, t, strict=True)), Fraction(0))
        with mpmath.workdps(60):
            exact = mpmath.cos(int(bend) * mpmath.mpf(score.numerator) / score.denominator)
            error = abs(mpmath.mpf(float(wave.residual(features @ theta.T, targets))) - exact)
        assert error <= bound_for(wave, 1, theta)
        worst = max(worst, float(error) / bound_for(plain, 1, theta))
    assert worst > 10
