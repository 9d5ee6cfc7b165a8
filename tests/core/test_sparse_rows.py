"""Sparse rows against dense tensors, and what an erasure leaves in memory."""

import copy

import numpy as np
import pytest
import torch
from scipy import sparse

from expunge.core import sparse_rows as module
from expunge.core.sparse_rows import (
    SparseRows,
    canonical,
    join_rows,
    memory_of,
)
from expunge.errors import InvalidInput

ROWS, WIDTH = 23, 9


def dense(seed=0, rows=ROWS, dtype=np.float64):
    rng = np.random.default_rng(seed)
    return np.where(rng.random((rows, WIDTH)) < 0.4, rng.standard_normal((rows, WIDTH)), 0).astype(
        dtype
    )


def table(values, block=5):
    """The rows in blocks of so many."""
    parts = range(0, len(values), block)
    return SparseRows.of(sparse.csr_array(values[start : start + block]) for start in parts)


def same(rows, values):
    assert rows.matrix.has_canonical_format
    np.testing.assert_array_equal(rows.dense().numpy(), values)


INDICES = [
    slice(0, 23), slice(3, 4), slice(4, 17), slice(7, 7), slice(20, 99), slice(None, None, 3),
    [2, 3], [11, 2, 22, 2], [], torch.tensor([4, 5, 9]), torch.arange(23) % 3 == 1,
    np.array([-1, 0]), torch.zeros(23, dtype=torch.bool),
]  # fmt: skip


@pytest.mark.parametrize("index", INDICES, ids=str)
@pytest.mark.parametrize("block", [5, 100])
def test_it_is_indexed_like_a_dense_tensor(index, block):
    values = dense()
    place = index
    if isinstance(index, torch.Tensor):
        place = index.numpy()
    elif isinstance(index, list):
        place = np.array(index, dtype=int)
    expected = values[np.arange(ROWS)[index] if isinstance(index, slice) else place]
    rows = table(values, block)[index]
    assert rows.shape == expected.shape
    assert len(rows) == len(expected)
    same(rows, expected)


def test_a_row_that_is_not_there_is_refused():
    for place in (23, -24):
        with pytest.raises(IndexError):
            table(dense())[[0, place]]


def test_an_erased_row_is_zero_and_nothing_of_it_is_left_in_memory():
    values = dense()
    rows = table(values)
    before = [part for matrix in rows.blocks() for part in (matrix.data, matrix.indices)]
    numbers = [value.tobytes() for value in values[[6, 7, 19]].ravel() if value]
    held = b"".join(part.tobytes() for part in before)
    assert all(number in held for number in numbers)
    rows[[6, 7, 19]] = 0
    expected = values.copy()
    expected[[6, 7, 19]] = 0
    same(rows, expected)
    now = [part.numpy() for part in memory_of(rows)]
    left = b"".join(part.tobytes() for part in (*before, *now))
    assert not any(number in left for number in numbers)
    assert rows.matrix.nnz == np.count_nonzero(expected)  # nor how many there were


def test_only_the_blocks_of_erased_rows_are_touched():
    rows = table(dense())
    before = list(rows.blocks())
    rows[[6]] = 0
    assert [one is other for one, other in zip(before, rows.blocks(), strict=True)] == [
        True, False, True, True, True,
    ]  # fmt: skip


def test_a_stretch_that_was_taken_before_an_erasure_keeps_its_other_rows():
    values = dense()
    rows = table(values)
    taken = rows[5:10]
    rows[[6]] = 0
    kept = [0, 2, 3, 4]
    np.testing.assert_array_equal(taken.dense().numpy()[kept], values[5:10][kept])


def test_what_was_erased_can_be_put_back():
    values = dense()
    rows = table(values)
    places = [21, 6, 0]
    before = rows[places].clone()
    rows[places] = 0
    rows[places] = before
    same(rows, values)


def test_tables_that_share_blocks_see_each_others_erasures():
    values, more = dense(), dense(1, 4)
    rows = table(values)
    longer = rows.joined(table(more))
    same(longer, np.concatenate([values, more]))
    longer[[2, 24]] = 0
    assert not rows[[2]].matrix.nnz
    apart = copy.deepcopy(longer)
    longer[[3]] = 0
    assert apart[[3]].matrix.nnz == np.count_nonzero(values[3])


def test_rows_that_join_take_the_precision_of_those_that_are_there():
    rows = table(dense(dtype=np.float32))
    longer = join_rows([rows, table(dense(1))])
    assert longer.dtype == torch.float32
    expected = np.concatenate([dense(dtype=np.float32), dense(1).astype(np.float32)])
    same(longer, expected)
    plain = join_rows([torch.from_numpy(dense(dtype=np.float32)), torch.from_numpy(dense(1))])
    np.testing.assert_array_equal(plain.numpy(), expected)


def test_arrays_bring_a_table_back_and_nothing_else_does():
    values = dense()
    arrays = table(values).arrays()
    same(SparseRows.of_arrays(**arrays, width=WIDTH), values)
    turned = arrays | {"columns": arrays["columns"][::-1].copy()}
    zero = arrays | {"values": np.zeros_like(arrays["values"])}
    short = arrays | {"lengths": arrays["lengths"][:-1]}
    beyond = arrays | {"columns": arrays["columns"] + WIDTH}
    below = arrays | {"lengths": arrays["lengths"] * np.where(np.arange(ROWS) == 3, -1, 1)}
    for wrong in (turned, zero, short, beyond, below):
        with pytest.raises(ValueError):  # noqa: PT011
            SparseRows.of_arrays(**wrong, width=WIDTH)


def test_precision_changes_as_a_tensors_does_and_devices_do_not():
    values = dense()
    rows = table(values)
    assert rows.to(torch.float32).dtype == torch.float32
    same(rows.to(torch.float32).double(), values.astype(np.float32))
    assert rows.to("cpu") is rows
    with pytest.raises(InvalidInput, match="sparse rows lie on the CPU"):
        rows.to("cuda")


def test_the_largest_number_of_each_row_is_that_of_its_dense_form():
    values = dense()
    values[4] = 0
    np.testing.assert_array_equal(table(values).largest().numpy(), np.abs(values).max(axis=1))


def test_the_one_form_has_no_zeros_no_doubles_and_columns_in_order():
    given = sparse.csr_array(
        (np.array([1.0, 2.0, 0.0, 4.0]), np.array([3, 3, 1, 0]), np.array([0, 4])), shape=(1, 5)
    )
    made = canonical(given)
    assert made.indices.tolist() == [0, 3]
    assert made.data.tolist() == [4.0, 3.0]
    assert given.data.tolist() == [1.0, 2.0, 0.0, 4.0]


def test_places_take_four_bytes():
    rows = table(dense())
    assert {part.dtype for part in memory_of(rows)} == {torch.int32, torch.float64}
    assert rows.nbytes == sum(part.nbytes for part in memory_of(rows))
    assert rows.cpu() is rows.detach() is rows
    assert module.BLOCK % 512 == 0  # so that a pass reads views
