"""Predictions from weights alone: the same as the estimator's, before and after a round trip."""

import json

import numpy as np
import pytest
import torch

from expunge.losses import Logistic, Softmax, Squared
from expunge.unlearning.linear.estimator import CertifiedClassifier, CertifiedRegressor
from expunge.unlearning.linear.linear_head import LinearHead
from tests.unlearning.records import labelled


@pytest.mark.parametrize("classes", [1, 2, 3])
def test_a_head_that_was_written_down_predicts_what_the_estimator_predicts(classes):
    rows, labels = labelled(90)
    labels = np.asarray(["a", "b", "c"])[np.arange(90) % classes]
    model = CertifiedClassifier().fit(rows, labels)
    head = LinearHead.of(model.fitted_.outcome.theta, model.fitted_.head.document())
    assert (head.predict(rows) == model.predict(rows)).all()
    assert np.array_equal(head.probabilities(rows), model.predict_proba(rows))
    assert head.probabilities(rows).shape == (90, classes)
    np.testing.assert_allclose(head.probabilities(rows).sum(1), 1, rtol=1e-12)


def test_a_regression_that_was_written_down_predicts_the_same_numbers():
    rows, _ = labelled(50)
    model = CertifiedRegressor().fit(rows, rows[:, 0])
    head = LinearHead.of(model.fitted_.outcome.theta, model.fitted_.head.document())
    assert np.array_equal(head.predict(rows), model.predict(rows))


def test_scores_are_those_of_rows_within_the_bound():
    """A row of any length counts as one of norm B/sqrt(2), the intercept's feature beside it."""
    head = LinearHead(torch.tensor([[1.0, 0.0, 0.0]]).double(), Logistic(0.1, 2.0), np.arange(2))
    assert head.scores(np.array([[1e6, 0.0]]))[0, 0] == pytest.approx(np.sqrt(2), rel=1e-9)
    assert head.scores(np.array([[0.5, 0.0]]))[0, 0] == pytest.approx(0.5)


@pytest.mark.parametrize("loss", [Logistic(0.1), Softmax(3, 0.2, 2.0), Squared(0.3, 1.0, 5.0)])
def test_the_document_keeps_loss_and_labels_with_their_types(loss):
    classes = None if isinstance(loss, Squared) else np.arange(max(2, loss.outputs))
    head = LinearHead(torch.zeros(loss.outputs, 2), loss, classes)
    again = LinearHead.of(head.theta, head.document())
    assert again.loss == loss
    if classes is not None:
        assert again.classes.dtype == classes.dtype
        assert (again.classes == classes).all()
    assert "theta" not in json.loads(head.document())


LABELS = {"values": ["a", "b"], "dtype": "<U1"}
LOSS = {"kind": "Logistic", "l2": 0.1, "row_norm": 1.0}


@pytest.mark.parametrize(
    ("change", "outputs"),
    [
        ({"labels": {"values": ["a", "b"], "dtype": "<U1000000000"}}, 1),
        ({"labels": {"values": [[1], [2]], "dtype": "<i8"}}, 1),
        ({"labels": {"values": ["b", "a"], "dtype": "<U1"}}, 1),
        ({"labels": {"values": [1.5, 2.5], "dtype": "<i8"}}, 1),
        ({"labels": {"values": [None], "dtype": "O"}}, 1),
        ({"labels": {"values": ["a", "b", "c"], "dtype": "<U1"}}, 1),
        ({"labels": None}, 1),
        ({"labels": []}, 1),
        ({"loss": []}, 1),
        ({"loss": LOSS | {"kind": []}}, 1),
        ({"loss": LOSS | {"l2": "x"}}, 1),
        ({"loss": LOSS | {"more": 1}}, 1),
        ({}, 2),
    ],
)
def test_a_document_whose_parts_do_not_belong_together_is_refused(change, outputs):
    document = json.dumps({"loss": LOSS, "labels": LABELS} | change)
    with pytest.raises(ValueError, match=r"."):
        LinearHead.of(torch.zeros(outputs, 2), document)


@pytest.mark.parametrize("document", ["", "[]", "null", "[" * 10_000])
def test_what_is_no_document_is_refused(document):
    with pytest.raises(ValueError, match=r"."):
        LinearHead.of(torch.zeros(1, 2), document)
