"""Stacked gradients against autograd on each model."""

import pytest
import torch

from expunge.losses import Declared, Logistic, Softmax, Squared
from expunge.sampling.updates import head_gradients

DECLARED = Declared(
    lambda scores, targets: torch.nn.functional.softplus(-scores[..., 0] * targets.sign()),
    1.0,
    0.25,
)


@pytest.mark.parametrize(
    "loss",
    [Softmax(5, 0.3), Logistic(0.3), Squared(0.3, target_norm=0.7), DECLARED],
    ids=lambda loss: type(loss).__name__,
)
def test_gradient_is_autograds(loss, monkeypatch):
    monkeypatch.setitem(head_gradients.SCORES, "cpu", 60)  # several tiles of rows
    generator = torch.Generator().manual_seed(0)
    rows = torch.randn(23, 6, generator=generator, dtype=torch.float64)
    targets = torch.arange(23) % 5 if loss.outputs == 5 else rows[:, 0] + 0.1
    weights = torch.randn(3, loss.outputs, 6, generator=generator, dtype=torch.float64)
    expected = []
    for one in weights:
        theta = one.clone().requires_grad_()
        loss.value(rows @ theta.T, targets).mean().backward()
        expected.append(theta.grad)
    got = head_gradients.gradient_on(loss, rows, targets)(weights)
    torch.testing.assert_close(got, torch.stack(expected), rtol=1e-10, atol=1e-12)
