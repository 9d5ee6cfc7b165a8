"""Batches by id: what a record's step sees never depends on who else is there."""

import math

import torch

from expunge.sampling.batches import cyclic_partition, keys_of, poisson_draw

KEYS = keys_of([f"person-{i}" for i in range(20_000)])


def test_keys_depend_on_the_id_alone():
    assert torch.equal(keys_of(["a", "b", "c"])[1:], keys_of(["b", "c"]))
    assert len(set(KEYS.tolist())) == len(KEYS)
    assert keys_of([1])[0] != keys_of(["1"])[0]


def test_removing_records_leaves_the_batches_of_all_others_alone():
    keep = torch.arange(len(KEYS)) % 7 != 0
    assert torch.equal(cyclic_partition(KEYS, 10, 3)[keep], cyclic_partition(KEYS[keep], 10, 3))
    drawn = poisson_draw(KEYS, 0.2, 3, step=5)
    assert torch.equal(drawn[keep], poisson_draw(KEYS[keep], 0.2, 3, step=5))


def test_a_partition_fills_its_batches_evenly():
    """Chi-square with 9 degrees of freedom; above 60 once in a hundred million."""
    counts = torch.bincount(cyclic_partition(KEYS, 10, 0), minlength=10).double()
    expected = len(KEYS) / 10
    assert float(((counts - expected) ** 2 / expected).sum()) < 60


def test_poisson_draws_have_their_rate_and_differ_between_steps_and_seeds():
    rate, steps = 0.2, 40
    draws = torch.stack([poisson_draw(KEYS, rate, 0, step) for step in range(steps)]).double()
    standard_error = math.sqrt(rate * (1 - rate) / draws.numel())
    assert abs(float(draws.mean()) - rate) < 5 * standard_error
    first, second = draws[0] - rate, draws[1] - rate
    correlation = float((first * second).mean()) / (rate * (1 - rate))
    assert abs(correlation) < 5 / math.sqrt(len(KEYS))
    assert not torch.equal(poisson_draw(KEYS, rate, 1, 0), poisson_draw(KEYS, rate, 0, 0))


def test_the_check_catches_draws_that_ignore_the_step():
    repeated = torch.stack([poisson_draw(KEYS, 0.2, 0, 0)] * 2).double() - 0.2
    assert float((repeated[0] * repeated[1]).mean()) / 0.16 > 5 / math.sqrt(len(KEYS))
