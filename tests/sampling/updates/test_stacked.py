"""All orders in one gradient, against one order after another."""

import pytest
import torch

from expunge.core import counters
from expunge.sampling import IndependentBatches, NoBatches, SharedBatches
from expunge.sampling.orders import Orders
from expunge.sampling.problem import Records
from expunge.sampling.updates.plain import Plain
from expunge.sampling.updates.stacked import Stacked
from tests.sampling.test_recurrent import drawn, problem

MODELS = 5


def advanced(kind, batch, device="cpu", precision="float32", steps=3, **changes):
    """Weights after some steps; the last run of models is shorter than the others."""
    asked = problem(batch, **changes)
    weights = drawn(asked.loss, MODELS).to(device)
    chain = kind(asked, precision, weights, first=4)
    present = torch.ones(20, dtype=torch.bool, device=device)
    orders = Orders(asked.scheme, counters.stream(0, "order"), present, 4, MODELS)
    features, targets = asked.all_records()
    records = Records(features.float().to(device), targets.to(device))
    for step in range(steps):
        chain.step(records, orders.rows(step), orders.runs, counters.stream(0, "noise", step))
    return chain.weights


BATCHES = [NoBatches(), SharedBatches(6), IndependentBatches(6, 2)]
NAMES = ["full", "shared", "own"]


@pytest.mark.parametrize("batch", BATCHES, ids=NAMES)
def test_a_step_is_plains(batch):
    ours, plain = (advanced(kind, batch) for kind in (Stacked, Plain))
    torch.testing.assert_close(ours, plain, rtol=0, atol=2e-6)


def test_models_see_the_rows_of_their_own_run():
    """The planted fault: everyone on the first order's rows gives other models."""
    own, one = (advanced(Stacked, batch, radius=None) for batch in (BATCHES[2], BATCHES[1]))
    assert (own - one).abs().max() > 1e-4


@pytest.mark.gpu
@pytest.mark.parametrize("batch", BATCHES, ids=NAMES)
def test_a_step_on_a_gpu_is_that_of_a_cpu(batch):
    ours = advanced(Stacked, batch, "cuda")
    torch.testing.assert_close(ours.cpu(), advanced(Stacked, batch), rtol=0, atol=1e-5)
