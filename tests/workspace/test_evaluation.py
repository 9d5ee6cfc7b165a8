"""Evaluations count by hand: a confusion matrix, or a root mean square error."""

import numpy as np
import pytest
import torch

from expunge.losses import Logistic, Softmax, Squared
from expunge.unlearning.linear.linear_head import LinearHead
from expunge.workspace.evaluation import evaluation

ROWS = np.array([[0.5], [0.5], [-0.5], [-0.5], [-0.5]])


def test_a_confusion_matrix_has_truth_in_rows_and_predictions_in_columns():
    head = LinearHead(torch.tensor([[1.0, 0.0]]).double(), Logistic(0.1, 1.0), np.array(["a", "b"]))
    found = evaluation(head, ROWS, np.array(["b", "a", "a", "a", "b"]))
    assert found == {
        "records": 5,
        "labels": ["a", "b"],
        "confusion": [[2, 1], [1, 1]],
        "accuracy": pytest.approx(3 / 5),
    }


def test_a_class_that_nobody_has_keeps_its_row_and_column():
    theta = torch.tensor([[-1.0, 0.0], [1.0, 0.0], [0.0, -9.0]]).double()
    head = LinearHead(theta, Softmax(3, 0.1, 1.0), np.array([4, 5, 6]))
    found = evaluation(head, ROWS, np.array([5, 5, 4, 4, 5]))
    assert found["labels"] == ["4", "5", "6"]
    assert found["confusion"] == [[2, 0, 0], [1, 2, 0], [0, 0, 0]]


def test_one_class_is_a_matrix_too():
    head = LinearHead(torch.zeros((1, 2)).double(), Logistic(0.1, 1.0), np.array(["a"]))
    assert evaluation(head, ROWS, np.array(["a"] * 5))["confusion"] == [[5]]


def test_a_regression_has_an_error():
    head = LinearHead(torch.tensor([[1.0, 0.0]]).double(), Squared(0.1, 9.0, 1.0, np.inf), None)
    truth = head.predict(ROWS) + np.array([3.0, -3.0, 3.0, 3.0, -3.0])
    assert evaluation(head, ROWS, truth) == {
        "records": 5,
        "root_mean_square_error": pytest.approx(3),
    }
