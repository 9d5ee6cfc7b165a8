"""The fused stepper against the plain one, in every batch scheme; and what it does not serve."""

import pytest

from expunge.losses import Logistic, Softmax, Squared
from expunge.sampling.ensembles import sample_ensemble
from expunge.sampling.problem import IndependentBatches, SharedBatches
from expunge.sampling.updates import fused, kernels
from expunge.sampling.updates.fused import Fused
from tests.sampling.heads_problem import made

BATCHES = [None, SharedBatches(50), IndependentBatches(50, 128), IndependentBatches(50, 16)]


def test_it_serves_softmax_and_logistic_heads_in_whole_tiles(monkeypatch):
    monkeypatch.setattr(kernels, "triton", object())
    assert Fused.serves(made(Softmax(4, 0.1), features=16))
    assert Fused.serves(made(Logistic(0.1), features=16))
    assert not Fused.serves(made(Squared(0.1), features=16))
    assert not Fused.serves(made(features=12))  # rows of 24 bytes cannot be described
    assert not Fused.serves(made(features=16, batch=IndependentBatches(30, 6)))
    assert Fused.serves(made(features=16, batch=IndependentBatches(30, 64)))
    few = IndependentBatches(30, 8)  # fewer than a full tile: the tile shrinks
    assert Fused.serves(made(Softmax(7, 0.1), classes=7, features=16, batch=few))
    assert not Fused.serves(made(Softmax(5, 0.1), classes=5, features=16, batch=few))
    monkeypatch.setattr(kernels, "triton", None)
    assert not Fused.serves(made(features=16))


@pytest.mark.gpu
@pytest.mark.parametrize("outputs", [24, 10, 5, 1])
@pytest.mark.parametrize("batch", BATCHES, ids=str)
def test_it_is_the_plain_step_within_bfloat16(outputs, batch, monkeypatch):
    monkeypatch.setattr(fused, "RESIDUALS", 2**16)  # several units
    loss = Logistic(0.05) if outputs == 1 else Softmax(outputs, 0.05)
    problem = made(loss, classes=max(outputs, 2), features=48, radius=1.2, batch=batch)
    settings = {"models": 300, "unlearn_steps": (0, 3), "seed": 2, "device": "cuda"}
    fast = sample_ensemble(problem, **settings, precision="bfloat16")
    slow = sample_ensemble(problem, **settings, precision="float32")
    exact = sample_ensemble(problem, **{**settings, "device": "cpu"}, precision="float64")
    for point, ensemble in exact.items():
        expected = ensemble.weights
        for found, tolerance in ((fast, 1e-2), (slow, 1e-5)):
            got = found[point].weights.double().cpu()
            assert (got - expected).norm() / expected.norm() < tolerance, point
        norms = fast[point].weights.flatten(1).norm(dim=1)
        assert (norms <= 1.2 * (1 + 1e-6)).all()
