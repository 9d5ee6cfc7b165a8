"""What estimators take as rows, and in what form it comes back."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from expunge.unlearning.linear.checked_rows import alike, checked_records, checked_rows, plain
from expunge.unlearning.linear.estimator import CertifiedClassifier

ROWS = np.eye(4)[:, :3] * 0.5
LABELS = np.array([0, 1, 0, 1])


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil", "dok"])
def test_sparse_rows_come_back_as_csr_of_floats(form):
    given = sparse.csr_array(ROWS).asformat(form)
    rows, labels = checked_records(CertifiedClassifier(), given, LABELS)
    assert rows.format == "csr"
    np.testing.assert_array_equal(rows.toarray(), ROWS)
    np.testing.assert_array_equal(labels, LABELS)
    whole, _ = checked_records(CertifiedClassifier(), sparse.csr_array(ROWS > 0), LABELS)
    assert whole.dtype == np.float64


def test_dense_rows_come_back_as_arrays_and_single_precision_stays():
    rows, _ = checked_records(CertifiedClassifier(), pd.DataFrame(ROWS), LABELS)
    assert isinstance(rows, np.ndarray)
    small, _ = checked_records(CertifiedClassifier(), ROWS.astype(np.float32), LABELS)
    assert small.dtype == np.float32
    fitted = CertifiedClassifier().fit(ROWS, LABELS)
    assert checked_rows(fitted, small).dtype == np.float32
    assert checked_rows(fitted, small, np.float64).dtype == np.float64


def test_what_is_wrong_with_sparse_rows_is_one_line():
    wrong = sparse.csr_array(ROWS)
    wrong.data[0] = np.nan
    with pytest.raises(ValueError, match="Input X contains NaN") as refused:
        checked_records(CertifiedClassifier(), wrong, LABELS)
    assert "\n" not in str(refused.value)
    with pytest.raises(ValueError, match="NaN") as refused:
        checked_records(CertifiedClassifier(), wrong.toarray(), LABELS)
    assert "\n" in str(refused.value)  # scikit-learn's own words


def test_rows_take_the_form_of_others():
    kept = sparse.csr_matrix(ROWS)
    assert plain(kept) is kept
    assert isinstance(plain(pd.DataFrame(ROWS)), np.ndarray)
    for given in (ROWS, kept):
        assert alike(given, True).format == "csr"
        np.testing.assert_array_equal(alike(given, True).toarray(), ROWS)
        np.testing.assert_array_equal(alike(given, False), ROWS)
