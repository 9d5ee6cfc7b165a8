"""Values lie in one place, and what is erased there is gone for every state."""

import copy
import pickle

import pytest
import torch

from expunge.unlearning.networks.inputs import Columns
from expunge.unlearning.row_store import RowStore


def test_erased_rows_are_zero_in_every_column_and_no_others_are():
    features, targets = torch.ones(5, 2), torch.ones(5)
    store = RowStore((features, targets))
    store.erase([1, 3])
    assert features.sum(1).tolist() == [2, 0, 2, 0, 2]
    assert targets.tolist() == [1, 0, 1, 0, 1]
    assert store.erasures == 1


def test_rows_are_counted_from_the_rosters_first():
    inputs = Columns({"a": torch.ones(3), "b": torch.ones(3, 2)}, named=True)
    RowStore((inputs,), first=10).erase([11])
    assert inputs.columns["a"].tolist() == [1, 0, 1]
    assert inputs.columns["b"].sum(1).tolist() == [2, 0, 2]


def test_it_stays_in_this_process_and_deep_copies_are_its_own():
    values = torch.ones(3)
    store = RowStore((values,))
    with pytest.raises(TypeError, match="private records"):
        pickle.dumps(store)
    copy.deepcopy(store).erase([0])
    assert values.all()
    assert store.erasures == 0
