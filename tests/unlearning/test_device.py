"""On a GPU: the same minimiser, and what is returned stays where theta is."""

import pytest
import torch

from expunge.losses.objective import Objective
from expunge.losses.softmax import Softmax
from expunge.losses.solver import solve


@pytest.mark.gpu
def test_the_minimiser_does_not_depend_on_the_device():
    generator = torch.Generator().manual_seed(0)
    rows = torch.randn(20_000, 64, generator=generator)
    rows /= rows.norm(dim=1, keepdim=True)
    labels = torch.randint(0, 5, (20_000,), generator=generator)
    keep = torch.arange(20_000) % 50 != 0
    loss, tolerance = Softmax(5, l2=1e-2), 1e-9
    found = []
    for device in ("cpu", "cuda"):
        objective = Objective(loss, rows.to(device), labels.to(device), keep)
        start = torch.zeros(*objective.shape, dtype=torch.float64)
        theta = solve(objective, start, tolerance=tolerance, gram=objective.gram())
        assert theta.device.type == "cpu"
        assert float(objective.gradient(theta).norm()) <= tolerance
        found.append(theta)
    assert float((found[0] - found[1]).norm()) <= 2 * tolerance / loss.l2
