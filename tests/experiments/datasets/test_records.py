"""The record that loaders return."""

import numpy as np
import pytest

from experiments.datasets.records import DataSet, Pair


def made(classes=("a", "b")):
    number = np.arange(4)
    groups = np.array(["x", "x", "y", "y"])
    return DataSet("made", number[:, None] * 1.0, number % 2, classes, number > 2, groups)


def test_training_and_test_rows_keep_their_fields_together():
    data = made()
    assert data.train.features[:, 0].tolist() == [0, 1, 2]
    assert data.test.targets.tolist() == [1]
    assert data.test.groups.tolist() == ["y"]
    assert len(data.of(np.array([3, 0]))) == 2
    assert data.of(np.array([3, 0])).features[:, 0].tolist() == [3, 0]


def test_fields_of_different_lengths_and_pairs_of_different_classes_are_refused():
    with pytest.raises(ValueError, match="made: features, targets and is_test differ"):
        DataSet("made", np.zeros((3, 1)), np.zeros(2), ("a",), np.zeros(3, bool))
    with pytest.raises(ValueError, match="one: the two sets have different classes"):
        Pair("one", made(), made(("a", "c")))
