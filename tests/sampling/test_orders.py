"""Orders: epochs without repetition, the same in any layout, kept by a deletion."""

import pytest
import torch

from expunge.sampling.orders import Orders
from expunge.sampling.problem import IndependentBatches, NoBatches, SharedBatches

EVERYONE = torch.ones(50, dtype=torch.bool)


def test_an_epoch_sees_each_record_at_most_once():
    orders = Orders(IndependentBatches(12, 4), 1, EVERYONE, 0, 20)
    assert len(orders.runs) == 5
    epoch = torch.cat([orders.rows(step) for step in range(4)], dim=1)  # (5, 48)
    for seen in epoch:
        assert len(set(seen.tolist())) == 48
    assert not torch.equal(orders.rows(0), orders.rows(4))  # the next epoch is another order


def test_orders_differ_between_runs_and_do_not_depend_on_the_block():
    whole = Orders(IndependentBatches(12, 4), 1, EVERYONE, 0, 20).rows(2)
    later = Orders(IndependentBatches(12, 4), 1, EVERYONE, 8, 8).rows(2)
    assert torch.equal(whole[2:4], later)
    assert len({tuple(row.tolist()) for row in whole}) == 5


def test_a_shared_order_is_everyones():
    first, second = (Orders(SharedBatches(12), 1, EVERYONE, at, 20).rows(3) for at in (0, 20))
    assert first.shape == (1, 12)
    assert torch.equal(first, second)


def test_a_deletion_keeps_the_relative_order():
    present = EVERYONE.clone()
    present[[3, 7, 30]] = False
    numbers = present.nonzero()[:, 0]
    before = Orders(SharedBatches(50), 9, EVERYONE, 0, 1).rows(0)[0]
    after = Orders(SharedBatches(47), 9, present, 0, 1).rows(0)[0]
    kept = [record for record in before.tolist() if present[record]]
    assert numbers[after].tolist() == kept


def test_full_batch_needs_no_rows():
    orders = Orders(NoBatches(), 1, EVERYONE, 0, 7)
    assert orders.rows(0) is None
    assert orders.runs == [slice(0, 7)]


def test_a_run_of_models_is_never_cut():
    with pytest.raises(ValueError, match="multiple of 4"):
        Orders(IndependentBatches(12, 4), 1, EVERYONE, 6, 4)
