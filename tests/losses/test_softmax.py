"""Softmax cross-entropy against its closed forms. What all losses share is in `test_linear`."""

import math

import pytest
import torch

from expunge.losses.logistic import Logistic
from expunge.losses.softmax import Softmax


def some_scores(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return 4 * torch.randn(*shape, generator=generator, dtype=torch.float64)


def test_value_is_torchs_cross_entropy():
    scores, targets = some_scores(20, 5), torch.arange(20) % 5
    expected = torch.nn.functional.cross_entropy(scores, targets, reduction="none")
    torch.testing.assert_close(Softmax(5, 0.1).value(scores, targets), expected)


def test_two_classes_are_logistic_loss_of_the_difference():
    scores, targets = some_scores(20, 2), torch.arange(20) % 2
    difference = scores[:, 1:] - scores[:, :1]
    torch.testing.assert_close(
        Softmax(2, 0.1).value(scores, targets), Logistic(0.1).value(difference, targets)
    )
    residual = Softmax(2, 0.1).residual(scores, targets)
    torch.testing.assert_close(residual[:, 1:], Logistic(0.1).residual(difference, targets))


def test_residual_is_softmax_minus_one_hot_and_sums_to_zero():
    scores, targets = some_scores(20, 5), torch.arange(20) % 5
    residual = Softmax(5, 0.1).residual(scores, targets)
    one_hot = torch.nn.functional.one_hot(targets, 5).double()
    torch.testing.assert_close(residual, torch.softmax(scores, -1) - one_hot)
    assert float(residual.sum(-1).abs().max()) < 1e-15


def test_adding_a_constant_to_all_scores_changes_nothing():
    """The null direction: only the ridge holds it, so that m = lambda exactly."""
    scores, targets, loss = some_scores(20, 5), torch.arange(20) % 5, Softmax(5, 0.1)
    torch.testing.assert_close(loss.value(scores + 7.0, targets), loss.value(scores, targets))
    along = loss.residual_derivative(scores, torch.ones_like(scores))
    assert float(along.abs().max()) < 1e-15


def test_probabilities_are_softmax():
    scores = some_scores(20, 5)
    torch.testing.assert_close(Softmax(5, 0.1).probabilities(scores), torch.softmax(scores, -1))


@pytest.mark.parametrize("classes", [2, 3, 24])
def test_constants_are_the_safe_rule(classes):
    """THEORY E34: M = sqrt(2) B, L = B^2/2 + lambda, whatever the number of classes."""
    loss = Softmax(classes, 0.02, row_norm=3.0)
    assert loss.outputs == classes
    assert loss.lipschitz == math.sqrt(2) * 3.0
    assert loss.assumptions().smoothness == 4.5 + 0.02
    assert loss.assumptions().strong_convexity == 0.02


@pytest.mark.parametrize("classes", [3, 10])
def test_curvature_one_half_is_attained_between_two_classes(classes):
    """diag(p) - p p' has the eigenvalue 1/2 at p = (1/2, 1/2, 0, ...): B^2/4 would be unsound."""
    scores = torch.full((1, classes), -100.0, dtype=torch.float64)
    scores[0, :2] = 0.0
    direction = torch.zeros_like(scores)
    direction[0, 0], direction[0, 1] = math.sqrt(0.5), -math.sqrt(0.5)
    moved = Softmax(classes, 0.1).residual_derivative(scores, direction)
    torch.testing.assert_close(moved, direction / 2)
