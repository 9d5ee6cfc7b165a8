"""Anchors: nothing of a row that left stays in their sums (THEORY 6)."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from expunge.losses.exact_sums import ExactSum
from expunge.unlearning.linear.anchor import SUMS, Anchor
from tests.unlearning.linear.deletions import random_deletions


def parts(anchor):
    sums = [getattr(anchor, name) for name in SUMS]
    return [part for each in sums if each is not None for part in (each.high, each.low)]


def same(one, other):
    counts = (one.rows, one.places) == (other.rows, other.places)
    return counts and all(map(torch.equal, parts(one), parts(other)))


@pytest.mark.parametrize("kind", ["logistic", "softmax", "squared"])
def test_any_history_leaves_the_bits_of_one_that_never_held_the_rows(kind):
    for seed in range(6):
        deletions = random_deletions(seed, kind, requests=40)
        start = deletions.anchor()
        *_, (anchor, present) = deletions.states()
        never = Anchor.at(
            start.point,
            deletions.terms,
            deletions.objective(present),
            int(present.nonzero().sum()),
            made=0,
        )
        assert same(anchor, never)


@pytest.mark.parametrize("kind", ["logistic", "softmax", "squared"])
def test_the_order_and_the_grouping_of_requests_leave_no_bit(kind):
    deletions = random_deletions(11, kind, requests=10)
    rows = torch.randperm(len(deletions.features), generator=torch.Generator().manual_seed(0))
    given = (deletions.terms, deletions.features, deletions.targets)
    start = deletions.anchor()
    at_once = start.moved(rows[:8].tolist(), *given)
    one_by_one = start
    for row in reversed(rows[:8].tolist()):
        one_by_one = one_by_one.moved([row], *given)
    assert same(at_once, one_by_one)
    there_and_back = at_once.moved(rows[2:5].tolist(), *given, joining=True)
    assert same(there_and_back.moved(rows[2:5].tolist(), *given), at_once)
    assert not same(at_once, start)


def test_a_single_bit_that_differs_between_joining_and_leaving_would_be_seen():
    """Planted: the row that leaves is not quite the one that came."""
    deletions = random_deletions(11, "logistic", requests=10)
    given = (deletions.terms, deletions.features, deletions.targets)
    start = deletions.anchor()
    honest = start.moved([1], *given)
    deletions.features[1] *= 1 - 1e-10
    assert not same(start.moved([1], *given), honest)


def test_many_rows_at_once_are_taken_in_parts():
    deletions = random_deletions(8, "squared")
    count = 1300
    features = torch.from_numpy(np.random.default_rng(0).uniform(-0.1, 0.1, (count, 2)))
    wide = replace(
        deletions,
        features=features[:, : deletions.features.shape[1]].contiguous(),
        targets=torch.zeros(count, dtype=torch.float64),
        present=torch.ones(count, dtype=torch.bool),
        center=None,
    )
    start, given = wide.anchor(), (wide.terms, wide.features, wide.targets)
    left = start.moved(range(1200), *given)
    present = torch.arange(count) >= 1200
    there = Anchor.at(start.point, wide.terms, wide.objective(present), sum(range(1200, count)), 0)
    assert same(left, there)


def test_an_anchor_comes_back_from_its_tensors():
    for seed, kind in enumerate(("logistic", "softmax", "squared")):
        anchor = replace(random_deletions(seed, kind).anchor(), made=1_800_000_000)
        again = Anchor.of(anchor.tensors())
        assert again is not None
        assert same(again, anchor)
        assert torch.equal(again.point, anchor.point)
        assert again.made == anchor.made
        assert isinstance(again.hessian, ExactSum)
    assert Anchor.of({"theta": anchor.point}) is None
