"""Stretches: the same rows whatever is absent, the same bits whoever computes them."""

import pickle

import numpy as np
import pytest
import torch

from expunge.core.stored_rows import StoredRows
from expunge.losses import passes
from expunge.losses.logistic import Logistic
from expunge.losses.objective import Objective
from expunge.losses.passes import HessianAlong, PresentRows, RowStretch
from expunge.losses.softmax import Softmax

ROWS, FEATURES = 500, 4


@pytest.fixture(autouse=True)
def short_stretches(monkeypatch):
    monkeypatch.setattr(passes, "CHUNK", 8)
    monkeypatch.setattr(passes, "STRETCH", 32)
    monkeypatch.setattr(passes, "BLOCK", 100)
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def data(loss, seed=0):
    generator = torch.Generator().manual_seed(seed)
    features = torch.randn(ROWS, FEATURES, generator=generator)
    features *= 0.99 * loss.row_norm / features.norm(dim=1, keepdim=True)
    return features, torch.randint(0, max(2, loss.outputs), (ROWS,), generator=generator)


def presence(share, seed=1):
    return torch.rand(ROWS, generator=torch.Generator().manual_seed(seed)) < share


def some_theta(loss, seed=5):
    shape = (loss.outputs, FEATURES)
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


LOSSES = [Logistic(0.05), Softmax(3, 0.02)]
losses = pytest.mark.parametrize("loss", LOSSES, ids=["logistic", "softmax"])
shares = pytest.mark.parametrize("share", [0.0, 0.05, 0.6, 1.0])


@shares
def test_stretches_hold_every_present_row_once_and_as_many_each(share):
    features, keep = torch.arange(ROWS)[:, None], presence(share)
    table = PresentRows(features, features[:, 0], keep)
    stretches = table.stretches()
    counts = [len(table.rows(stretch)[0]) for stretch in stretches]
    assert counts[:-1] == [32] * (len(counts) - 1)
    rows = [row for s in stretches for part, _ in table.chunks(s) for row in part[:, 0].tolist()]
    assert rows == keep.nonzero()[:, 0].tolist()


@shares
@losses
def test_masked_rows_give_the_bits_of_a_table_without_them(loss, share):
    features, targets = data(loss)
    keep, theta, direction = presence(share), some_theta(loss), some_theta(loss, 6)
    keep[0] = True
    masked = Objective(loss, features, targets, keep)
    removed = Objective(loss, features[keep], targets[keep])
    assert torch.equal(masked.gradient(theta), removed.gradient(theta))
    products = [each.hessian_product(theta)(direction) for each in (masked, removed)]
    assert torch.equal(*products)


class Elsewhere:
    """Computes parts on copies that went through bytes, as another process does, out of order."""

    def __init__(self, together):
        self.together = together

    def map(self, compute, shared, parts):
        every, results = list(parts), {}
        for place in np.random.default_rng(3).permutation(len(every)).tolist():
            given = pickle.loads(pickle.dumps((compute, shared, every[place])))
            results[place] = pickle.loads(pickle.dumps(given[0](*given[1:])))
        return iter([results[place] for place in range(len(every))])


@pytest.mark.parametrize("together", [1, 3, 100])
@losses
def test_another_process_gives_the_same_bits_in_parts_of_any_size(loss, together):
    features, targets = data(loss)
    keep, theta, direction = presence(0.7), some_theta(loss), some_theta(loss, 6)
    here = Objective(loss, features, targets, keep)
    there = Objective(loss, features, targets, keep, engine=Elsewhere(together))
    for one, other in zip(
        here.value_and_gradient(theta), there.value_and_gradient(theta), strict=True
    ):
        assert torch.equal(torch.as_tensor(one), torch.as_tensor(other))
    products = [each.hessian_product(theta) for each in (here, there)]
    for _ in range(2):  # the second time scores are known
        assert torch.equal(products[0](direction), products[1](direction))
    assert torch.equal(here.gram().total, there.gram().total)


@losses
def test_without_room_for_scores_they_are_computed_again_to_the_same_bits(loss):
    features, targets = data(loss)
    table, theta = PresentRows(features, targets), some_theta(loss).float()
    ample, none = HessianAlong(loss, theta), HessianAlong(loss, theta, room=0)
    some = HessianAlong(loss, theta, room=3 * 32 * loss.outputs * 4)
    direction = some_theta(loss, 6).float()
    for _ in range(2):
        for stretch in table.stretches():
            expected = ample.product(table, stretch, direction)
            for scarce in (none, some):
                assert torch.equal(scarce.product(table, stretch, direction), expected)
    assert [len(each.known) for each in (ample, none, some)] == [16, 0, 3]


def test_what_another_process_gets_of_rows_on_disk_holds_no_row():
    secret = torch.full((64, 4), 0.123456789)

    def read(number):
        return {"x": secret, "y": torch.zeros(64)}

    table = StoredRows([(0, 64)], read, kept=1 << 20)
    table.chunk(0)
    table.read = len  # a function of two bytes instead of one that holds the rows
    content = pickle.dumps(PresentRows(table.column("x"), table.column("y")))
    assert secret.numpy().tobytes()[:16] not in content
    assert len(content) < 2000
    assert PresentRows(secret, secret[:, 0]).rows(RowStretch(0, 8))[0].shape == (8, 4)
