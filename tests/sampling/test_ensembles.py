"""`sample_ensemble`: layouts agree, samples of one law are indistinguishable, wrong calls fail."""

import math

import pytest
import torch
from scipy.stats import f as fisher

from expunge.divergence.rule import renyi_estimate
from expunge.losses import Softmax
from expunge.sampling import Problem, sample_ensemble
from expunge.sampling.problem import IndependentBatches, SharedBatches
from tests.sampling.heads_problem import made


def test_it_answers_as_documented():
    found = sample_ensemble(made(), unlearn_steps=(1, 5), models=7, seed=0)
    assert set(found) == {(r, k) for r in ("unlearned", "retrained") for k in (1, 5)}
    assert found["unlearned", 5].weights.shape == (7, 4, 12)


@pytest.mark.parametrize("batch", [None, SharedBatches(30), IndependentBatches(30, 8)], ids=str)
def test_blocks_do_not_matter_beyond_rounding(batch):
    """Noise, initial points and orders are the same bits; a product's rounding is not."""
    settings = {"unlearn_steps": (2,), "models": 40, "seed": 1}
    whole = sample_ensemble(made(batch=batch), **settings)
    parts = sample_ensemble(made(batch=batch), **settings, block=16)
    again = sample_ensemble(made(batch=batch), **settings, block=16)
    for point, ensemble in whole.items():
        torch.testing.assert_close(parts[point].weights, ensemble.weights, rtol=0, atol=2e-6)
        assert torch.equal(parts[point].weights, again[point].weights)


def shift_p_value(one, other, each):
    """Of no difference between two ensembles: Hotelling's test on the means of `each` models.

    Models that share an order are dependent; their mean is one observation.
    """
    means = [e.flatten(1).unflatten(0, (-1, each)).mean(1).double() for e in (one, other)]
    n, m, d = len(means[0]), len(means[1]), means[0].shape[1]
    pooled = ((n - 1) * torch.cov(means[0].T) + (m - 1) * torch.cov(means[1].T)) / (n + m - 2)
    gap = means[0].mean(0) - means[1].mean(0)
    statistic = float(gap @ torch.linalg.solve(pooled, gap)) * n * m / (n + m)
    scaled = statistic * (n + m - d - 1) / (d * (n + m - 2))
    return fisher.sf(scaled, d, n + m - d - 1)


def batched(batch):
    generator = torch.Generator().manual_seed(0)
    rows = 3 * torch.randn(200, 3, generator=generator)
    targets = (rows[:, 0] + torch.randn(200, generator=generator) > 0).long()
    data = (rows[:100], targets[:100]), (rows[100:], targets[100:])
    return Problem(Softmax(2, 0.1), *data, range(30), 0.2, 0.05, 4, init="zero", batch=batch)


@pytest.mark.parametrize("regime", ["unlearned", "retrained"])
def test_two_ensembles_of_one_law_are_indistinguishable(regime):
    """A correct sampler fails once in a million seeds; one order for all fails every time."""
    found = {}
    for batch in (IndependentBatches(20, 20), SharedBatches(20)):
        found[batch] = [
            sample_ensemble(batched(batch), (regime,), (2,), models=1000, seed=seed)[regime, 2]
            for seed in (1, 2)
        ]
    p_values = {
        batch: shift_p_value(*(ensemble.weights for ensemble in pair), each=20)
        for batch, pair in found.items()
    }
    assert p_values[IndependentBatches(20, 20)] > 1e-6
    assert p_values[SharedBatches(20)] < 1e-12


def test_two_ensembles_of_one_law_have_no_divergence_unless_each_has_one_order_for_all():
    """D_2 between seeds, with an order for every model: 0 lies inside its interval of 1 - 1e-6."""
    found = {}
    for batch in (IndependentBatches(20, 1), SharedBatches(20)):
        problem = made(batch=batch, sigma=0.02, learn_steps=6)
        pair = [
            sample_ensemble(problem, ("learned",), (), models=300, seed=seed)["learned", 0].weights
            for seed in (1, 2)
        ]
        found[batch] = renyi_estimate(of=pair[0], against=pair[1], level=1 - 1e-6).interval
    low, high = found[IndependentBatches(20, 1)]
    assert low < 0 < high
    assert found[SharedBatches(20)][0] > 0


def test_seeds_and_regimes_are_independent():
    one, other = (sample_ensemble(made(), models=300, unlearn_steps=(0,), seed=s) for s in (1, 2))
    pairs = [
        (one["unlearned", 0], other["unlearned", 0]),
        (one["unlearned", 0], one["retrained", 0]),
    ]
    for left, right in pairs:
        a, b = (e.weights - e.weights.mean(0) for e in (left, right))
        correlation = float((a * b).sum() / (a.norm() * b.norm()))
        assert abs(correlation) < 5 / math.sqrt(
            a.numel() / 4
        )  # directions are correlated: at most 4


@pytest.mark.parametrize(
    "wrong",
    [
        {"regimes": ("forgotten",)},
        {"regimes": ()},
        {"unlearn_steps": ()},
        {"unlearn_steps": (-1,)},
        {"models": 0},
        {"engine": "spark"},
        {"precision": "bfloat16"},
    ],
    ids=str,
)
def test_wrong_calls_are_refused(wrong):
    with pytest.raises(ValueError, match=r".+"):
        sample_ensemble(made(), **{"models": 3, **wrong})


@pytest.mark.slow
def test_a_million_heads_in_bounded_memory(tmp_path):
    """Peak memory grows by a block, not by the ensemble (96 MB here)."""
    import resource

    problem = made(classes=2, features=12, learn_steps=1, batch=None)
    settings = {"regimes": ("learned",), "unlearn_steps": (), "block": 2**15, "folder": tmp_path}
    sample_ensemble(problem, **{**settings, "folder": tmp_path / "warm"}, models=2**15)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found = sample_ensemble(problem, **settings, models=1_000_000)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert sum(len(block) for block in found["learned", 0].blocks()) == 1_000_000
    assert grown < 40_000  # KiB
