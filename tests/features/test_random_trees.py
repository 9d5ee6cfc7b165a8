"""Random trees cut the whole declared box, and no record has a say."""

import numpy as np

from expunge.features.random_trees import RandomTrees

LOW, HIGH = np.array([0.0, np.nan, -5.0]), np.array([1.0, np.nan, 5.0])


def drawn(trees=20, leaves=8, seed=0):
    return RandomTrees.draw(LOW, HIGH, trees, leaves, seed)


def rows(count=4000):
    rng = np.random.default_rng(1)
    return np.column_stack(
        [rng.uniform(0, 1, count), rng.normal(size=count), rng.uniform(-5, 5, count)]
    )


def test_every_row_ends_in_one_leaf_of_each_tree_and_every_leaf_can_be_reached():
    trees = drawn()
    leaves = trees.leaves(rows())
    assert leaves.shape == (4000, 20)
    # A cell of less than a thousandth of the box may see none of 4,000 rows.
    reached = [len(np.unique(column)) for column in leaves.T]
    assert (leaves.min(), leaves.max()) == (0, 7)
    assert np.mean(reached) > 7


def test_leaves_are_what_walking_down_the_tree_gives():
    trees, few = drawn(leaves=5), rows(50)
    leaves = trees.leaves(few)
    for tree in range(20):
        for number, row in enumerate(few):
            at = 0
            while at >= 0:
                side = int(not row[trees.columns[tree, at]] <= trees.places[tree, at])
                at = int(trees.sides[tree, at, side])
            assert leaves[number, tree] == -1 - at


def test_only_declared_columns_are_cut_and_only_within_their_range():
    trees = drawn(trees=50)
    assert set(np.unique(trees.columns)) == {0, 2}
    for column in (0, 2):
        places = trees.places[trees.columns == column]
        assert (places > LOW[column]).all()
        assert (places < HIGH[column]).all()
    np.testing.assert_array_equal(
        trees.leaves(rows()), trees.leaves(rows() + np.array([0.0, 99.0, 0.0]))
    )


def test_cuts_are_spread_over_the_whole_range():
    """The first cut of a tree is uniform: a mean of 400 lies within 6 standard errors."""
    first = drawn(trees=800)
    places = first.places[:, 0][first.columns[:, 0] == 0]
    assert abs(places.mean() - 0.5) < 6 * np.sqrt(1 / 12 / len(places))


def test_the_same_seed_draws_the_same_trees_and_another_other_ones():
    np.testing.assert_array_equal(drawn().places, drawn().places)
    assert not np.array_equal(drawn().places, drawn(seed=1).places)


def test_missing_values_end_in_a_leaf_too():
    missing = np.full((3, 3), np.nan)
    assert ((drawn().leaves(missing) >= 0) & (drawn().leaves(missing) < 8)).all()
