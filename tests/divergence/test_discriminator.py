"""The paper's discriminator: corrected, and always with its warning.

Paper: [app:disc_details]. That its numbers are not to be trusted is a committed result, not a test.
"""

import pytest

from expunge.divergence.discriminator import WARNING, Discriminator, discriminator_readings
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
