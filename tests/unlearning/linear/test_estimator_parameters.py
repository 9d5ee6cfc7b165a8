"""Parameters of estimators: each has a rule; tests/test_parameters.py tries every bad value."""

import inspect

import numpy as np
import pytest

from expunge import CertifiedClassifier, CertifiedRegressor
from expunge.unlearning.linear.estimator_parameters import (
    RULES,
    check_parameters,
    row_bound,
    target_epsilon,
)


@pytest.mark.parametrize("estimator", [CertifiedClassifier, CertifiedRegressor])
def test_every_parameter_has_a_rule_and_every_default_passes(estimator):
    names = set(inspect.signature(estimator).parameters)
    assert names - {"strategy"} <= set(RULES)
    check_parameters(estimator().get_params(deep=False))


def test_every_rule_is_of_some_parameter():
    both = [inspect.signature(one).parameters for one in (CertifiedClassifier, CertifiedRegressor)]
    assert set(RULES) <= {*both[0], *both[1]}


@pytest.mark.parametrize(
    "classes", [["a", "b"], (0, 1, 2), np.array([1.5, 2.5]), [True, False], ["only"]]
)
def test_labels_of_one_kind_pass(classes):
    check_parameters({"classes": classes})


def test_numbers_of_numpy_pass():
    check_parameters({"epsilon": np.float32(1), "l2": np.float64(1), "random_state": np.int64(3)})


def test_a_row_norm_whose_square_leaves_float32_is_refused():
    assert row_bound("row_norm", 1e15) == 1e15
    for value in (2e15, 1e-16, 1e-300):
        with pytest.raises(ValueError, match=r"^row_norm: .* must be within 1e-15 to 1e\+15"):
            row_bound("row_norm", value)


def test_an_epsilon_that_means_nothing_is_refused():
    with pytest.raises(ValueError, match="above is vacuous"):
        target_epsilon("epsilon", 20.5)
