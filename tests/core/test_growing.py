"""Rows are added behind others: what was handed out stays as it is."""

import numpy as np
import torch
from scipy import sparse

from expunge.core.growing import SHARE, Growing, room_for
from expunge.core.sparse_rows import SparseRows


def test_rows_are_written_behind_the_others_where_there_is_room():
    own = Growing(torch.arange(16.0))
    own, rows = own.longer(torch.arange(16.0), torch.tensor([16.0]))  # new memory, with room
    again, more = own.longer(rows, torch.tensor([17.0, 18.0]))
    assert again is own
    assert more.data_ptr() == rows.data_ptr()
    assert more.tolist() == list(range(19))
    assert rows.tolist() == list(range(17))


def test_memory_that_is_full_is_left_and_the_new_one_has_room_for_a_share():
    first = torch.arange(80.0)
    own, rows = Growing(first).longer(first, torch.ones(8))
    assert rows.data_ptr() != first.data_ptr()
    assert len(own.memory) == 88 + 88 // SHARE
    assert not own.memory[88:].any()
    assert first.tolist() == list(range(80))


def test_whoever_adds_to_fewer_rows_than_there_are_gets_memory_of_their_own():
    """Two that go on from the same rows do not write over each other's."""
    own, rows = Growing(torch.zeros(80)).longer(torch.zeros(80), torch.ones(1))
    _, one = own.longer(rows, torch.tensor([2.0]))
    other_memory, other = own.longer(rows, torch.tensor([3.0]))
    assert other_memory is not own
    assert (one[-1], other[-1]) == (2, 3)


def test_rows_keep_their_kind():
    first = torch.zeros(3, 2, dtype=torch.int64)
    _, rows = Growing(first).longer(first, torch.ones(1, 2, dtype=torch.float64))
    assert rows.dtype == torch.int64
    assert rows.shape == (4, 2)


def test_what_is_taken_back_is_overwritten():
    own, rows = Growing(torch.zeros(80)).longer(torch.zeros(80), torch.ones(1))
    own.longer(rows, torch.full((3,), 7.0))
    own.shorten(81)
    assert not (own.memory == 7).any()
    again, more = own.longer(rows, torch.ones(1))
    assert again is own
    assert len(more) == 82


def test_sparse_rows_join_where_they_lie():
    rows, more = (SparseRows.of([sparse.csr_array(np.eye(n, 4))]) for n in (3, 2))
    room = room_for(rows)
    again, longer = room.longer(rows, more)
    assert again is room
    assert torch.equal(longer.dense(), torch.cat([rows.dense(), more.dense()]))
    longer[[1]] = 0
    assert not rows[[1]].dense().any()
    room.shorten(3)
    assert len(rows) == 3
    assert isinstance(room_for(torch.zeros(3)), Growing)
