"""Values lie in one place, and what is erased there is gone for every state."""

import copy
import pickle

import pytest
import torch

from expunge.core.inputs import Columns
from expunge.unlearning.row_store import RowStore


def test_erased_rows_are_zero_in_every_column_and_no_others_are():
    features, targets = torch.ones(5, 2), torch.ones(5)
    store, other = RowStore((features, targets)), torch.ones(5, 3)
    with store.erasing([1, 3], [other]):
        pass
    assert other.sum(1).tolist() == [3, 0, 3, 0, 3]
    assert features.sum(1).tolist() == [2, 0, 2, 0, 2]
    assert targets.tolist() == [1, 0, 1, 0, 1]
    assert store.erasures == 1


def test_rows_are_counted_from_the_rosters_first():
    inputs = Columns({"a": torch.ones(3), "b": torch.ones(3, 2)}, named=True)
    with RowStore((inputs,), first=10).erasing([11], []):
        pass
    assert inputs.columns["a"].tolist() == [1, 0, 1]
    assert inputs.columns["b"].sum(1).tolist() == [2, 0, 2]


def test_it_stays_in_this_process_and_deep_copies_are_its_own():
    values = torch.ones(3)
    store = RowStore((values,))
    with pytest.raises(TypeError, match="private records"):
        pickle.dumps(store)
    with copy.deepcopy(store).erasing([0], []):
        pass
    assert values.all()
    assert store.erasures == 0


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_what_fails_afterwards_puts_everything_back(error):
    features, other = torch.arange(6.0).reshape(3, 2), torch.arange(5.0)
    store, before = RowStore((features,), first=2), (features.clone(), other.clone())
    with pytest.raises(error), store.erasing([3], [other]):
        raise error
    assert torch.equal(features, before[0])
    assert torch.equal(other, before[1])
    assert store.erasures == 0


def test_a_tensor_of_the_wrong_length_changes_nothing():
    features = torch.ones(5)
    store = RowStore((features,))
    with pytest.raises(IndexError), store.erasing([4], [torch.ones(2)]):
        pass
    assert features.all()
    assert store.erasures == 0
