"""Values lie in one place, and what is erased there is gone for every state."""

import copy
import itertools
import pickle
import sys

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


def test_longer_values_are_those_of_every_state_once_they_are_added():
    """States of before see the same memory: what is erased later is gone there too."""
    first = (torch.ones(3, 2), torch.ones(3))
    memory = [column.detach() for column in first]
    store = RowStore(first)
    longer = store.longer([torch.full((2, 2), 7.0), torch.full((2,), 7.0)])
    assert all(map(torch.equal, store.columns, memory))
    with store.adding(longer):
        assert store.columns is longer
    second = store.longer([torch.full((1, 2), 9.0), torch.full((1,), 9.0)])
    with store.adding(second):
        pass
    assert store.erasures == 2
    with store.erasing([0, 3, 5], []):
        pass
    assert store.columns[1].tolist() == [0, 1, 1, 0, 7, 0]
    for states in (first, longer):
        for column, whole in zip(states, store.columns, strict=True):
            assert torch.equal(column, whole[: len(column)])
            assert column.data_ptr() == whole.data_ptr()
    assert not any(column.any() for column in memory)  # nothing stays where it was


def test_rows_are_kept_in_the_precision_of_the_others():
    store = RowStore((torch.ones(2, dtype=torch.float32), torch.ones(2, dtype=torch.int64)))
    (values, whole) = store.longer([torch.ones(1, dtype=torch.float64), torch.ones(1)])
    assert (values.dtype, whole.dtype) == (torch.float32, torch.int64)


def test_an_addition_that_fails_leaves_the_values_as_they_were():
    first = (torch.ones(3),)
    store = RowStore(first)
    longer = store.longer([torch.full((2,), 7.0)])
    with pytest.raises(RuntimeError, match="planted"), store.adding(longer):
        raise RuntimeError("planted")
    assert store.columns is first
    assert first[0].tolist() == [1, 1, 1]
    assert store.erasures == 0


def test_an_interrupt_while_the_old_memory_is_overwritten_leaves_all_as_it_was(monkeypatch):
    first = (torch.ones(3), torch.full((3,), 2.0))
    store = RowStore(first)
    with store.adding(store.longer([torch.ones(1), torch.ones(1)])):
        pass
    before = store.columns
    longer = store.longer([torch.full((2,), 7.0), torch.full((2,), 7.0)])
    honest, calls = torch.Tensor.zero_, []

    def interrupted(self):
        calls.append(honest(self))
        if len(calls) == 2:
            raise KeyboardInterrupt
        return self

    monkeypatch.setattr(torch.Tensor, "zero_", interrupted)
    with pytest.raises(KeyboardInterrupt), store.adding(longer):
        pass
    monkeypatch.undo()
    assert store.columns is before
    assert [column.tolist() for column in before] == [[1, 1, 1, 1], [2, 2, 2, 1]]
    assert [column.tolist() for column in first] == [[1, 1, 1], [2, 2, 2]]
    with store.erasing([0], []):
        pass
    assert [column.tolist() for column in first] == [[0, 1, 1], [0, 2, 2]]
    assert store.erasures == 2


def test_an_interrupt_at_any_line_before_values_are_added_changes_nothing():
    def interrupted_at(line):
        """The store after an interrupt at this line of `adding`; None if it ends before."""
        store, lines = RowStore((torch.ones(3),)), iter(range(99))

        def trace(frame, event, _):
            if frame.f_code.co_name != "adding":
                return None
            if event == "line" and next(lines) == line:
                raise KeyboardInterrupt
            return trace

        adding, before = store.adding(store.longer([torch.ones(1)])), sys.gettrace()
        sys.settrace(trace)
        try:
            adding.__enter__()
        except KeyboardInterrupt:
            return store
        finally:
            sys.settrace(before)
        return None

    stores = list(itertools.takewhile(bool, map(interrupted_at, itertools.count())))
    assert len(stores) > 3
    assert all(store.erasures == 0 and len(store.columns[0]) == 3 for store in stores)
