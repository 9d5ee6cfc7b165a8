"""Trees as text: the leaves are LightGBM's, and what is missing is named."""

import importlib
import sys

import lightgbm
import numpy as np
import pytest

from expunge.errors import MissingPackage
from expunge.features.boosted_trees import count_leaves, find_leaves, grow

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(300, 4))
LABELS = (ROWS[:, 0] * ROWS[:, 1] > 0).astype(int)
SETTINGS = {"objective": "binary", "num_leaves": 6, "seed": 0}


def test_leaves_are_those_of_lightgbm():
    text = grow(ROWS, LABELS, 5, SETTINGS)
    data = lightgbm.Dataset(ROWS, LABELS, params={"verbosity": -1})
    own = lightgbm.train(
        {**SETTINGS, "verbosity": -1, "deterministic": True, "force_row_wise": True}, data, 5
    )
    leaves = find_leaves(text, ROWS, 5)
    np.testing.assert_array_equal(leaves, own.predict(ROWS, pred_leaf=True))
    assert count_leaves(text) == [6] * 5
    assert set(leaves.max(axis=0)) == {5}


def test_one_tree_and_one_row_keep_their_shape():
    text = grow(ROWS, LABELS, 1, SETTINGS)
    assert find_leaves(text, ROWS[:1], 1).shape == (1, 1)


def test_the_same_rows_grow_the_same_trees():
    assert grow(ROWS, LABELS, 5, SETTINGS) == grow(ROWS, LABELS, 5, SETTINGS)


def test_a_text_without_trees_is_refused():
    with pytest.raises(ValueError, match="no trees in LightGBM's text format"):
        count_leaves("nothing")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ImportError("No module named 'lightgbm'"), r"pip install 'expunge\[pipelines\]'"),
        (OSError("libgomp.so.1: cannot open shared object file"), "apt-get install libgomp1"),
    ],
)
def test_what_is_missing_is_named_in_one_line(monkeypatch, error, said):
    def fail(name):
        raise error

    monkeypatch.delitem(sys.modules, "lightgbm")
    monkeypatch.setattr("expunge.features.boosted_trees.import_module", fail)
    with pytest.raises(MissingPackage, match=said) as caught:
        grow(ROWS, LABELS, 1, SETTINGS)
    assert "\n" not in str(caught.value)
    monkeypatch.undo()
    importlib.import_module("lightgbm")
