"""A user's own loss: its derivative, its watch over the declared constants, its honesty."""

import numpy as np
import pytest
import torch

from expunge import CertifiedRegressor
from expunge.errors import RecordsWarning
from expunge.losses import Declared
from expunge.losses.declared import ConstantExceeded


def huber(scores, targets):
    return torch.nn.functional.huber_loss(scores[..., 0], targets, reduction="none", delta=1.0)


HUBER = Declared(huber, slope=1.0, bend=1.0, l2=0.1, row_norm=2.0)


def test_the_residual_is_the_derivative_of_the_value():
    scores = torch.linspace(-3, 3, 13, dtype=torch.float64)[:, None]
    residual = HUBER.residual(scores, torch.zeros(13, dtype=torch.float64))
    torch.testing.assert_close(residual, scores.clamp(-1, 1))


def test_a_row_beyond_the_declared_slope_has_its_derivative_cut_to_it():
    """What is cut is Huber's loss of a smaller delta: convex, of the same bend, of this slope."""
    steep = Declared(huber, slope=0.5, bend=1.0)
    scores = torch.linspace(-3, 3, 13, dtype=torch.float64)[:, None]
    with pytest.warns(RecordsWarning, match="beyond the declared 0.5"):
        cut = steep.residual(scores, torch.zeros(13, dtype=torch.float64))
    torch.testing.assert_close(cut, scores.clamp(-0.5, 0.5))


@pytest.mark.parametrize("value", [torch.nan, torch.inf])
def test_a_derivative_that_is_no_number_counts_as_nothing(value):
    def broken(scores, targets):
        return scores[..., 0] * torch.where(targets > 0, value, 1.0)

    odd = Declared(broken, slope=2.0, bend=1.0)
    with pytest.warns(RecordsWarning):
        cut = odd.residual(torch.ones(2, 1), torch.tensor([0.0, 1.0]))
    assert cut[:, 0].tolist() == [1.0, 0.0 if value != value else 2.0]


def test_with_several_outputs_such_a_row_stops_the_run():
    steep = Declared(lambda scores, _: scores.sum(-1), slope=1.0, bend=1.0, outputs=2)
    with pytest.raises(ConstantExceeded, match="slope"):
        steep.residual(torch.ones(1, 2), torch.zeros(1))


@pytest.mark.parametrize("strategy", ["residual", "retrain"])
def test_a_request_is_honoured_though_a_row_is_beyond_what_was_declared(strategy):
    features = np.random.default_rng(0).normal(size=(60, 3))
    loss = Declared(huber, slope=1e-3, bend=1.0)  # the planted declaration is wrong
    model = CertifiedRegressor(loss=loss, l2=0.05, strategy=strategy)
    with pytest.warns(RecordsWarning):
        model.fit(features, features[:, 0])
    with pytest.warns(RecordsWarning):
        certificate = model.forget([1, 2])
    assert certificate.claim.epsilon <= 1.0
    assert certificate.assumptions["lipschitz"].value == 1e-3


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
