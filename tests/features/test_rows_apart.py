"""A row's features must be a function of that row: what breaks this is seen, and nothing else."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import TfidfVectorizer

from expunge.features.rows_apart import check_neighbours, check_one_by_one, check_unmoved
from tests.features.steps import Centring, Dropping, FillingIn

ROWS = np.random.default_rng(0).normal(size=(40, 6))


def draws():
    return np.random.default_rng(1)


def test_a_product_that_rounds_differently_for_one_row_is_let_pass():
    check_one_by_one("pca", PCA(3).fit(ROWS).transform, ROWS)


def test_sparse_rows_and_texts_are_compared_too():
    texts = ["one two", "two three", "three one"]
    check_one_by_one("tfidf", TfidfVectorizer().fit(texts).transform, texts)
    check_one_by_one("words", lambda rows: np.array([[row] for row in rows], dtype=object), texts)
    with pytest.raises(ValueError, match="words: mixes rows"):
        check_one_by_one("words", lambda rows: np.array([[rows[0]]] * len(rows)), texts)
    with pytest.raises(ValueError, match="tfidf: mixes rows"):
        check_one_by_one("tfidf", lambda rows: sparse.csr_array(ROWS[: len(rows)]), ROWS)


def test_neighbours_and_memory_are_tried_of_sparse_rows_too():
    rows = sparse.csr_array(np.where(np.abs(ROWS) < 0.7, 0, ROWS))
    check_neighbours(rows, rows, lambda part: part.copy(), draws())

    def shifted(part):
        made = part.tolil()
        made[0, 0] = part.sum()
        return made.tocsr()

    with pytest.raises(ValueError, match="depend, if only in their last bits"):
        check_neighbours(rows, shifted(rows), shifted, draws())
    check_unmoved(rows, rows.copy())
    nudged = rows.copy()
    nudged.data[3] = np.nextafter(nudged.data[3], 9)
    for other in (nudged, rows.toarray(), rows[:, :5]):
        with pytest.raises(ValueError, match="the second time"):
            check_unmoved(rows, other)


def test_a_batchs_mean_is_seen_and_the_step_named():
    with pytest.raises(ValueError, match="steps: 'centre': mixes rows"):
        check_one_by_one("steps: 'centre'", Centring().transform, ROWS)


def test_rows_that_are_dropped_are_seen():
    with pytest.raises(ValueError, match="must keep every row"):
        check_one_by_one("drop", Dropping().transform, ROWS)


def test_what_mixes_only_where_there_is_a_gap_is_seen_in_the_block_that_has_one():
    check_neighbours(ROWS, FillingIn().transform(ROWS), FillingIn().transform, draws())
    holed = ROWS.copy()
    holed[17, 2] = np.nan
    check_neighbours(holed, holed, lambda rows: rows, draws())
    with pytest.raises(ValueError, match="depend, if only in their last bits"):
        check_neighbours(holed, FillingIn().transform(holed), FillingIn().transform, draws())


@pytest.mark.parametrize("row", range(0, 40, 7))
def test_one_bit_of_one_row_is_enough(row):
    def nudged(rows):
        features = np.array(rows)
        changed = not np.array_equal(rows, ROWS)
        place = np.flatnonzero((features == ROWS[row]).all(axis=1))[:1] if changed else []
        features[place, 0] = np.nextafter(features[place, 0], 9)
        return features

    with pytest.raises(ValueError, match="last bits"):
        check_neighbours(ROWS, ROWS.copy(), nudged, draws())


def test_other_features_the_second_time_are_seen():
    check_unmoved(ROWS, ROWS.copy())
    with pytest.raises(ValueError, match="remembers what went through it"):
        check_unmoved(ROWS, np.nextafter(ROWS, 9))
