"""Rows of tables: drawn apart, and encoded within bounds."""

import numpy as np

from experiments.datasets.packaged import TABLES, load_table
from experiments.table_splits import Sizes, encoder, split

SIZES = Sizes(train=300, test=100, public_share=0.4)


def test_public_private_and_test_rows_are_different_rows_of_one_draw():
    frame, _ = load_table("breast_cancer")
    for kind in ("random", "shifted"):
        public, private, test = split(SIZES, frame, kind, "mean radius", 0)
        assert (len(public), len(private), len(test)) == (120, 180, 100)
        assert len(set(public) | set(private) | set(test)) == 400
    again = split(SIZES, frame, "random", "mean radius", 0)
    other = split(SIZES, frame, "random", "mean radius", 1)
    np.testing.assert_array_equal(again[2], test)  # kinds share their test rows
    assert not np.array_equal(other[2], test)


def test_shifted_public_rows_lie_below_the_median_of_their_column():
    frame, _ = load_table("breast_cancer")
    public, private, _ = split(SIZES, frame, "shifted", "mean radius", 0)
    values = frame["mean radius"].to_numpy()
    assert values[public].max() <= np.median(values[np.concatenate([public, private])])


def test_an_encoder_keeps_one_category_column_within_twenty():
    frame, _ = load_table("diabetes")
    encoded = encoder(TABLES["diabetes"]).fit_transform(frame)
    assert encoded.shape == (442, 11)
    assert np.isfinite(encoded).all()
