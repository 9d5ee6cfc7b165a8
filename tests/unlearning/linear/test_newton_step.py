"""The proven distance of a Newton step: never below the truth at 50 digits (THEORY 6)."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from expunge.losses import Logistic, Softmax, Squared
from expunge.losses.row_terms import RowTerms
from expunge.unlearning.linear import newton_step as newton_step_module
from expunge.unlearning.linear.anchor import Anchor
from expunge.unlearning.linear.newton_step import newton_step, score_change
from tests.unlearning.linear.compare_distances import compare
from tests.unlearning.linear.deletions import Deletions, distance, optimum, random_deletions


def violations(many, **options):
    pairs = [pair for each in many for pair in compare(each, **options)]
    return sum(bound < truth for bound, truth in pairs), len(pairs)


@pytest.mark.parametrize("kind", ["logistic", "softmax", "squared"])
def test_the_bound_is_never_below_the_distance(kind):
    problems = [random_deletions(seed, kind, requests=20) for seed in range(8)]
    below, pairs = violations(problems, checkpoints=2)
    assert below == 0
    assert pairs >= 16


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_the_bound_is_never_below_the_distance_on_a_hundred_problems(part):
    problems = [random_deletions(1000 + 25 * part + i) for i in range(25)]
    below, pairs = violations(problems)
    assert below == 0
    assert pairs >= 100


def one_direction(loss, rows=30, gone=12):
    """Equal rows at the largest norm: the curvature changes as fast as it can."""
    features = torch.full((rows, 1), loss.row_norm, dtype=torch.float64)
    targets = (torch.arange(rows) >= rows // 2).long()
    requests = [[(row, False)] for row in range(gone)]
    return Deletions(loss, features, targets, torch.ones(rows, dtype=torch.bool), requests)


TIGHT = [
    one_direction(loss, gone=gone)
    for loss in (Logistic(1e-3), Logistic(0.1), Softmax(2, 1e-3))
    for gone in (2, 6, 12)
]


def test_where_curvature_changes_as_fast_as_it_can_the_bound_holds_and_is_close():
    pairs = [pair for each in TIGHT for pair in compare(each, checkpoints=2)]
    assert all(bound >= truth for bound, truth in pairs)
    assert min(bound / truth for bound, truth in pairs if truth > 0) < 3


def test_a_curvature_that_changes_twice_as_fast_as_stated_is_noticed(monkeypatch):
    """Planted: Q halved, and with it the change of scores."""
    true_steepness, true_change = newton_step_module.steepness, newton_step_module.score_change
    monkeypatch.setattr(newton_step_module, "steepness", lambda loss: true_steepness(loss) / 2)
    monkeypatch.setattr(
        newton_step_module, "score_change", lambda *a, **k: true_change(*a, **k) / 2
    )
    assert violations(TIGHT, checkpoints=2)[0] > 0


@pytest.mark.parametrize("kind", ["logistic", "softmax", "squared"])
def test_a_stale_count_is_noticed(kind):
    """Planted: the rows that left still divide the sums."""
    problems = [random_deletions(seed, kind, requests=20) for seed in range(4)]

    def stale(anchor, place):
        return replace(anchor, rows=anchor.rows + 1 + place)

    assert violations(problems, checkpoints=2, spoil=stale)[0] > 0


class _Moved(Deletions):
    """Planted: rows that leave take their terms at the new point, not at the anchor."""

    def states(self):
        for anchor, present in super().states():
            theta = self.step(anchor).theta
            gone = (self.present & ~present).nonzero()[:, 0].tolist()
            start = self.anchor()
            there = replace(start, point=theta)
            sums = there.moved(gone, self.terms, self.features, self.targets)
            yield replace(sums, point=start.point), present


@pytest.mark.parametrize("kind", ["logistic", "softmax", "squared"])
def test_terms_taken_at_the_new_point_are_noticed(kind):
    problems = [_Moved(**vars(random_deletions(seed, kind, requests=8))) for seed in range(4)]
    assert violations(problems, checkpoints=1)[0] > 0


def ill_conditioned(loss, seed=0):
    """A condition of 10^5: rounding of the sums is all that is left of the distance."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((40, 6)) * np.logspace(0, -4, 6)
    rows /= np.linalg.norm(rows, axis=1)[:, None] * 1.0001
    targets = (rng.random(40) < 0.5).astype(np.int64)
    present = torch.ones(40, dtype=torch.bool)
    features = torch.from_numpy(rows)
    return Deletions(loss, features, torch.from_numpy(targets), present, [[(0, False)]])


ROUNDED = [ill_conditioned(Squared(1e-5), seed) for seed in range(4)]


def test_rounding_is_counted_where_it_is_all_there_is():
    assert violations(ROUNDED, checkpoints=1) == (0, 4)


@pytest.mark.parametrize("term", ["root_error", "gradient_error"])
def test_a_rounding_term_that_is_dropped_is_noticed(monkeypatch, term):
    problems = ROUNDED
    if term == "gradient_error":  # the sums of roots exact, so that nothing else hides it
        problems = [replace(each, features=_on_the_grid(each)) for each in ROUNDED]
        monkeypatch.setattr(RowTerms, "root_error", 0.0)
        assert violations(problems, checkpoints=1)[0] == 0
    monkeypatch.setattr(RowTerms, term, 0.0)
    assert violations(problems, checkpoints=1)[0] > 0


def _on_the_grid(deletions):
    unit = deletions.terms.root_unit
    return (deletions.features / unit).trunc() * unit


def test_an_anchor_far_from_the_minimiser_says_so():
    """Whatever the anchor is: the bound is of this point and these rows."""
    for seed in range(3):
        deletions = random_deletions(seed, "logistic", requests=3)
        anchor = deletions.anchor()
        far = anchor.point + 0.3 / deletions.loss.row_norm
        moved = Anchor.at(far, deletions.terms, deletions.objective(deletions.present), 0, 0)
        step = deletions.step(moved)
        truth = distance(step.theta, optimum(deletions, deletions.present, step.theta))
        assert step.distance >= truth


def test_scores_of_rows_with_an_intercept_move_by_no_more_than_stated():
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((2000, 4))
    rows /= np.linalg.norm(rows, axis=1)[:, None] * math.sqrt(2)
    rows[:, -1] = 1 / math.sqrt(2)
    rows[:, :-1] /= np.linalg.norm(rows[:, :-1], axis=1)[:, None] * math.sqrt(2)
    for loss in (Logistic(0.1), Softmax(3, 0.1)):
        step = rng.standard_normal((loss.outputs, 4))
        moved = rows @ step.T
        spread = np.abs(moved) if loss.outputs == 1 else moved.max(1) - moved.min(1)
        with_intercept = score_change(loss, torch.from_numpy(step), intercept=True)
        assert 0.8 * with_intercept <= spread.max() <= with_intercept
        plain = score_change(loss, torch.from_numpy(step), intercept=False)
        assert with_intercept <= plain * (1 + 1e-9) or loss.outputs == 1


def test_a_curvature_that_cannot_be_factored_bounds_nothing():
    deletions = random_deletions(3, "logistic")
    anchor = deletions.anchor()
    broken = replace(anchor, hessian=replace(anchor.hessian, high=-anchor.hessian.high - 2**40))
    assert newton_step(broken, deletions.terms).distance == math.inf
