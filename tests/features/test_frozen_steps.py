"""Frozen steps give every row the same features, whatever table it came in."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from expunge.errors import RecordsWarning
from expunge.features import row_blocks
from expunge.features.frozen_steps import FrozenSteps, StepRecord
from expunge.features.row_blocks import BLOCK
from tests.features.steps import Counting, Dropping, FillingIn, Keeping

ROWS = np.random.default_rng(0).normal(size=(30, 3))
SCALER = StandardScaler().fit(ROWS[:10])
TEXTS = ["a b c", "d e", "f"]


def steps(*transformers, origin="public"):
    records = (StepRecord(f"step{i}", each, origin) for i, each in enumerate(transformers))
    return FrozenSteps(tuple(records), public=10)


def test_rows_go_through_all_steps_in_order():
    encoder = OneHotEncoder(handle_unknown="ignore").fit(SCALER.transform(ROWS[:10]) > 0)
    frozen = steps(SCALER)
    np.testing.assert_array_equal(frozen.transform(ROWS), SCALER.transform(ROWS))
    positive = FrozenSteps((StepRecord("encode", encoder, "public"),), 10)
    assert positive.transform(ROWS > 0).shape == (30, 6)


def test_many_rows_give_what_their_blocks_give():
    rows = np.random.default_rng(1).normal(size=(BLOCK + 5, 3))
    together = steps(SCALER).transform(rows)
    np.testing.assert_array_equal(together, SCALER.transform(rows))


def test_single_precision_stays_and_whole_numbers_become_floats():
    assert steps(SCALER).transform(ROWS.astype(np.float32)).dtype == np.float32
    assert steps(Keeping()).transform(ROWS > 0).dtype == np.float64


def test_texts_that_nobody_encoded_are_refused():
    with pytest.raises(ValueError, match="gives no numbers"):
        steps(Keeping()).transform(np.array([["a"], ["b"]]))


def test_sparse_features_stay_sparse_and_are_the_same_numbers():
    hashed = steps(HashingVectorizer(n_features=16), origin="stateless")
    texts = TEXTS * (BLOCK // len(TEXTS) + 1)  # more than one block
    made = hashed.transform(texts)
    assert made.format == "csr"
    expected = HashingVectorizer(n_features=16).transform(texts)
    np.testing.assert_array_equal(made.toarray(), expected.toarray())
    apart = hashed.transform_apart(texts)
    np.testing.assert_array_equal(apart.toarray(), expected.toarray())


class Switching(Keeping):
    """Gives rows of ones as a sparse matrix, and others as an array."""

    def transform(self, X):  # noqa: N803
        return sparse.csr_matrix(X) if X[0, 0] > 0 else X


def test_a_table_has_the_kind_of_its_first_block():
    rows = np.ones((2 * BLOCK, 2))
    for first in (0.0, 1.0):
        rows[:BLOCK], rows[BLOCK:] = first, 1 - first
        made = steps(Switching()).transform(rows)
        assert sparse.issparse(made) == bool(first)
        np.testing.assert_array_equal(made.toarray() if first else made, rows)


def test_a_step_that_drops_rows_of_a_later_table_is_named():
    with pytest.raises(ValueError, match="'step0': gives another number of rows"):
        steps(Dropping()).transform(ROWS)


def test_rows_that_are_mixed_or_remembered_are_refused_where_it_is_tried():
    holed = ROWS.copy()
    holed[20, 1] = np.nan
    steps(FillingIn()).transform_apart(ROWS)
    with pytest.raises(ValueError, match="depend, if only in their last bits"):
        steps(FillingIn()).transform_apart(holed)
    many = np.tile(ROWS, (100 * BLOCK // 30, 1))
    with pytest.raises(ValueError, match=r"the second time|last bits"):
        steps(Counting()).transform_apart(many)


def test_a_step_that_keeps_what_it_is_given_keeps_no_private_row():
    kept = Keeping()
    frozen = steps(kept)
    np.testing.assert_array_equal(frozen.transform_apart(ROWS), ROWS)
    assert not hasattr(kept, "last_")
    np.testing.assert_array_equal(frozen.transform(ROWS), ROWS)
    assert not hasattr(kept, "last_")
    frozen.block(ROWS)
    assert hasattr(kept, "last_")  # the planted step does keep them


def one_hot(values="ab", sparse_output=True):
    encoder = OneHotEncoder(sparse_output=sparse_output)  # which raises on other values
    return steps(encoder.fit([[value] for value in values]))


def dense_of(made):
    return made.toarray() if sparse.issparse(made) else made


@pytest.mark.parametrize("sparse_output", [True, False])
@pytest.mark.parametrize("place", [0, 5, BLOCK, BLOCK + 6])
def test_a_private_row_that_a_step_fails_on_is_blank_and_moves_no_bit_of_others(
    place, sparse_output
):
    rows = np.array([["a"], ["b"]] * (BLOCK // 2 + 4), dtype=object)
    frozen = one_hot(sparse_output=sparse_output)
    expected = dense_of(frozen.transform(rows))
    rows[place] = "z"
    with pytest.raises(ValueError, match="unknown categories"):
        frozen.transform(rows)  # the planted row does fail
    with pytest.warns(RecordsWarning, match=f"1 of {len(rows):,} private rows"):
        found = frozen.transform_apart(rows)
    assert sparse.issparse(found) == sparse_output
    expected[place] = 0
    np.testing.assert_array_equal(dense_of(found), expected)


@pytest.mark.parametrize("probe", [None, np.array([["a"], ["b"]], dtype=object)])
def test_a_block_of_which_every_row_fails_is_blank(probe, monkeypatch):
    monkeypatch.setattr(row_blocks, "BLOCK", 40)
    rows = np.array([["z"]] * 40 + [["a"]], dtype=object)
    with pytest.warns(RecordsWarning, match="40 of 41 private rows"):
        found = dense_of(one_hot().transform_apart(rows, probe))
    assert found.shape == (41, 2)
    assert np.flatnonzero(found.any(axis=1)).tolist() == [40]


def test_what_is_made_of_a_row_and_is_not_finite_is_blank():
    holed = ROWS.copy()
    holed[3, 1], holed[4, 0] = np.nan, np.inf
    expected = ROWS.copy()
    expected[[3, 4]] = 0
    with pytest.warns(RecordsWarning, match="2 of 30 private rows"):
        np.testing.assert_array_equal(steps(Keeping()).transform_apart(holed), expected)


def test_where_every_row_fails_nothing_is_learned_and_of_new_ones_all_are_blank():
    rows = np.array([["z"], ["y"]], dtype=object)
    with pytest.raises(ValueError, match="unknown categories"):
        one_hot().transform_apart(rows)
    with pytest.warns(RecordsWarning, match="2 of 2 private rows"):
        found = one_hot().transform_apart(rows, width=2)
    np.testing.assert_array_equal(dense_of(found), np.zeros((2, 2)))


def test_the_warning_holds_nothing_of_a_row():
    rows = np.array([["a"], ["a secret"]], dtype=object)
    with pytest.warns(RecordsWarning) as told:
        one_hot().transform_apart(rows)
    assert not any("secret" in str(warning.message) for warning in told)


def test_the_certificate_reads_where_each_step_came_from():
    records = (
        StepRecord("scale", SCALER, "public"),
        StepRecord("hash", HashingVectorizer(), "stateless"),
        StepRecord("mine", Keeping(), "declared", ("ranges",)),
    )
    lines = FrozenSteps(records, public=1234).lines
    assert lines[0] == (
        "preprocessing step 'scale' (StandardScaler): fitted on 1,234 public records alone, "
        "enforced"
    )
    assert lines[1].endswith("'hash' (HashingVectorizer): fitted on no record, enforced")
    assert lines[2].endswith("declared by the caller, not checked (ranges declared by the caller)")
    assert "choice of all parameters" in lines[3]


def test_an_origin_that_nobody_knows_is_refused():
    with pytest.raises(ValueError, match="'proven' is no origin"):
        StepRecord("scale", SCALER, "proven")


def test_feature_names_go_through_the_steps_that_have_them():
    frame = pd.DataFrame(ROWS, columns=["a", "b", "c"])
    frozen = replace(steps(StandardScaler().fit(frame)), columns=("a", "b", "c"))
    assert frozen.feature_names().tolist() == ["a", "b", "c"]
    with pytest.raises(AttributeError, match="names no features"):
        steps(Keeping()).feature_names()


def test_the_fitted_transformers_are_shown_as_copies():
    frozen = steps(SCALER)
    ((name, shown),) = frozen.fitted()
    shown.mean_[:] = 99
    assert name == "step0"
    np.testing.assert_array_equal(frozen.transform(ROWS), SCALER.transform(ROWS))
