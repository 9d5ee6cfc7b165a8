"""Squared loss on clipped targets. What all losses share is in `test_linear`."""

import math

import pytest
import torch

from expunge.losses.squared import Squared


def column(*values):
    return torch.tensor(values, dtype=torch.float64)[:, None]


def test_value_and_residual_are_those_of_half_the_square():
    loss = Squared(0.1, target_norm=2.0)
    scores, targets = column(1.0, -3.0), torch.tensor([0.5, 1.0], dtype=torch.float64)
    torch.testing.assert_close(loss.value(scores, targets), torch.tensor([0.125, 8.0]).double())
    torch.testing.assert_close(loss.residual(scores, targets), column(0.5, -4.0))


def test_targets_are_clipped_to_the_public_bound():
    loss = Squared(0.1, target_norm=2.0)
    targets = torch.tensor([-9.0, -2.0, 0.3, 2.0, math.inf], dtype=torch.float64)
    expected = torch.tensor([-2.0, -2.0, 0.3, 2.0, 2.0], dtype=torch.float64)
    assert torch.equal(loss.clipped(targets), expected)
    scores = torch.zeros(5, 1, dtype=torch.float64)
    assert torch.equal(loss.residual(scores, targets), -expected[:, None])
    assert torch.equal(loss.value(scores, targets), expected**2 / 2)


def test_without_a_radius_it_refuses():
    """THEORY 2.6: unbounded gradients, so no M. A radius passed in does not bound the loss."""
    with pytest.raises(ValueError, match="radius"):
        Squared(0.1).assumptions()
    with pytest.raises(ValueError, match="radius"):
        Squared(0.1).assumptions(1.0)


def test_constants_in_a_ball():
    """THEORY 2.6: M = B (B R + Y), curvature B^2."""
    loss = Squared(0.1, row_norm=2.0, target_norm=3.0, radius=0.5)
    assert loss.lipschitz == 2.0 * (2.0 * 0.5 + 3.0)
    assert loss.assumptions().smoothness == 4.1
    assert loss.assumptions().radius == 0.5


def test_the_smaller_of_two_balls_is_recorded():
    loss = Squared(0.1, radius=0.5)
    assert loss.assumptions(0.2).radius == 0.2
    assert loss.assumptions(9.0).radius == 0.5
    assert loss.assumptions(9.0).lipschitz == 1.5
