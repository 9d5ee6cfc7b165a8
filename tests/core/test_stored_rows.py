"""Rows on disk answer like a tensor in memory, and only chunks that are asked for are read."""

import copy

import numpy as np
import pytest
import torch
from scipy import sparse

from expunge.core.sparse_rows import SparseRows
from expunge.core.stored_rows import MASKS, StoredColumn, StoredRows, lengthened

ROWS, EACH = 50, 8
FEATURES = torch.from_numpy(np.random.default_rng(3).normal(size=(ROWS, 3)).astype(np.float32))
BOUNDS = [(first, min(first + EACH, ROWS)) for first in range(0, ROWS, EACH)]


class Disk:
    """Reads chunks, and notes which."""

    def __init__(self):
        self.read = []

    def __call__(self, number):
        self.read.append(number)
        first, stop = BOUNDS[number]
        return {"x": FEATURES[first:stop].clone(), "y": torch.arange(first, stop)}


def table(**options):
    disk = Disk()
    return StoredRows(BOUNDS, disk, **options), disk


INDEXES = [
    slice(None),
    slice(0, 8),
    slice(5, 30),
    slice(48, 60),
    slice(9, 9),
    slice(-3, None),
    [3],
    [49, 0, 17, 17],
    np.array([8, 7]),
    torch.tensor([1, 40]),
    torch.arange(ROWS) % 7 == 2,
    torch.zeros(ROWS, dtype=torch.bool),
    [],
]


@pytest.mark.parametrize("index", INDEXES, ids=str)
@pytest.mark.parametrize("kept", [0, 1 << 20])
def test_every_index_gives_what_a_tensor_gives(index, kept):
    rows, _ = table(kept=kept)
    inside = FEATURES[torch.tensor(index, dtype=torch.long) if isinstance(index, list) else index]
    assert torch.equal(rows.column("x")[index], inside)


@pytest.mark.parametrize("index", INDEXES, ids=str)
def test_every_index_gives_sparse_rows_where_chunks_hold_them(index):
    numbers = torch.where(FEATURES.abs() < 0.7, 0, FEATURES)

    def read(number):
        return {"x": SparseRows.of([sparse.csr_array(numbers[slice(*BOUNDS[number])].numpy())])}

    rows = StoredRows(BOUNDS, read, kept=0, blank=[4, 17])
    expected = numbers.clone()
    expected[[4, 17]] = 0
    place = torch.tensor(index, dtype=torch.long) if isinstance(index, list) else index
    column = rows.column("x")
    assert (column.shape, column.dtype) == (FEATURES.shape, FEATURES.dtype)
    assert torch.equal(column[index].dense(), expected[place])


def test_a_column_says_what_a_tensor_says_of_itself():
    column = table()[0].column("x")
    assert isinstance(column, StoredColumn)
    assert (len(column), column.shape, column.dtype) == (ROWS, FEATURES.shape, FEATURES.dtype)
    assert column.device == FEATURES.device
    places = torch.tensor([40, 2])
    assert torch.equal(column.index_select(0, places), FEATURES.index_select(0, places))


def test_only_the_chunks_that_hold_the_rows_are_read_each_once():
    rows, disk = table()
    column = rows.column("x")
    disk.read.clear()
    column[[17, 47, 18, 40]]
    assert disk.read == [2, 5]
    rows.column("y")[[47]]  # of the same chunk
    assert disk.read == [2, 5]


def test_the_first_chunks_stay_in_memory_and_of_the_others_the_latest():
    each = EACH * (3 * 4 + 8)
    rows, disk = table(kept=2 * each * 4 // 3 + 8 + MASKS * ROWS)
    for number in (0, 1, 2, 3, 2, 3, 0, 1, 4, 3, 2):
        rows.chunk(number)
    assert disk.read == [0, 1, 2, 3, 4, 2]


def test_masks_come_first_then_a_quarter_is_for_what_passes_know_of_rows():
    rows, _ = table(kept=MASKS * ROWS + 400)
    assert rows.room == 100
    assert table(kept=MASKS * ROWS - 1)[0].room == 0


def test_another_process_gets_the_way_to_the_chunks_and_none_of_them():
    rows, disk = table()
    rows.chunk(0)
    disk.read.clear()
    other = copy.copy(rows)
    other.__dict__.update(rows.__getstate__())
    assert torch.equal(other.column("x")[:], FEATURES)
    assert other.read.read == list(range(len(BOUNDS)))


@pytest.mark.parametrize("kept", [0, 1 << 20])
def test_erased_rows_read_as_zeros_until_the_erasure_is_taken_back(kept):
    rows, _ = table(kept=kept)
    column, gone = rows.column("x"), [3, 16, 49]
    column[gone] = 0
    expected = FEATURES.clone()
    expected[gone] = 0
    assert torch.equal(column[:], expected)
    assert rows.column("y")[gone].tolist() == [0, 0, 0]  # the row is erased, not a cell
    column[[16]] = torch.empty(0)
    expected[16] = FEATURES[16]
    assert torch.equal(column[:], expected)


def test_a_copy_has_erasures_of_its_own():
    rows, _ = table()
    rows.column("x")[[5]] = 0
    other = copy.deepcopy(rows)
    other.column("x")[[6]] = 0
    assert rows.column("x")[[5, 6]].abs().sum(1).gt(0).tolist() == [False, True]
    assert other.column("x")[[5, 6]].abs().sum().item() == 0


@pytest.mark.parametrize("place", [-1, 50])
def test_a_row_that_is_not_there_is_refused(place):
    with pytest.raises(IndexError, match=f"no row {max(place, 0) or ''}"):
        table()[0].column("x")[[0, place]]


@pytest.mark.parametrize("bounds", [[], [(1, 4)], [(0, 4), (5, 8)], [(0, 4), (3, 8)]])
def test_chunks_with_gaps_are_refused(bounds):
    with pytest.raises(ValueError, match="gaps"):
        StoredRows(bounds, Disk())


def test_a_chunk_with_another_number_of_rows_is_refused():
    rows = StoredRows([(0, 3)], Disk())
    with pytest.raises(ValueError, match="does not hold the rows 0 to 2"):
        rows.column("x")


def test_a_check_reads_every_chunk():
    rows, disk = table(kept=0)
    rows.check()
    assert disk.read == list(range(len(BOUNDS)))


MORE = torch.full((4, 3), 7.0, dtype=torch.float64), torch.arange(50, 54)


def longer_columns(times=1, **options):
    whole, disk = table(**options)
    first = columns = whole.column("x"), whole.column("y")
    for _ in range(times):
        columns = lengthened(columns, MORE)
    return first, columns, disk


@pytest.mark.parametrize("kept", [0, 1 << 20])
def test_further_rows_follow_those_on_disk_and_those_given_before_stay_as_long(kept):
    first, (features, targets), _ = longer_columns(times=2, kept=kept)
    assert (len(features), features.shape[1:], features.dtype) == (58, (3,), torch.float32)
    assert torch.equal(features[:50], FEATURES)
    assert features[48:].sum(1).tolist() == [*FEATURES[48:].sum(1).tolist(), *[21.0] * 8]
    assert targets[[3, 51, 55]].tolist() == [3, 51, 51]
    assert [len(column) for column in first] == [50, 50]
    assert torch.equal(first[0][:], FEATURES)


def test_rows_are_lengthened_without_reading_any():
    *_, disk = longer_columns()
    assert disk.read == [0]  # for the type, before


@pytest.mark.parametrize("kept", [0, 1 << 20])
def test_what_the_longer_table_erases_is_erased_in_the_one_before_too(kept):
    (before, _), (features, _), _ = longer_columns(kept=kept)
    assert before[0:8].any()  # perhaps kept
    features[[2, 51]] = 0
    assert not before[[2]].any()
    assert not features[[2, 51]].any()
    features[[2, 51]] = torch.ones(2, 3)  # taken back
    assert torch.equal(before[[2]], FEATURES[[2]])
    assert features[[51]].tolist() == [[7, 7, 7]]


def test_erased_rows_that_no_file_holds_are_overwritten_in_memory():
    _, (features, _), _ = longer_columns(times=2)
    memory = [features.table.read.rows["x"], features.table.read.read.rows["x"]]
    features[[3, 51, 54]] = 0
    assert all(rows.all() for rows in memory)  # until the request has succeeded
    features.table.overwrite_erased()
    assert [rows.any(1).tolist() for rows in memory] == [
        [False, True, True, True],
        [True, False, True, True],
    ]
    assert torch.equal(features[[4]], FEATURES[[4]])


def test_rows_can_be_read_from_other_chunks_once_all_are_on_disk():
    _, (features, _), disk = longer_columns()
    whole = torch.cat([FEATURES, MORE[0].float()])
    assert features.table.source is disk
    assert features[52:].any()
    halves = [(0, 27), (27, 54)]
    features.table.reread(
        halves, lambda number: {"x": whole[slice(*halves[number])], "y": torch.zeros(27)}
    )
    assert torch.equal(features[:], whole)
    assert torch.equal(features[[26, 53]], whole[[26, 53]])
