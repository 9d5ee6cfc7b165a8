"""Newcomers are held to what fit held the others to, whatever the parameters say by now."""

import numpy as np
import pandas as pd
import pytest
import torch

from expunge import CertifiedClassifier, CertifiedRegressor
from expunge.errors import InvalidInput
from expunge.unlearning.linear.arrivals import arrivals
from tests.unlearning.records import labelled, measured, state

X, Y = labelled(80)
TEXTS = np.array(["no", "yes"])[Y]


def classifier(y=Y, **options):
    return CertifiedClassifier(**{"l2": 0.05, "random_state": 0} | options).fit(X[:60], y[:60])


def regressor():
    X, y = measured(80)
    return CertifiedRegressor(l2=0.05, target_norm=0.5).fit(X[:60], y[:60])


def test_rows_are_those_that_fit_would_have_kept():
    later, whole = classifier(), CertifiedClassifier(l2=0.05).fit(10 * X, Y)
    rows, targets = arrivals(later, later.fitted_, 10 * X[60:], Y[60:])
    assert torch.equal(rows, whole.fitted_.job.features[60:])
    assert torch.equal(targets, whole.fitted_.job.targets[60:])
    assert float(rows.norm(dim=1).max()) <= 1


def test_a_norm_or_precision_changed_since_fit_changes_nothing():
    model = CertifiedClassifier(l2=0.05).fit(X[:60].astype(np.float32), Y[:60])
    model.set_params(row_norm=7.0)
    rows, _ = arrivals(model, model.fitted_, 10 * X[60:], Y[60:])
    assert rows.dtype == torch.float32
    assert float(rows.double().norm(dim=1).max()) <= 1


@pytest.mark.parametrize("y", [Y, TEXTS, Y.astype(float), TEXTS.astype(object)])
def test_labels_are_found_among_those_of_the_fit(y):
    model = classifier(y)
    _, targets = arrivals(model, model.fitted_, X[60:], y[60:])
    assert targets.tolist() == Y[60:].tolist()


def test_a_regressions_targets_are_kept_as_they_are_and_clipped_where_they_are_used():
    model = regressor()
    _, targets = arrivals(model, model.fitted_, X[:2], [3.0, -0.25])
    assert targets.tolist() == [3.0, -0.25]
    model.add(X[:2], [3.0, -0.25])
    plain = regressor()
    plain.add(X[:2], [0.5, -0.25])
    np.testing.assert_array_equal(model.coef_, plain.coef_)


WIDE, SPOILT = np.ones((2, 5)), np.array([[0.1, np.nan, 0.2, 0.3]] * 2)


@pytest.mark.parametrize(
    ("rows", "answers", "said"),
    [
        (WIDE, [0, 1], "X: X has 5 features"),
        (SPOILT, [0, 1], "X: contains NaN or infinity"),
        (np.inf * SPOILT, [0, 1], "X: contains NaN or infinity"),
        (X[0], [0], "X: must be a table"),
        (X[:2], [0, 2], "y: label 2 is not among those of the fit"),
        (X[:2], ["0", "1"], "y: label '0' is not among"),
        (X[:2], [0, np.nan], "y: label nan is not among"),
        (X[:2], [0, None], "y: label None is not among"),
        (X[:2], [0], "y: 1 values for 2 rows"),
        (X[:2], [[0, 1], [1, 0]], "y: y should be a 1d array"),
    ],
)
def test_what_is_wrong_is_said_in_one_line_and_changes_nothing(rows, answers, said):
    model = classifier()
    before = state(model)
    with pytest.raises(InvalidInput) as refused:
        model.add(rows, answers)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)
    assert state(model) == before


@pytest.mark.parametrize(
    ("answers", "said"),
    [(["a", "b"], "targets must be numbers"), ([0.1, np.inf], "y: contains NaN or infinity")],
)
def test_a_regressions_targets_are_finite_numbers(answers, said):
    model = regressor()
    with pytest.raises(InvalidInput, match=said):
        arrivals(model, model.fitted_, X[:2], answers)


def test_columns_of_a_table_have_the_names_of_the_fit():
    names = list("abcd")
    table = pd.DataFrame(X, columns=names, index=[f"p{i}" for i in range(80)])
    model = CertifiedClassifier(l2=0.05).fit(table[:60], Y[:60], ids="index")
    with pytest.raises(InvalidInput, match="feature names should match") as refused:
        model.add(table[60:].rename(columns={"a": "z"}), Y[60:], ids="index")
    assert "\n" not in str(refused.value)
    model.add(table[60:], Y[60:], ids="index")
    assert model.forget("p79").forgotten == 1
