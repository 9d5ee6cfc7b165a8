"""Folds of public records: the same in every run, with every class in each of them."""

import numpy as np
import pytest
import torch

from expunge.losses import Logistic, Squared
from expunge.losses.objective import Objective
from expunge.losses.solver import solve
from expunge.unlearning.linear.public_folds import deal_folds, learn, narrow, parts_of, take_evenly
from tests.unlearning.records import labelled


@pytest.mark.parametrize(("rows", "most"), [(1, 5), (5, 5), (7, 5), (1000, 5)])
def test_places_are_spread_over_all_records_and_no_more_than_asked_for(rows, most):
    places = take_evenly(rows, most)
    assert len(places) == min(rows, most)
    assert (places[0], places[-1]) == (0, rows - 1 if len(places) > 1 else 0)
    assert (np.diff(places) >= 1).all()


def test_every_fold_has_its_share_of_every_class():
    labels = np.repeat([0, 1, 2], [50, 20, 10])
    fold = deal_folds(labels, 5, classes=True)
    for label, count in ((0, 10), (1, 4), (2, 2)):
        assert np.bincount(fold[labels == label], minlength=5).tolist() == [count] * 5
    np.testing.assert_array_equal(fold, deal_folds(labels, 5, classes=True))


def test_numbers_are_dealt_without_regard_to_their_size():
    values = np.arange(1000.0)
    fold = deal_folds(values, 5, classes=False)
    assert np.bincount(fold).tolist() == [200] * 5
    means = [values[fold == one].mean() for one in range(5)]
    assert np.ptp(means) > 1  # not in order, which would make them equal to 2


def test_parts_cover_every_record_once():
    fold = np.array([0, 1, 2, 0, 1])
    held = [held.tolist() for _, held in parts_of(fold)]
    assert held == [[0, 3], [1, 4], [2]]
    for learned, away in parts_of(fold):
        assert sorted([*learned, *away]) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("l2", [1e-6, 1e-3, 1.0])
@pytest.mark.parametrize("kind", [Logistic, Squared])
def test_weights_are_within_a_ten_thousandth_of_the_least_objective(kind, l2):
    X, y = labelled(200)
    loss, rows = kind(l2), torch.from_numpy(X)
    targets = torch.from_numpy(y if kind is Logistic else y.astype(float))
    objective = Objective(loss, rows, targets)
    best = solve(objective, torch.zeros(*objective.shape, dtype=torch.float64), tolerance=1e-11)
    near = learn(loss, rows, targets)
    excess = objective.value_and_gradient(near)[0] - objective.value_and_gradient(best)[0]
    assert -1e-12 < excess <= 1e-4 * loss.largest_at_zero * (1 + 1e-6)


def test_more_columns_than_rows_are_narrowed_and_every_score_of_others_stays():
    """Learned from some rows and tried on the others: the ridge sees inner products alone."""
    generator = torch.Generator().manual_seed(0)
    wide = torch.randn(30, 80, generator=generator, dtype=torch.float64) / 20
    targets = (wide[:, 0] > 0).long()
    short = narrow(wide)
    assert short.shape == (30, 30)
    torch.testing.assert_close(short @ short.T, wide @ wide.T)
    scores = []
    for rows in (wide, short):
        objective = Objective(Logistic(1e-2, 1.0), rows[:20], targets[:20])
        zero = torch.zeros(*objective.shape, dtype=torch.float64)
        scores.append(rows[20:] @ solve(objective, zero, tolerance=1e-10).T)
    torch.testing.assert_close(*scores, atol=1e-7, rtol=0)
    assert torch.equal(narrow(wide.T), wide.T)
