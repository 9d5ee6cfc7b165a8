"""Reviews as sparse words: what a run compares, on reviews that are made."""

from dataclasses import replace

import numpy as np
import pytest

from experiments.text_reviews.report import report
from experiments.text_reviews.run import load_texts, run, vectoriser
from experiments.text_reviews.settings import SCALES

SMOKE = replace(SCALES["smoke"], features=("hashed",), width=2**8)


@pytest.fixture(scope="module")
def result():
    return run(SMOKE)


def test_a_run_scores_every_arm_and_times_every_request(result, tmp_path):
    (row,) = result["rows"]
    assert (row["width"], row["public"], row["private"]) == (256, 300, 400)
    assert min(row["accuracy"].values()) > 0.55  # three labels in four are told by the words
    ours, theirs = "certified, before deletions", "scikit-learn, same ridge"
    assert abs(row["accuracy"][ours] - row["accuracy"][theirs]) < 0.05
    assert [each["records"] for each in row["deletions"]] == [1, 10]
    text = report(result, tmp_path)
    assert (tmp_path / "tables.md").read_text() == text + "\n"
    assert "| hashed, 256 features |" in text
    assert "request 2: 10" in text


def test_made_reviews_are_the_same_in_every_run_and_differ_by_part():
    first, again = load_texts(SMOKE), load_texts(SMOKE)
    assert [texts for texts, _ in first] == [texts for texts, _ in again]
    assert [len(texts) for texts, _ in first] == [300, 400, 200]
    assert first[0][0][:10] != first[1][0][:10]


def test_a_vocabulary_is_that_of_the_texts_it_was_fitted_on():
    counted = vectoriser("tfidf", 100).fit(["good film", "good plot", "good film"])
    assert sorted(counted.vocabulary_) == ["film", "good", "good film"]  # twice at least
    rows = vectoriser("hashed", 64).transform(["good film"])
    assert rows.dtype == np.float32
    assert rows.nnz == 3
