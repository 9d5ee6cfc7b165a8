"""Rows at a time: as many as the budget of memory allows."""

import gzip
import math

import pytest

from expunge.errors import InvalidInput
from expunge.workspace.block_size import LEAST, block_rows, rows_known
from expunge.workspace.encoding import Encoding, Number
from expunge.workspace.table_blocks import BLOCK
from tests.workspace.tables_made import people, write

WIDE = Encoding({f"x{place}": Number(0.0, 1.0) for place in range(1000)})


def test_less_memory_is_fewer_rows_and_many_under_way_are_smaller():
    assert block_rows(WIDE, 100) == BLOCK
    assert block_rows(WIDE, 0.5) == pytest.approx(2 * block_rows(WIDE, 0.25), abs=1)
    assert block_rows(WIDE, 1, 4) == pytest.approx(block_rows(WIDE, 0.25), abs=1)
    assert block_rows(WIDE, 1e-9) == LEAST


@pytest.mark.parametrize("memory", [0, -1, math.nan, math.inf])
def test_a_budget_is_a_positive_number(memory):
    with pytest.raises(InvalidInput, match="memory"):
        block_rows(WIDE, memory)


def test_rows_are_known_where_the_files_say_so(tmp_path):
    for name in ("a.parquet", "b.parquet"):
        write(tmp_path / name, people(30, seed=1))
    assert rows_known(tmp_path) == 60
    assert rows_known(write(tmp_path.parent / "c.csv", people(30, seed=1))) is None
    (tmp_path / "d.parquet.gz").write_bytes(gzip.compress((tmp_path / "a.parquet").read_bytes()))
    assert rows_known(tmp_path) is None
