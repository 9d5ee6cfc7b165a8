"""Prediction and coupled pairs of linear heads, against independent models and exact recursions."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from expunge.audit.heads import Heads, _location_information, coupled_estimate, predicted
from expunge.divergence.hotelling import hotelling, moments
from expunge.losses import Logistic, Softmax, Squared
from expunge.sampling import (
    DefaultUniform,
    Gaussian,
    IndependentBatches,
    Problem,
    SharedBatches,
    Zero,
    sample_ensemble,
)

K = 5


def problem(norm=1.0, *, classes=3, features=8, rows=120, loss=None, **change):
    """Classes with centres; the forget set is of one class, so that it is special."""
    generator = torch.Generator().manual_seed(0)
    targets = torch.arange(rows) % classes
    centres = torch.randn(classes, features, generator=generator)
    x = centres[targets] + 0.7 * torch.randn(rows, features, generator=generator)
    x = norm * x / x.norm(dim=1, keepdim=True)
    half = rows // 2
    given = {
        "loss": loss or Softmax(classes, l2=0.01, row_norm=norm),
        "private": (x[:half], targets[:half]),
        "public": (x[half:], targets[half:]),
        "forget": torch.arange(0, half, classes)[:12],
        "step_size": 1e-3,
        "sigma": 0.01 * norm**0.5,
        "learn_steps": 20,
        "radius": 100.0,
        "init": Zero(),
    }
    return Problem(**given | change)


def independent(given, models, seed=1):
    found = sample_ensemble(given, unlearn_steps=(K,), models=models, seed=seed)
    pair = (found[law, K].weights.flatten(1) for law in ("retrained", "unlearned"))
    return hotelling(moments(*pair), order=2.0)


@pytest.mark.slow
@pytest.mark.parametrize("norm", [1.0, 10.0])
@pytest.mark.parametrize("batch", [None, SharedBatches(24)], ids=["full", "shared"])
def test_the_prediction_is_within_four_percent_of_hotelling(norm, batch):
    """On trained heads, D_2 > 0.2; 20,000 models: a standard error of up to 3.7 %."""
    given = problem(norm, batch=batch)
    told = predicted(given, unlearn_steps=K, seed=1)
    seen = independent(given, 20_000)
    error = (seen.interval[1] - seen.interval[0]) / 3.92
    assert told.value > 0.2
    assert not [note for note in told.notes if "outside" in note]
    assert abs(told.value - seen.value) < 0.04 * seen.value + 5 * error


def test_pairs_agree_with_the_prediction_and_are_a_hundred_times_finer_than_models():
    given = problem()
    told, seen = predicted(given, unlearn_steps=K), coupled_estimate(given, unlearn_steps=K)
    rough = independent(given, 3000)
    width = [e.interval[1] - e.interval[0] for e in (seen, rough)]
    assert width[1] > 100 * width[0]
    assert seen.value == pytest.approx(told.value, rel=0.01)
    assert rough.interval[0] < seen.value < rough.interval[1]


def test_negated_features_run_the_chain_on_the_negative_noise():
    """The linear part of a model's deviation from the noise-free path changes its sign."""
    from expunge.audit.heads import _mirror

    given = problem(loss=Squared(l2=0.1, radius=100.0), init=Gaussian(0.1))
    path = Heads(given, K).unlearned.mean
    models = [
        sample_ensemble(one, unlearn_steps=(K,), models=4, precision="float64")["unlearned", K]
        for one in (given, _mirror(given))
    ]
    there, back = models[0].weights.flatten(1), -models[1].weights.flatten(1)
    torch.testing.assert_close(there - path, path - back, rtol=1e-6, atol=1e-9)


def test_pairs_that_do_not_share_their_noise_would_be_caught():
    """The planted fault: independent models passed off as pairs."""
    from expunge.divergence.coupled import coupled

    found = sample_ensemble(problem(), unlearn_steps=(K,), models=32)
    pair = [found[law, K].weights.flatten(1) for law in ("retrained", "unlearned")]
    variance = Heads(problem(), K).variance
    fault = coupled(of=pair[0], against=pair[1], precision=1 / variance)
    fine = coupled_estimate(problem(), unlearn_steps=K)
    assert fault.interval[1] - fault.interval[0] > 100 * (fine.interval[1] - fine.interval[0])


@pytest.mark.parametrize(
    "loss", [Softmax(3, l2=0.01), Logistic(l2=0.02), Squared(l2=0.1, radius=100.0)], ids=str
)
def test_products_along_the_path_are_the_hessian_of_the_loss(loss):
    given = problem(loss=loss)
    heads, shape = Heads(given, K), given.shape
    weights = 0.3 * torch.randn(shape, dtype=torch.float64)
    kept = given.retained()
    features, targets = (part[kept] for part in given.all_records())

    def mean_loss(flat):
        theta = flat.view(shape)
        data = loss.value(features.double() @ theta.T, targets).mean()
        return data + loss.l2 / 2 * theta.square().sum()

    exact = torch.autograd.functional.hessian(mean_loss, weights.flatten())
    vectors = torch.randn(3, math.prod(shape), dtype=torch.float64)
    torch.testing.assert_close(
        heads.curvature(weights, vectors), vectors @ exact, rtol=1e-5, atol=1e-6
    )


def test_a_quadratic_is_predicted_exactly():
    """Squared loss: the laws are Gaussian, with the recursion's mean and covariance.

    Pairs with noise of both signs give it too, as all that is linear in the noise cancels.
    """
    loss = Squared(l2=0.1, radius=100.0)
    given = problem(loss=loss, init=Gaussian(0.1))
    laws = []
    for retraining in (True, False):
        mean = torch.zeros(8, dtype=torch.float64)
        covariance = 0.01 * torch.eye(8, dtype=torch.float64)
        for step in range(20 + K):
            rows = given.all_records()
            if retraining or step >= 20:
                rows = [part[given.retained()] for part in rows]
            x, y = rows[0].double(), rows[1].double().clamp(-1, 1)
            hessian = x.T @ x / len(x) + 0.1 * torch.eye(8)
            mean = mean - 1e-3 * (hessian @ mean - x.T @ y / len(x))
            moved = torch.eye(8) - 1e-3 * hessian
            covariance = moved @ covariance @ moved + given.noise_std**2 * torch.eye(8)
        laws.append((mean, covariance))
    (m_r, s_r), (m_u, s_u) = laws
    exact = (m_r - m_u) @ torch.linalg.solve(2 * s_u - s_r, m_r - m_u)
    assert predicted(given, unlearn_steps=K).value == pytest.approx(float(exact), rel=1e-5)
    assert coupled_estimate(given, unlearn_steps=K).value == pytest.approx(float(exact), rel=1e-5)


def test_an_active_projection_is_told():
    given = problem()
    touched = replace(given, radius=0.02)
    assert not [n for n in predicted(given, unlearn_steps=K).notes if "ball" in n]
    for estimate in (predicted, coupled_estimate):
        assert [n for n in estimate(touched, unlearn_steps=K).notes if "ball" in n]


def test_logits_far_from_linear_are_told():
    far = problem(norm=40.0, init=Gaussian(0.1))
    assert [n for n in predicted(far, unlearn_steps=K).notes if "outside its range" in n]
    near = problem(norm=1.0, init=Gaussian(0.1))
    assert not [n for n in predicted(near, unlearn_steps=K).notes if "outside its range" in n]


def test_a_uniform_start_is_told_because_its_edges_tell_more_than_gaussians():
    notes = predicted(problem(init=DefaultUniform()), unlearn_steps=K).notes
    assert [n for n in notes if "initial law is uniform" in n]
    drowned = problem(init=DefaultUniform(), sigma=2.0)
    assert not [n for n in predicted(drowned, unlearn_steps=K).notes if "uniform" in n]


def test_the_information_about_a_blurred_uniform_s_place():
    """1/variance once noise dominates; D_2 of a small shift s is s^2 times it, by quadrature."""
    assert _location_information(0.01, 1.0) == pytest.approx(1 / (1 + 0.01**2 / 3), rel=1e-6)
    from scipy.stats import norm

    x, s = np.linspace(-1.5, 1.5, 600_001), 0.005

    def density(at):
        return (norm.cdf((at + 1) / 0.05) - norm.cdf((at - 1) / 0.05)) / 2

    p, q = density(x - s), density(x)
    inside = q > 1e-14
    d_2 = math.log(np.sum(p[inside] ** 2 / q[inside]) * (x[1] - x[0]))
    assert d_2 / s**2 == pytest.approx(_location_information(1.0, 0.05), rel=0.01)


@pytest.mark.parametrize(
    ("change", "named"),
    [({"batch": IndependentBatches(24)}, "batch"), ({"sigma": 0.0}, "sigma")],
    ids=["orders", "no noise"],
)
def test_what_it_cannot_describe_is_refused(change, named):
    with pytest.raises(ValueError, match=named):
        predicted(problem(**change), unlearn_steps=K)


@pytest.mark.parametrize("pairs", [4, 9])
def test_pairs_come_in_twos(pairs):
    with pytest.raises(ValueError, match="even number"):
        coupled_estimate(problem(), unlearn_steps=K, pairs=pairs)


def test_an_empty_request_has_no_divergence():
    nothing = problem(forget=[])
    assert predicted(nothing, unlearn_steps=K).value == 0
    assert coupled_estimate(nothing, unlearn_steps=K).value == 0


@pytest.mark.slow
def test_who_knows_a_uniform_start_s_edges_sees_more_than_the_gaussian_value():
    """A likelihood ratio of blurred uniforms, against what Gaussians of that D_2 would allow."""
    from scipy.stats import norm
    from sklearn.metrics import roc_auc_score

    given = problem(3.0, init=DefaultUniform(), sigma=0.02)
    heads, models = Heads(given, K), 20_000
    found = sample_ensemble(given, unlearn_steps=(K,), models=models, seed=3)
    bound, noise = 8**-0.5, given.noise_std * math.sqrt(25)
    means = [law.mean.numpy() for law in (heads.unlearned, heads.retrained)]

    def log_density(at):
        inside = norm.cdf((at + bound) / noise) - norm.cdf((at - bound) / noise)
        return np.log(np.clip(inside, 1e-300, None))

    scores = []
    for law in ("unlearned", "retrained"):
        weights = found[law, K].weights.flatten(1).double().numpy()
        scores.append((log_density(weights - means[0]) - log_density(weights - means[1])).sum(1))
    area = roc_auc_score(np.repeat([1, 0], models), np.concatenate(scores))
    error = 1 / math.sqrt(6 * models)
    gaussian = norm.cdf(math.sqrt(predicted(given, unlearn_steps=K).value / 2))
    assert area - 5 * error > gaussian
