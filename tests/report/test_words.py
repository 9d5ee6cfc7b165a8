"""What values mean in words: nothing flattering, nothing that the values do not say."""

import math
from typing import get_args

import numpy as np
import pytest

from expunge import CertifiedClassifier
from expunge.accounting.assumptions import Assumptions, Mark
from expunge.accounting.reservations import Reservation
from expunge.report.words import (
    KNOWN,
    LIMITS,
    MEANINGS,
    SCOPE,
    chance_of,
    constants_of,
    limits_of,
    longest_weights,
    moment,
    noise_in_words,
    reading_of,
    scope_of,
)


def scored(confusion, **more):
    matrix = np.array(confusion)
    accuracy = float(np.trace(matrix) / matrix.sum())
    return {"records": int(matrix.sum()), "confusion": confusion, "accuracy": accuracy} | more


def test_every_reservation_constant_and_mark_has_words():
    assert set(LIMITS) == set(get_args(Reservation))
    assert set(KNOWN) == set(get_args(Mark))
    assert set(MEANINGS) == set(Assumptions.constants())


def test_constants_that_assume_nothing_are_left_out():
    known = {
        "lipschitz": {"value": 2.8301798, "mark": "enforced"},
        "smoothness": {"value": 0.0, "mark": "enforced"},
        "radius": {"value": None, "mark": "assumed"},
    }
    (constant,) = constants_of(known)
    assert constant.meaning == "one record pulls on the model with at most"
    assert constant.value == "2.83"
    assert constant.known == "made true by the program"


def test_limits_come_in_the_certificate_s_order_and_an_unknown_one_as_it_is():
    said = limits_of({"reservations": ["earlier releases not covered", "something new"]})
    assert said[0].startswith("Earlier models that were handed out")
    assert said[1] == "something new"


def test_lines_of_a_certificate_that_only_experts_read_are_told_in_words():
    clf = CertifiedClassifier().fit([[0.0], [1.0], [0.2], [0.9]] * 20, [0, 1, 0, 1] * 20)
    scope = clf.forget([3]).scope
    told = scope_of({"scope": scope})
    for start, words in SCOPE.items():
        (place,) = [place for place, line in enumerate(scope) if line.startswith(start)]
        assert told[place] == words
    others = [line for line in scope if not line.startswith(tuple(SCOPE))]
    assert [line for line in told if line not in SCOPE.values()] == others
    assert len(others) >= 2


@pytest.mark.parametrize("classes", [2, 10])
@pytest.mark.parametrize("l2", [1e-3, 0.1])
def test_no_trained_model_has_longer_weights(classes, l2):
    """Against scikit-learn's minimiser, on rows that are as easy as rows can be."""
    from sklearn.linear_model import LogisticRegression

    labels = np.arange(40) % classes
    rows = 100 * np.eye(classes)[labels]
    weights = LogisticRegression(C=1 / (l2 * 40), fit_intercept=False).fit(rows, labels).coef_
    longest = longest_weights(l2, math.log(classes))
    assert 0 < np.linalg.norm(weights) < longest


@pytest.mark.parametrize(
    ("noise", "longest", "words"),
    [
        (None, 60, "not known"),
        (0.0, 60, "none"),
        (0.5, 60, "hardly shows"),
        (1.0, 60, "shows in the model"),
        (7.0, 60, "heavy: the model is much worse"),
        (60.0, 60, "drowns the model: useless"),
        (0.01234, None, "0.012"),
    ],
)
def test_noise_is_said_beside_the_longest_weights(noise, longest, words):
    assert noise_in_words(noise, longest) == words


def test_an_accuracy_is_read_beside_the_commonest_label():
    good = scored([[80, 20], [10, 90]])
    assert reading_of(good) == ("always saying the commonest label is right 50.0 % of the time")


def test_an_accuracy_that_chance_explains_is_called_guessing():
    assert reading_of(scored([[26, 24], [24, 26]])).startswith("hardly better than guessing")


def test_an_accuracy_below_the_commonest_label_is_called_useless():
    useless = scored([[90, 0], [10, 0]])
    assert reading_of(useless).startswith("USELESS: always saying")
    assert "90.0 %" in reading_of(useless)


def test_noise_is_blamed_only_where_the_model_before_was_better():
    useless, good = scored([[50, 0], [50, 0]]), scored([[45, 5], [5, 45]])
    assert reading_of(useless, good).startswith("USELESS: the noise drowns the model")
    assert "noise" not in reading_of(useless, useless)
    assert "noise" not in reading_of(good, good)


def test_a_regression_and_no_rows_have_no_reading():
    assert reading_of({"records": 3, "root_mean_square_error": 1.0}) is None
    assert reading_of({"records": 0, "accuracy": 0.0, "confusion": [[0]]}) is None


def test_times_and_chances_are_written_for_people():
    assert moment("2026-12-31T23:59:59+00:00") == "31 December 2026, 23:59 UTC"
    assert moment("long ago") == "long ago"
    assert chance_of(1e-6) == "1 in 1,000,000"
