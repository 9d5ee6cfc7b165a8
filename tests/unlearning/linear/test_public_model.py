"""The public-only model: an estimator that was given public rows alone finds the same."""

import numpy as np
import pytest

from expunge.unlearning.linear.estimator import CertifiedClassifier, CertifiedRegressor
from expunge.unlearning.linear.public_model import public_model


def rows_of(seed, count=80):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(count, 3))
    return rows, rows @ [1.0, -2.0, 0.5] + 0.1 * rng.normal(size=count)


@pytest.mark.parametrize("classes", [2, 3])
def test_a_classifier_learns_what_another_learns_whose_only_records_these_are(classes):
    rows, scores = rows_of(0)
    labels = np.digitize(scores, [0.0, 1.0][: classes - 1])
    beside = CertifiedClassifier(l2=0.1).fit(*_private(classes), public=(rows, labels))
    alone = CertifiedClassifier(l2=0.1, strategy="residual").fit(rows, labels)
    found = public_model(beside.fitted_.head, rows, labels)
    np.testing.assert_allclose(found.theta, alone.fitted_.head.theta, atol=1e-6)
    assert not np.allclose(found.theta, beside.fitted_.head.theta, atol=1e-3)


def test_a_regression_likewise_and_no_private_record_counts():
    rows, values = rows_of(1)
    other, targets = rows_of(2)
    alone = CertifiedRegressor(l2=0.1, target_norm=3.0).fit(rows, values)
    heads = [
        CertifiedRegressor(l2=0.1, target_norm=3.0)
        .fit(other, targets * sign, public=(rows, values))
        .fitted_.head
        for sign in (1, -1)
    ]
    found = [public_model(head, rows, values).theta for head in heads]
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_allclose(found[0], alone.fitted_.head.theta, atol=1e-6)


def _private(classes):
    rows, scores = rows_of(5)
    return rows[:, ::-1].copy(), np.digitize(scores, [0.0, 1.0][: classes - 1])
