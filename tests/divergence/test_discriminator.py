"""The paper's discriminator: corrected, stacked, and always with its warning.

Paper: [app:disc_details]. That its numbers are not to be trusted is a committed result, not a test.
"""

import pytest
import torch
from torch.nn.functional import leaky_relu

from expunge.divergence.discriminator import (
    WARNING,
    Discriminator,
    _Critics,
    _descend,
    _singular,
    _Slope,
    discriminator_readings,
)
from expunge.divergence.variational import convex_conjugate, polysoftplus
from tests.divergence.laws import shifted

SMALL = Discriminator(width=8, restarts=2, steps=5, batch=50)


def test_it_always_warns():
    p, q = shifted(80, 2, 0.5, seed=0)
    with pytest.warns(UserWarning, match="reproduction"):
        found = discriminator_readings(of=p, against=q, settings=SMALL)
    assert "renyi_estimate" in WARNING
    assert len(found.trained) == len(found.held_out) == 2
    assert found.value == pytest.approx(sum(found.held_out) / 2)


def test_training_raises_the_reading():
    p, q = shifted(800, 1, 2.0, seed=0)
    readings = []
    for steps in (1, 150):
        settings = Discriminator(width=16, restarts=2, steps=steps, batch=300, learning_rate=1e-2)
        with pytest.warns(UserWarning, match="reproduction"):
            found = discriminator_readings(of=p, against=q, settings=settings)
        readings.append(sum(found.trained) / 2)
    assert readings[1] > readings[0] + 0.1
    assert readings[1] < 2.0 * 1.2


def test_the_power_iteration_finds_the_largest_singular_value():
    first = torch.randn(7, 2, 8, generator=torch.Generator().manual_seed(0))
    direction = torch.ones(2, 8)
    for _ in range(200):
        norm, left, direction = _singular(first, direction)
    norms = torch.linalg.matrix_norm(first.movedim(1, 0), ord=2)
    torch.testing.assert_close(norm, norms, rtol=1e-3, atol=0)
    torch.testing.assert_close(left.norm(dim=0), torch.ones(2))


def test_a_stack_gives_each_restart_what_it_would_have_had_alone():
    generator = torch.Generator().manual_seed(0)
    critics = _Critics(3, SMALL, generator)
    samples = torch.randn(11, 3, generator=generator)
    norms = _singular(critics.first.detach(), critics.direction)[0]
    stacked = critics(samples)
    for i in range(SMALL.restarts):
        hidden = leaky_relu(samples @ critics.first[:, i] / norms[i] + critics.bias[i])
        output = hidden @ critics.last[i] / critics.last[i].norm() + critics.shift[i]
        torch.testing.assert_close(stacked[i], polysoftplus(output))
    assert (stacked < 0).all()


def test_its_gradients_are_those_of_torchs_spectral_norm():
    """Each restart as a module of torch's own, in double precision."""
    generator = torch.Generator().manual_seed(0)
    critics = _Critics(4, SMALL, generator)
    for name in ("first", "bias", "last", "shift", "direction"):
        setattr(critics, name, getattr(critics, name).double())
    for _ in range(300):
        critics.direction = _singular(critics.first, critics.direction)[2]
    samples = torch.randn(20, 4, generator=generator, dtype=torch.float64)
    slope, others = critics.slopes(samples, 2.0)
    ours = [slope.gradient, *others]
    for i in range(SMALL.restarts):
        parts = [part.clone().requires_grad_() for part in _restart(critics, i)]
        first, bias, last, shift = parts
        with torch.no_grad():
            u, _, v = torch.linalg.svd(first)
        scale = u[:, 0] @ first @ v[0]
        hidden = leaky_relu(samples @ first / scale + bias)
        values = polysoftplus(hidden @ last / last.norm() + shift)
        loss = -convex_conjugate(values[:10], values[10:], 2.0)
        expected = torch.autograd.grad(loss, parts)
        got = ours[0][:, i], ours[1][i], ours[2][i], ours[3][i]
        for mine, theirs in zip(got, expected, strict=True):
            torch.testing.assert_close(mine, theirs, rtol=1e-6, atol=1e-9)


def test_its_steps_are_those_of_torchs_adam():
    generator = torch.Generator().manual_seed(0)
    ours = [torch.randn(4, 2, 8, generator=generator), torch.randn(2, generator=generator)]
    theirs = [one.clone().requires_grad_() for one in ours]
    adam = torch.optim.Adam(theirs, lr=0.1)
    means, squares = ([torch.zeros_like(one) for one in ours] for _ in range(2))
    norm = torch.full((2,), 0.5)
    for taken in range(1, 4):
        raw, other = (torch.randn(one.shape, generator=generator) for one in ours)
        slope = _Slope(raw, torch.zeros(2), norm, torch.ones(4, 2), torch.ones(2, 8))
        _descend(ours, slope, [other], means, squares, torch.tensor(float(taken)), 0.1)
        theirs[0].grad, theirs[1].grad = raw / 0.5, other
        adam.step()
        for mine, expected in zip(ours, theirs, strict=True):
            torch.testing.assert_close(mine, expected.detach())


def _restart(critics, i):
    return critics.first[:, i], critics.bias[i], critics.last[i], critics.shift[i]
