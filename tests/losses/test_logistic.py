"""Binary logistic loss against its closed forms. What all losses share is in `test_linear`."""

import math

import mpmath
import pytest
import torch

from expunge.losses.logistic import Logistic


def column(*values):
    return torch.tensor(values, dtype=torch.float64)[:, None]


def test_value_is_log_one_plus_exp_of_minus_the_signed_score():
    scores = [-800.0, -30.0, -1.0, 0.0, 1e-9, 2.0, 40.0, 800.0]
    for target in (0, 1):
        values = Logistic(0.1).value(column(*scores), torch.full((len(scores),), target))
        with mpmath.workdps(30):
            for score, value in zip(scores, values, strict=True):
                sign = 1 if target else -1
                expected = mpmath.log1p(mpmath.exp(-sign * mpmath.mpf(score)))
                assert float(abs(value - float(expected))) <= 1e-9 * float(expected) + 1e-300


def test_residual_is_the_probability_minus_the_target():
    residual = Logistic(0.1).residual(column(0.0, 0.0, math.log(3)), torch.tensor([0, 1, 1]))
    torch.testing.assert_close(residual, column(0.5, -0.5, -0.25))


def test_relabelling_and_turning_the_score_changes_nothing():
    scores, targets = column(-2.0, 0.3, 5.0), torch.tensor([0, 1, 1])
    loss = Logistic(0.1)
    torch.testing.assert_close(loss.value(scores, targets), loss.value(-scores, 1 - targets))
    torch.testing.assert_close(loss.residual(scores, targets), -loss.residual(-scores, 1 - targets))


def test_probabilities_sum_to_one_and_their_log_is_the_loss():
    scores = column(-3.0, 0.0, 2.5)
    loss = Logistic(0.1)
    probabilities = loss.probabilities(scores)
    torch.testing.assert_close(probabilities.sum(1), torch.ones(3).double())
    for target in (0, 1):
        value = loss.value(scores, torch.full((3,), target))
        torch.testing.assert_close(-probabilities[:, target].log(), value)


@pytest.mark.parametrize("row_norm", [0.5, 1.0, 3.0])
def test_constants_are_the_safe_rule(row_norm):
    """THEORY E34: M = B, L = B^2/4 + lambda."""
    loss = Logistic(0.02, row_norm=row_norm)
    assert loss.outputs == 1
    assert loss.lipschitz == row_norm
    assert loss.assumptions().smoothness == row_norm**2 / 4 + 0.02
    assert loss.assumptions().strong_convexity == 0.02
    assert loss.assumptions().radius is None
