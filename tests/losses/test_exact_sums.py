"""Exact sums: against Python's whole numbers, in any order, and nothing stays behind."""

import random

import torch
from scipy import sparse

from expunge.losses import exact_sums
from expunge.losses.exact_sums import ExactSum, NonZeros, Running

LARGE = 2**53


def wholes(count, seed=0, shape=(2, 3)):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randint(-LARGE, LARGE, shape, generator=generator) for _ in range(count)]


def exact(total):
    parts = zip(total.high.flatten().tolist(), total.low.flatten().tolist(), strict=True)
    return [high * 2**32 + low for high, low in parts]


def same(one, other):
    return torch.equal(one.high, other.high) and torch.equal(one.low, other.low)


def test_a_sum_is_that_of_whole_numbers():
    terms = wholes(50)
    total = ExactSum.zero(2, 3)
    for term in terms:
        total = total.plus(term)
    assert exact(total) == [
        sum(each) for each in zip(*(t.flatten().tolist() for t in terms), strict=True)
    ]
    assert bool(((total.low >= 0) & (total.low < 2**32)).all())


def test_a_running_sum_is_the_same_beyond_what_one_number_holds(monkeypatch):
    monkeypatch.setattr(exact_sums, "PENDING", 3)
    terms, running, total = wholes(50), Running(2, 3), ExactSum.zero(2, 3)
    for term in terms:
        running.add(term)
        total = total.plus(term)
    assert same(running.total(), total)
    assert same(running.total(), total)


def test_terms_of_the_largest_size_do_not_overflow_while_they_wait():
    running = Running(1)
    for _ in range(3 * exact_sums.PENDING):
        running.add(torch.tensor([2 * LARGE]))
    assert exact(running.total()) == [3 * exact_sums.PENDING * 2 * LARGE]


def test_what_leaves_leaves_no_bit_in_whatever_order():
    terms = wholes(40, seed=1)
    never = ExactSum.zero(2, 3)
    for term in terms[:15]:
        never = never.plus(term)
    order = random.Random(3)
    moves = [(term, 1) for term in terms] + [(term, -1) for term in terms[15:]]
    for _ in range(5):
        order.shuffle(moves)
        total = ExactSum.zero(2, 3)
        for term, sign in moves:
            total = total.plus(sign * term)
        assert same(total, never)


def test_its_value_is_rounded_once():
    total = ExactSum.zero(2, 3)
    for term in wholes(30, seed=2):
        total = total.plus(term)
    assert total.value(2.0**-40).flatten().tolist() == [
        float(whole) * 2.0**-40 for whole in exact(total)
    ]


def test_non_zeros_add_what_the_whole_tensor_adds_and_come_off_again():
    generator = torch.Generator().manual_seed(0)
    total, running, plain = ExactSum.zero(4, 4), Running(4, 4), Running(4, 4)
    for _ in range(5):
        whole = torch.randint(-LARGE, LARGE, (4, 4), generator=generator)
        whole[torch.rand(4, 4, generator=generator) < 0.6] = 0
        entries = NonZeros.of(sparse.coo_array(whole.double().numpy()))
        assert entries.shape == (4, 4)
        running.add(entries)
        plain.add(whole)
        longer = total.plus(entries)
        assert same(longer, total.plus(whole))
        assert same(longer.plus(entries.neg_()), total)
        total = longer
    assert same(running.total(), plain.total())


def test_non_zeros_that_are_given_twice_are_one():
    entries = NonZeros.of(sparse.coo_array(([1.0, 2.0], ([0, 0], [1, 1])), shape=(2, 2)))
    assert entries.places.tolist() == [1]
    assert entries.values.tolist() == [3]
