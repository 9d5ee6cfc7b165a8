"""The paper's discriminator: corrected, stacked, and always with its warning.

Paper: [app:disc_details]. That its numbers are not to be trusted is a committed result, not a test.
"""

import pytest
import torch

from expunge.divergence.discriminator import (
    WARNING,
    Discriminator,
    _Critics,
    discriminator_readings,
)
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


def test_every_layer_is_normalised_to_its_largest_singular_value():
    generator = torch.Generator().manual_seed(0)
    critics = _Critics(7, SMALL, generator)
    for _ in range(200):
        critics._turn()
    for layer, (weight, _) in enumerate(critics.layers):
        norms = torch.linalg.matrix_norm(critics._normal(weight, layer), ord=2)
        torch.testing.assert_close(norms, torch.ones(2), rtol=1e-3, atol=0)


def test_a_stack_gives_each_restart_what_it_would_have_had_alone():
    generator = torch.Generator().manual_seed(0)
    critics = _Critics(3, SMALL, generator)
    samples = torch.randn(11, 3, generator=generator)
    stacked = critics(samples)
    for i in range(SMALL.restarts):
        (first, bias), (last, shift) = critics.layers
        hidden = samples @ critics._normal(first, 0)[i] + bias[i]
        output = torch.nn.functional.leaky_relu(hidden) @ critics._normal(last, 1)[i] + shift[i]
        from expunge.divergence.variational import polysoftplus

        torch.testing.assert_close(stacked[i], polysoftplus(output)[:, 0])
    assert (stacked < 0).all()
