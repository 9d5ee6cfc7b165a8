"""PNGD against what theory fixes exactly: descent, noise, constraint, stationary law."""

import math

import pytest
import torch

from expunge.core.projection import l2_ball, norms, whole_space
from expunge.core.randomness import normal_source
from expunge.sampling import pngd

CURVATURE = 2.0
MODELS = 200_000


def quadratic(parameters, _):
    """Gradient of L(theta) = CURVATURE/2 ||theta||^2."""
    return CURVATURE * parameters


def run(kernel, parameters, steps, normal=None):
    normal = normal_source(0) if normal is None else normal
    for index in range(steps):
        parameters = kernel.step(parameters, index, normal)
    return parameters


def ones(*shape):
    return torch.ones(*shape, dtype=torch.float64)


# ---- the two parts of a step ------------------------------------------------------------------


def test_without_noise_it_is_gradient_descent():
    """Paper: [alg:pngd_training] at sigma = 0."""
    kernel = pngd.build(quadratic, step_size=0.1, sigma=0.0, project=whole_space)
    found = run(kernel, ones(3, 4), steps=5)
    torch.testing.assert_close(found, (1 - 0.1 * CURVATURE) ** 5 * ones(3, 4))


def test_without_noise_none_is_drawn():
    def forbidden(like):
        raise AssertionError("noise was drawn")

    kernel = pngd.build(quadratic, step_size=0.1, sigma=0.0, project=whole_space)
    run(kernel, ones(3, 4), steps=2, normal=forbidden)


def test_a_step_is_the_formula_term_by_term():
    """Paper: [alg:pngd_training], [alg:langevin_unlearning]: dyadic numbers, so bit for bit."""
    kernel = pngd.build(quadratic, step_size=0.125, sigma=3.0, project=whole_space)
    noise = torch.tensor([[1.0, -2.0], [0.5, 4.0]], dtype=torch.float64)
    start = torch.tensor([[8.0, 16.0], [-4.0, 0.0]], dtype=torch.float64)
    found = kernel.step(start, 0, lambda _: noise)
    assert torch.equal(kernel.mean(start, 0), 0.75 * start)
    assert torch.equal(found, 0.75 * start + 1.5 * noise)  # sqrt(2/8) * 3


def test_the_projection_comes_last():
    """Paper: [alg:pngd_training]: noise is inside the projection."""
    kernel = pngd.build(quadratic, step_size=0.125, sigma=3.0, project=l2_ball(1.0))
    found = kernel.step(ones(1, 4), 0, lambda like: 100 * torch.ones_like(like))
    torch.testing.assert_close(found, 0.5 * ones(1, 4))


def test_the_mean_is_not_projected():
    """The exact release draws around it, and projects afterwards."""
    kernel = pngd.build(quadratic, step_size=0.125, sigma=3.0, project=l2_ball(1.0))
    assert torch.equal(kernel.mean(8 * ones(1, 4), 0), 6 * ones(1, 4))


def test_the_gradient_is_told_the_step():
    seen = []

    def gradient(parameters, index):
        seen.append(index)
        return torch.zeros_like(parameters)

    run(pngd.build(gradient, step_size=0.1, sigma=1.0, project=whole_space), ones(2, 3), steps=4)
    assert seen == [0, 1, 2, 3]


# ---- the noise --------------------------------------------------------------------------------


def one_step_variance(eta, sigma):
    kernel = pngd.build(quadratic, step_size=eta, sigma=sigma, project=whole_space)
    return float(run(kernel, ones(MODELS, 1), steps=1).var())


def is_variance(found, expected):
    """A sample variance of n normals has standard error v sqrt(2/n); five of them."""
    return abs(found - expected) < 5 * expected * math.sqrt(2 / (MODELS - 1))


@pytest.mark.parametrize("eta", [0.01, 0.1, 0.5, 0.9])
def test_one_step_adds_variance_two_eta_sigma_squared(eta):
    """Paper: [alg:pngd_training], [alg:langevin_unlearning]; THEORY E23."""
    assert is_variance(one_step_variance(eta, 0.3), 2 * eta * 0.3**2)


@pytest.mark.parametrize("eta", [0.01, 0.1, 0.9])
def test_the_check_catches_planted_faults(eta):
    """Dropping the 2, taking sigma for the std, taking eta sigma for the std."""
    right = 2 * eta * 0.3**2
    found = one_step_variance(eta, 0.3)
    for wrong in (eta * 0.3**2, 0.3**2, (eta * 0.3) ** 2, 2 * right, 1.04 * right, 0.96 * right):
        assert not is_variance(found, wrong)


@pytest.mark.parametrize("eta", [0.05, 0.2, 0.5])
def test_stationary_variance_on_a_quadratic(eta):
    """On a quadratic PNGD is an AR(1) chain: variance 2 sigma^2/(m (2 - eta m))."""
    sigma, steps = 0.3, max(1, math.ceil(15 / (eta * CURVATURE)))
    expected = 2 * sigma**2 / (CURVATURE * (2 - eta * CURVATURE))
    kernel = pngd.build(quadratic, step_size=eta, sigma=sigma, project=whole_space)
    assert is_variance(float(run(kernel, 2 * ones(MODELS, 1), steps).var()), expected)


def test_the_mean_follows_gradient_descent():
    eta, sigma, steps = 0.1, 0.3, 4
    kernel = pngd.build(quadratic, step_size=eta, sigma=sigma, project=whole_space)
    found = run(kernel, ones(MODELS, 1), steps)
    c = 1 - eta * CURVATURE
    std = math.sqrt(2 * eta * sigma**2 * sum(c ** (2 * k) for k in range(steps)))
    assert abs(float(found.mean()) - c**steps) < 5 * std / math.sqrt(MODELS)


def test_models_and_coordinates_have_their_own_noise():
    """Sample covariance of independent columns: standard error v/sqrt(n)."""
    kernel = pngd.build(quadratic, step_size=0.1, sigma=1.0, project=whole_space)
    moved = run(kernel, ones(2, 3, MODELS // 2), steps=1) - 0.8
    columns = moved.reshape(6, -1)
    covariance = columns @ columns.T / columns.shape[1]
    off = covariance - torch.diag(covariance.diag())
    assert float(off.abs().max()) < 5.5 * 0.2 / math.sqrt(columns.shape[1])


def test_successive_steps_have_their_own_noise():
    """THEORY E22: the same noise twice would give variance (1 + c)^2 instead of 1 + c^2."""
    eta, sigma = 0.1, 0.3
    kernel = pngd.build(quadratic, step_size=eta, sigma=sigma, project=whole_space)
    found = float(run(kernel, ones(MODELS, 1), steps=2).var())
    c = 1 - eta * CURVATURE
    assert is_variance(found, 2 * eta * sigma**2 * (1 + c**2))
    assert not is_variance(found, 2 * eta * sigma**2 * (1 + c) ** 2)


# ---- constraint and purity --------------------------------------------------------------------


def test_every_model_stays_in_the_ball():
    kernel = pngd.build(quadratic, step_size=0.1, sigma=10.0, project=l2_ball(1.0))
    found = run(kernel, torch.zeros(64, 3, 2, dtype=torch.float64), steps=3)
    assert (norms(found) <= 1 + 1e-14).all()
    assert (norms(found) > 0.99).any()


def test_a_step_leaves_its_input_alone():
    for sigma in (0.0, 1.0):
        for project in (whole_space, l2_ball(0.5), l2_ball(50.0)):
            kernel = pngd.build(quadratic, step_size=0.1, sigma=sigma, project=project)
            start = ones(2, 3)
            run(kernel, start, steps=3)
            assert torch.equal(start, ones(2, 3))


def test_a_seeded_run_is_repeatable_and_an_unseeded_one_is_not():
    kernel = pngd.build(quadratic, step_size=0.1, sigma=1.0, project=l2_ball(2.0))
    first, second = (run(kernel, ones(2, 3), 4, normal_source(7)) for _ in range(2))
    assert torch.equal(first, second)
    first, second = (run(kernel, ones(2, 3), 4, normal_source(None)) for _ in range(2))
    assert not (first == second).any()


def test_a_steps_rounding_is_the_sum_of_its_parts():
    parts = {"step_size": 0.5, "gradient": 1e-9, "noise_std": 0.0, "dimension": 4}
    whole = pngd.step_rounding(**parts, operations=10, farthest=2.0)
    assert whole == pytest.approx(0.5e-9 + 20 * 2.0**-53, rel=1e-5)
    louder = pngd.step_rounding(**parts | {"noise_std": 1.0}, operations=10, farthest=2.0)
    assert louder > whole
