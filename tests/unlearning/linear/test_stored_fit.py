"""Rows that lie in chunks give the model that rows in memory give."""

import numpy as np
import pytest
import torch

from expunge.core.stored_rows import StoredRows
from expunge.unlearning.linear.estimator import CertifiedClassifier
from tests.unlearning.records import labelled

BOUNDS = [(0, 20), (20, 40), (40, 60)]
LABELS = np.array([0, 1])


def stored(job):
    """A table of chunks that hold copies of a job's rows."""
    features, targets = job.features.clone(), job.targets.clone()

    def read(number):
        first, stop = BOUNDS[number]
        return {"features": features[first:stop], "targets": targets[first:stop]}

    return StoredRows(BOUNDS, read)


def test_the_model_is_that_of_rows_in_memory_and_forgets_like_it():
    X, y = labelled(60)
    there = CertifiedClassifier(random_state=0).fit(X, y)
    clf = CertifiedClassifier(random_state=0)
    clf.fit_stored(stored(there.fitted_.job), (X[:0], y[:0]), 1.0, LABELS)
    assert torch.equal(clf.fitted_.outcome.theta, there.fitted_.outcome.theta)
    assert (clf.n_features_in_, list(clf.classes_)) == (4, [0, 1])
    for model in (there, clf):
        model.forget([3, 30])
    assert torch.equal(clf.fitted_.outcome.theta, there.fitted_.outcome.theta)


def test_a_fit_that_fails_leaves_the_estimator_as_it_was():
    X, y = labelled(60)
    clf = CertifiedClassifier().fit(X, y)
    before, table = clf.fitted_, stored(clf.fitted_.job)
    with pytest.raises(ValueError, match="engine"):
        clf.fit_stored(table, (X[:0], y[:0]), 1.0, LABELS, engine="nowhere")
    assert clf.fitted_ is before
