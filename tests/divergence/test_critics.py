"""A stack of critics: each restart as torch's own modules would have it.

Paper: [app:disc_details].
"""

import torch
from torch.nn.functional import leaky_relu

from expunge.divergence.critics import Critics, Discriminator, _singular
from expunge.divergence.variational import convex_conjugate, polysoftplus

SMALL = Discriminator(width=8, restarts=2, steps=5, batch=50)


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
    critics = Critics(3, SMALL, generator)
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
    critics = Critics(4, SMALL, generator)
    for name in ("first", "bias", "last", "shift", "direction"):
        setattr(critics, name, getattr(critics, name).double())
    for _ in range(300):
        critics.direction = _singular(critics.first, critics.direction)[2]
    samples = torch.randn(20, 4, generator=generator, dtype=torch.float64)
    ours = critics.gradients(samples, 2.0)
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


def _restart(critics, i):
    return critics.first[:, i], critics.bias[i], critics.last[i], critics.shift[i]
