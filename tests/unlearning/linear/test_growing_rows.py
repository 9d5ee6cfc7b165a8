"""Values that rows join: one memory for all states, and what fails leaves them as they were."""

import itertools
import sys

import pytest
import torch

from expunge.unlearning.linear.growing_rows import GrowingRows


def joined(store, *columns):
    """The values once these rows have joined."""
    with store.adding(columns) as longer:
        return longer


def test_longer_values_are_those_of_every_state_once_they_are_added():
    """States of before see the same memory: what is erased later is gone there too."""
    first = (torch.ones(3, 2), torch.ones(3))
    memory = [column.detach() for column in first]
    store = GrowingRows(first)
    with store.adding([torch.full((2, 2), 7.0), torch.full((2,), 7.0)]) as longer:
        assert all(map(torch.equal, store.columns, memory))
        assert store.erasures == 0
    assert store.columns is longer
    joined(store, torch.full((1, 2), 9.0), torch.full((1,), 9.0))
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
    store = GrowingRows((torch.ones(2, dtype=torch.float32), torch.ones(2, dtype=torch.int64)))
    (values, whole) = joined(store, torch.ones(1, dtype=torch.float64), torch.ones(1))
    assert (values.dtype, whole.dtype) == (torch.float32, torch.int64)


def test_rows_that_join_are_written_behind_the_others_and_memory_moves_seldom():
    """3,000 rows, one by one: memory with an eighth of room moves 27 times on the way from 100."""
    store, moves = GrowingRows((torch.zeros(100, 2), torch.zeros(100))), 0
    for number in range(3000):
        before = [column.data_ptr() for column in store.columns]
        columns = joined(store, torch.full((1, 2), float(number)), torch.full((1,), float(number)))
        moves += before != [column.data_ptr() for column in columns]
    assert moves <= 27 + 2
    assert store.columns[1][100:].tolist() == list(range(3000))
    assert torch.equal(store.columns[0][:, 1], store.columns[1])


def roomy():
    """A store with room for more, and a state of before."""
    first = (torch.ones(16), torch.full((16,), 2.0))
    store = GrowingRows(first)
    joined(store, torch.ones(1), torch.ones(1))
    return store, first


@pytest.mark.parametrize("more", [1, 20], ids=["with room", "without"])
def test_an_addition_that_fails_leaves_the_values_as_they_were(more):
    store, _ = roomy()
    before, where = store.columns, [column.data_ptr() for column in store.columns]
    kept = [column.clone() for column in before]
    with pytest.raises(RuntimeError, match="planted"), store.adding(2 * [torch.full((more,), 7.0)]):
        raise RuntimeError("planted")
    assert store.columns is before
    assert [column.data_ptr() for column in before] == where
    assert all(map(torch.equal, before, kept))
    assert store.erasures == 1
    for column in before:  # nothing of the rows is left behind the others
        memory = torch.empty(0).set_(column.untyped_storage())
        assert not (memory == 7).any()


def interrupts(more):
    """The store and a state of before, after an interrupt at every line of an addition in turn."""
    for line in itertools.count():
        store, first = roomy()
        lines = iter(range(10_000))

        def trace(frame, event, _, lines=lines, line=line):
            if not frame.f_code.co_filename.endswith(
                ("row_store.py", "growing_rows.py", "growing.py")
            ):
                return None
            if event == "line" and next(lines) == line:
                raise KeyboardInterrupt
            return trace

        adding, before = store.adding(2 * [torch.full((more,), 7.0)]), sys.gettrace()
        sys.settrace(trace)
        try:
            with adding:
                pass
        except KeyboardInterrupt:
            sys.settrace(before)
            yield store, first
        else:
            return
        finally:
            sys.settrace(before)


@pytest.mark.parametrize(("more", "least"), [(1, 20), (20, 20)], ids=["with room", "without"])
def test_an_interrupt_at_any_line_of_an_addition_changes_nothing(more, least):
    tried = 0
    for store, first in interrupts(more):
        tried += 1
        assert store.erasures == 1
        assert [column.tolist() for column in store.columns] == [17 * [1.0], [*(16 * [2.0]), 1.0]]
        with store.erasing([0], []):
            pass
        assert [column.tolist() for column in first] == [[0.0, *(15 * [1.0])], [0.0, *(15 * [2.0])]]
    assert tried > least


def test_after_an_addition_that_failed_the_next_one_goes_on():
    store, _ = roomy()
    with pytest.raises(RuntimeError), store.adding([torch.ones(1), torch.ones(1)]):
        raise RuntimeError
    columns = joined(store, torch.full((1,), 5.0), torch.full((1,), 6.0))
    assert [column[-1].item() for column in columns] == [5, 6]
    assert [len(column) for column in columns] == [18, 18]


def exchange(store, fails=None):
    other = torch.ones(5)
    more = [torch.full((2, 2), 7.0), torch.full((2,), 7.0)]
    with store.exchanging([0, 2], more) as (longer, erase):
        assert longer[1].tolist() == [1, 1, 1, 7, 7]
        erase([other])
        assert longer[1].tolist() == [0, 1, 0, 7, 7]
        if fails is not None:
            raise fails
    return other


def test_rows_are_erased_and_others_added_as_one_request():
    first = (torch.ones(3, 2), torch.ones(3))
    store = GrowingRows(first)
    other = exchange(store)
    assert store.erasures == 1
    assert store.columns[1].tolist() == [0, 1, 0, 7, 7]
    assert store.columns[0].sum(1).tolist() == [0, 2, 0, 14, 14]
    assert first[1].tolist() == [0, 1, 0]
    assert other.tolist() == [0, 1, 0, 1, 1]


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_an_exchange_that_fails_changes_nothing(error):
    first = (torch.ones(3, 2), torch.ones(3))
    store = GrowingRows(first)
    with pytest.raises(error):
        exchange(store, error)
    assert store.erasures == 0
    assert store.columns is first
    assert first[0].all()
    assert first[1].tolist() == [1, 1, 1]
    exchange(store)
    assert store.columns[1].tolist() == [0, 1, 0, 7, 7]


def test_an_interrupt_while_an_exchange_overwrites_old_memory_leaves_all_as_it_was(monkeypatch):
    first = (torch.ones(3, 2), torch.ones(3))
    store = GrowingRows(first)
    honest, calls = torch.Tensor.zero_, []

    def interrupted(self):
        calls.append(honest(self))
        if len(calls) == 2:
            raise KeyboardInterrupt
        return self

    monkeypatch.setattr(torch.Tensor, "zero_", interrupted)
    with pytest.raises(KeyboardInterrupt):
        exchange(store)
    monkeypatch.undo()
    assert store.columns is first
    assert (first[0].sum(), first[1].sum(), store.erasures) == (6, 3, 0)
