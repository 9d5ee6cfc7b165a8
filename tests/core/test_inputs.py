"""Several inputs behave as one tensor does, and reach the model as several."""

import copy

import pytest
import torch
from torch import nn
from torch.func import functional_call

from expunge.core.inputs import (
    Columns,
    joined,
    mapped,
    taking_columns,
    tensors_in,
)


def table(named=True, rows=6):
    generator = torch.Generator().manual_seed(0)
    tokens = torch.randint(0, 9, (rows, 3), generator=generator)
    weights = torch.rand(rows, 3, generator=generator)
    return Columns({"tokens": tokens, "mask": weights}, named)


class Weighed(nn.Module):
    def forward(self, tokens, mask):
        return (tokens * mask).sum(1)


def test_rows_are_taken_from_every_column():
    whole = table()
    some = whole[torch.tensor([4, 0])]
    assert len(some) == 2
    assert some.shape == (2,)
    assert torch.equal(some.columns["tokens"], whole.columns["tokens"][[4, 0]])
    assert torch.equal(some.columns["mask"], whole.columns["mask"][[4, 0]])
    assert [len(part) for part in whole.split(4)] == [4, 2]
    again = joined(list(whole.split(4)))
    for (_, one), (_, other) in zip(tensors_in(again), tensors_in(whole), strict=True):
        assert torch.equal(one, other)


def test_rows_are_written_in_every_column_and_copies_are_apart():
    whole = table()
    copied = whole.clone()
    copied[[1, 2]] = 0
    copied[3:] = whole[:1]
    for name, column in copied.columns.items():
        assert float(column[[1, 2]].abs().sum()) == 0
        assert torch.equal(column[5], whole.columns[name][0])
        assert float(whole.columns[name][[1, 2]].abs().sum()) > 0


@pytest.mark.parametrize("named", [True, False])
def test_a_module_gets_them_as_arguments_and_so_do_its_copies(named):
    columns, module = table(named), Weighed()
    expected = module(columns.columns["tokens"], columns.columns["mask"])
    for one in (taking_columns(module), copy.deepcopy(module), taking_columns(module)):
        assert torch.equal(one(columns), expected)
        assert torch.equal(functional_call(one, {}, (columns,)), expected)
    assert torch.equal(module(*columns.columns.values()), expected)  # as before, too
    assert len(module._forward_pre_hooks) == 1


def test_names_decide_not_the_order_of_columns():
    columns = table()
    turned = Columns(dict(reversed(columns.columns.items())), named=True)
    module = taking_columns(Weighed())
    assert torch.equal(module(turned), module(columns))
    assert [name for name, _ in tensors_in(turned)] == [name for name, _ in tensors_in(columns)]


def test_a_tensor_is_left_a_tensor():
    rows = torch.arange(4.0)
    assert torch.equal(mapped(lambda t: t + 1, rows), rows + 1)
    assert torch.equal(joined([rows, rows]), torch.cat([rows, rows]))
    assert torch.equal(table().of_one({"a": rows}).columns["a"], rows[None])
