"""A user's own loss: its derivative, its watch over the declared constants, its honesty."""

import numpy as np
import pytest
import torch

from expunge import CertifiedRegressor
from expunge.losses import Declared
from expunge.losses.declared import ConstantExceeded


def huber(scores, targets):
    return torch.nn.functional.huber_loss(scores[..., 0], targets, reduction="none", delta=1.0)


HUBER = Declared(huber, slope=1.0, bend=1.0, l2=0.1, row_norm=2.0)


def test_the_residual_is_the_derivative_of_the_value():
    scores = torch.linspace(-3, 3, 13, dtype=torch.float64)[:, None]
    residual = HUBER.residual(scores, torch.zeros(13, dtype=torch.float64))
    torch.testing.assert_close(residual, scores.clamp(-1, 1))


def test_a_row_beyond_the_declared_slope_stops_the_run():
    steep = Declared(huber, slope=0.5, bend=1.0)
    with pytest.raises(ConstantExceeded, match="slope"):
        steep.residual(torch.full((1, 1), 3.0), torch.zeros(1))


def test_constants_scale_with_the_rows_and_are_marked_assumed():
    assumed = HUBER.assumptions()
    assert assumed.lipschitz == 2.0
    assert assumed.smoothness == pytest.approx(4.1)
    assert {assumed.mark(n) for n in ("lipschitz", "smoothness", "strong_convexity")} == {"assumed"}


@pytest.mark.parametrize("strategy", ["residual", "noise_first", "retrain"])
def test_its_certificates_say_first_that_constants_were_declared(strategy):
    rng = np.random.default_rng(0)
    features = rng.normal(size=(200, 3))
    targets = np.tanh(features[:, 0])
    loss = Declared(huber, slope=1.0, bend=1.0)
    model = CertifiedRegressor(loss=loss, l2=0.05, strategy=strategy).fit(features, targets)
    certificate = model.forget([1, 2])
    assert certificate.claim.epsilon <= 1.0
    assert "declared, not enforced" in certificate.claim.statement[0]
