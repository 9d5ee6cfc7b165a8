"""Leaves of trees grown on some rows, as features of all: of equal norm, and fixed for good."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.utils.estimator_checks import parametrize_with_checks

from expunge.features import TreeLeaves
from expunge.features.raw_weight import FEWEST, RARE, UNCHOSEN

RNG = np.random.default_rng(0)
ROWS = RNG.uniform(-1, 1, size=(1500, 4))
LABELS = (ROWS[:, 0] * ROWS[:, 1] > 0).astype(int)  # no linear model of the columns learns this
TARGETS = np.abs(ROWS[:, 0]) + ROWS[:, 1] ** 2


def features_of(leaves, rows):
    """Dense; they come as CSR."""
    features = leaves.transform(rows)
    assert sparse.issparse(features)
    assert features.dtype == np.float32
    return features.toarray()


@parametrize_with_checks(
    [TreeLeaves(trees=5), TreeLeaves(trees=4, task="regression"), TreeLeaves(trees=0, raw=1.0)]
)
def test_scikit_learns_own_checks_pass(estimator, check):
    check(estimator)


@pytest.mark.parametrize("ranges", [None, [(-1, 1)] * 4])
@pytest.mark.parametrize("raw", [0.3, 2.0])
def test_leaf_parts_have_one_norm_raw_parts_at_most_raw_times_that_and_rows_at_most_1(ranges, raw):
    leaves = TreeLeaves(trees=20, raw=raw, ranges=ranges, random_trees=7).fit(ROWS, LABELS)
    features = features_of(leaves, np.vstack([ROWS, 1000 * ROWS, np.full((1, 4), np.nan)]))
    trees = 20 + (7 if ranges else 0)
    width = int(leaves.leaf_counts_.sum())
    assert features.shape == (3001, width + 4)
    assert len(leaves.leaf_counts_) == trees
    part, share = features[:, :width].astype(float), 1 / np.sqrt(1 + raw**2)
    assert ((part != 0).sum(axis=1) == trees).all()
    np.testing.assert_allclose(part[part != 0], share / np.sqrt(trees), rtol=1e-6)
    assert (np.linalg.norm(features[:, width:].astype(float), axis=1) <= raw * share + 1e-6).all()
    assert np.linalg.norm(features.astype(float), axis=1).max() == pytest.approx(1, abs=1e-6)


def test_leaves_that_are_left_out_leave_the_columns_on_one_scale():
    columns = np.column_stack([5 + 3 * ROWS[:, 0], LABELS])
    alone = TreeLeaves(raw=np.inf, ranges={0: (0, 10)}).fit(columns, LABELS)
    features = features_of(alone, columns).astype(float)
    assert features.shape == (1500, 2)
    assert alone.get_feature_names_out().tolist() == ["x0", "x1"]
    number = (columns[:, 0] - columns[:, 0].mean()) / columns[:, 0].std()
    longest = np.hypot(number, LABELS).max()  # a column of 0 and 1 stays as it is
    np.testing.assert_allclose(features, np.column_stack([number, LABELS]) / longest, atol=1e-6)


def test_public_rows_say_how_much_raw_columns_count():
    noise = np.random.default_rng(3).logistic(size=1500)
    straight = (4 * ROWS[:, 0] + noise > 0).astype(int)
    corners = TreeLeaves(trees=30).fit(ROWS, LABELS)
    line = TreeLeaves(trees=30).fit(ROWS[:400], straight[:400])
    assert corners.raw_ <= 1
    assert line.raw_ >= 8
    few = TreeLeaves(trees=30).fit(ROWS[: FEWEST - 1], straight[: FEWEST - 1])
    assert few.raw_ == UNCHOSEN


@pytest.mark.parametrize(("rare", "chosen"), [(24, False), (28, True)])
def test_of_labels_that_nearly_all_rows_share_columns_count_most(rare, chosen):
    """Of 400 rows 24 are worth 4 x .06 x .94 x 400 = 90 rows of evenly split labels."""
    corner = np.argsort(-np.minimum(ROWS[:400, 0], ROWS[:400, 1]))[:rare]
    labels = np.isin(np.arange(400), corner).astype(int)
    leaves = TreeLeaves(trees=20).fit(ROWS[:400], labels)
    assert (leaves.raw_ != RARE) is chosen


def test_what_was_chosen_can_be_given():
    chosen = TreeLeaves(trees=10).fit(ROWS, LABELS)
    given = chosen.settled()
    assert given.get_params() == chosen.get_params() | {"raw": chosen.raw_}
    again = given.fit(ROWS, LABELS)
    np.testing.assert_array_equal(features_of(again, ROWS), features_of(chosen, ROWS))


def test_a_linear_model_of_the_leaves_learns_what_one_of_the_columns_cannot():
    leaves = TreeLeaves().fit(ROWS[:500], LABELS[:500])
    alone = LogisticRegression().fit(ROWS[500:1000], LABELS[500:1000])
    model = LogisticRegression(C=100).fit(features_of(leaves, ROWS[500:1000]), LABELS[500:1000])
    assert alone.score(ROWS[1000:], LABELS[1000:]) < 0.65
    assert model.score(features_of(leaves, ROWS[1000:]), LABELS[1000:]) > 0.9


def test_a_regression_is_learned_from_targets_within_their_declared_range():
    wild = TARGETS.copy()
    wild[:5] = 1e9
    leaves = TreeLeaves(target_range=(0, 2)).fit(ROWS[:500], wild[:500])
    calm = TreeLeaves(target_range=(0, 2)).fit(ROWS[:500], np.clip(wild[:500], 0, 2))
    np.testing.assert_array_equal(features_of(leaves, ROWS), features_of(calm, ROWS))
    model = Ridge(0.01).fit(features_of(leaves, ROWS[500:1000]), TARGETS[500:1000])
    assert model.score(features_of(leaves, ROWS[1000:]), TARGETS[1000:]) > 0.8


def test_several_classes_get_fewer_rounds_and_not_more_trees():
    three = np.digitize(TARGETS, [0.5, 1.0])
    leaves = TreeLeaves(trees=30).fit(ROWS, three)
    assert len(leaves.leaf_counts_) == 30
    leaves = TreeLeaves(trees=2).fit(ROWS, three)
    assert len(leaves.leaf_counts_) == 3  # a round is one tree for each class


@pytest.mark.parametrize(
    ("y", "same_as"),
    [
        (LABELS.astype(bool), "classification"),
        (np.array(["no", "yes"])[LABELS], "classification"),
        (LABELS, "classification"),
        (np.arange(1500), "regression"),
        (TARGETS, "regression"),
    ],
    ids=["bool", "text", "few numbers", "many numbers", "measurements"],
)
def test_the_task_is_told_from_the_labels(y, same_as):
    found = TreeLeaves(trees=3).fit(ROWS, y)
    asked = TreeLeaves(trees=3, task=same_as).fit(ROWS, y)
    np.testing.assert_array_equal(features_of(found, ROWS), features_of(asked, ROWS))


def test_random_trees_tell_rows_apart_where_no_public_row_lies():
    public = ROWS[ROWS[:, 0] < 0]
    beyond = np.column_stack([np.linspace(0.01, 0.99, 50), np.zeros((50, 3))])
    ranges = {0: (-1, 1)}
    plain = TreeLeaves(raw=0.0).fit(public, public[:, 0])
    declared = clone(plain).set_params(ranges=ranges).fit(public, public[:, 0])
    assert len(np.unique(features_of(plain, beyond), axis=0)) == 1
    assert len(np.unique(features_of(declared, beyond), axis=0)) > 25


def test_without_anything_to_tell_apart_no_tree_is_grown():
    leaves = TreeLeaves().fit(ROWS, np.zeros(1500, dtype=int))
    assert features_of(leaves, ROWS).shape == (1500, 4)
    few = TreeLeaves(trees=3).fit(ROWS[:10], LABELS[:10])  # fewer rows than two leaves need
    assert features_of(few, ROWS).shape[0] == 1500


def test_frames_give_names_and_missing_values_are_taken():
    frame = pd.DataFrame(ROWS, columns=list("abcd"))
    frame.iloc[::7, 2] = np.nan
    leaves = TreeLeaves(trees=2, leaves=3, ranges={"a": (-1, 1)}, random_trees=1).fit(frame, LABELS)
    names = leaves.get_feature_names_out()
    assert names[:3].tolist() == ["tree0_leaf0", "tree0_leaf1", "tree0_leaf2"]
    assert names[-4:].tolist() == list("abcd")
    assert features_of(leaves, frame).shape == (1500, len(names))
    with pytest.raises(ValueError, match="no column 'z'"):
        TreeLeaves(ranges={"z": (0, 1)}).fit(frame, LABELS)


def test_pickled_and_copied_trees_are_the_same_trees():
    leaves = TreeLeaves(trees=3, ranges=[(-1, 1)] * 4).fit(ROWS, LABELS)
    again = pickle.loads(pickle.dumps(leaves))
    np.testing.assert_array_equal(features_of(again, ROWS), features_of(leaves, ROWS))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("trees", -1), ("trees", 1.5), ("leaves", 1), ("raw", -0.1), ("raw", np.nan),
        ("raw", "private"),
        ("random_trees", -1), ("task", "guess"), ("learning_rate", 0), ("learning_rate", 2.0),
        ("min_leaf", 0), ("random_state", None), ("target_range", (1, 0)), ("ranges", [(0, 1)]),
    ],
)  # fmt: skip
def test_parameters_that_make_no_sense_are_named(name, value):
    with pytest.raises(ValueError, match=f"^{name}: "):
        TreeLeaves(**{name: value}).fit(ROWS, TARGETS)
