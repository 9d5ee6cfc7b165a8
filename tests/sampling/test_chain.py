"""The chains against `pngd`, one model at a time in float64; snapshots; coupling; initial laws."""

import math

import pytest
import torch

from expunge.core import counters
from expunge.core.projection import l2_ball
from expunge.losses import Logistic, Softmax, Squared
from expunge.sampling import pngd
from expunge.sampling.chain import Recipe, run_block
from expunge.sampling.problem import DefaultUniform, Gaussian, IndependentBatches, Zero
from tests.sampling.heads_problem import made

BOTH = ("unlearned", "retrained")


def reference(recipe, model, steps, retraining):
    """One model's chain by the published kernel, in float64, from the definition of the regimes."""
    problem, loss = recipe.problem, recipe.problem.loss
    everyone, kept = problem.all_records(), problem.retained()

    def gradient(theta, index):
        present = kept if retraining or index >= problem.learn_steps else torch.ones_like(kept)
        rows, targets = everyone.features[present].double(), everyone.targets[present]
        residual = loss.residual(rows @ theta[0].T, targets)
        return (residual.T @ rows / len(rows) + loss.l2 * theta[0])[None]

    def normal(index):
        key = recipe.key("noise", retraining, index)
        return lambda like: counters.normals(key, model, 1, like.numel()).view_as(like).double()

    kernel = pngd.build(
        gradient, step_size=problem.step_size, sigma=problem.sigma, project=l2_ball(problem.radius)
    )
    count = math.prod(problem.shape)
    key = recipe.key("init", retraining)
    theta = counters.normals(key, model, 1, count).view(1, *problem.shape).double() * 0.1
    for index in range(steps):
        theta = kernel.step(theta, index, normal(index))
    return theta[0]


@pytest.mark.parametrize("precision", ["float64", "float32"])
@pytest.mark.parametrize("loss", [Softmax(4, 0.05), Logistic(0.05), Squared(0.05)], ids=str)
def test_both_regimes_are_pngd_as_published(loss, precision):
    """[alg:pngd_training], [alg:langevin_unlearning]: per step and after 35 steps, at 1e-5."""
    problem = made(loss, learn_steps=20, radius=0.9, dtype=torch.float64)
    recipe = Recipe(problem, BOTH, (0, 1, 15), seed=5, precision=precision)
    found = run_block(recipe, 0, 3)
    tolerance = 1e-5 if precision == "float32" else 1e-12
    for (regime, k), weights in found.items():
        for model in range(3):
            expected = reference(recipe, model, 20 + k, regime == "retrained")
            error = (weights[model].double() - expected).norm() / expected.norm()
            assert error < tolerance, (regime, k)


@pytest.mark.parametrize("fault", ["noise", "side", "projection"])
def test_a_wrong_step_would_be_caught(fault):
    recipe = Recipe(made(learn_steps=3, radius=0.7), BOTH, (2,), seed=5)
    wrong = {
        "noise": {"sigma": recipe.problem.sigma * 1.01},
        "side": {"forget": [*range(19), 25]},
        "projection": {"radius": 0.75},
    }
    other = Recipe(made(**{"learn_steps": 3, "radius": 0.7, **wrong[fault]}), BOTH, (2,), seed=5)
    expected = reference(recipe, 0, 5, retraining=False)
    got = run_block(other, 0, 1)["unlearned", 2][0].double()
    assert (got - expected).norm() / expected.norm() > 1e-4


def test_one_learning_run_serves_every_k():
    recipe = Recipe(made(), ("learned", "unlearned"), (0, 1, 3), seed=0)
    found = run_block(recipe, 0, 5)
    assert torch.equal(found["learned", 0], found["unlearned", 0])
    alone = run_block(Recipe(recipe.problem, ("unlearned",), (3,), seed=0), 0, 5)
    assert torch.equal(found["unlearned", 3], alone["unlearned", 3])


def test_coupled_chains_differ_by_the_forgotten_records_alone():
    nothing = Recipe(made(forget=[]), BOTH, (2,), seed=0, coupled=True)
    found = run_block(nothing, 0, 4)
    assert torch.equal(found["unlearned", 2], found["retrained", 2])
    for batch in (None, 30):
        problem = made(batch=batch)
        pairs = run_block(Recipe(problem, BOTH, (2,), seed=0, coupled=True), 0, 80)
        free = run_block(Recipe(problem, BOTH, (2,), seed=0), 0, 80)
        gap, wide = ((f["unlearned", 2] - f["retrained", 2]).norm() for f in (pairs, free))
        assert gap < 0.5 * wide


@pytest.mark.parametrize("law", [Gaussian(0.2), DefaultUniform(), Zero()], ids=str)
def test_models_start_from_the_initial_law(law):
    """Variance std^2, 1/(3 features) and 0, within 5 standard errors."""
    problem = made(init=law, learn_steps=0)
    start = run_block(Recipe(problem, ("learned",), (), seed=0), 0, 2000)["learned", 0]
    expected = {Gaussian: 0.04, DefaultUniform: 1 / 36, Zero: 0.0}[type(law)]
    spread = expected * math.sqrt(2 / start.numel())
    assert abs(float(start.var()) - expected) <= 5 * spread
    if law == DefaultUniform():
        assert float(start.abs().max()) < 12**-0.5


def test_retraining_is_independent_of_learning():
    """The correlation between the chains' noise is 0 within 5 standard errors; coupled, it is 1."""
    problem = made(step_size=1e-6, sigma=100.0, learn_steps=1)
    found = run_block(Recipe(problem, BOTH, (0,), seed=0), 0, 500)
    one, other = (found[regime, 0].flatten().double() for regime in BOTH)
    assert abs(torch.corrcoef(torch.stack([one, other]))[0, 1]) < 5 / math.sqrt(len(one))


def test_models_of_one_order_see_the_same_rows():
    problem = made(sigma=0.0, init=Zero(), batch=IndependentBatches(10, 3))
    found = run_block(Recipe(problem, ("learned",), (), seed=0), 0, 6)["learned", 0]
    assert torch.equal(found[0], found[2])
    assert not torch.equal(found[2], found[3])
