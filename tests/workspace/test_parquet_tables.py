"""Parquet in batches: the same table, and nothing that grows beyond the limit is made first."""

import io

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from expunge.errors import InvalidInput
from expunge.workspace.parquet_tables import BATCH, parquet_batches
from expunge.workspace.plain_columns import plain_type
from expunge.workspace.table_limits import USUAL, TableLimits

MEGABYTE = TableLimits(inflated=1 << 20)
ROWS = 2000
LONG = pa.DictionaryArray.from_arrays(pa.array(np.zeros(ROWS, np.int32)), pa.array(["x" * 10_000]))
ONE_EACH = pa.array(range(ROWS + 1), pa.int32())
LARGE = {  # twenty megabytes each, in a file of kilobytes
    "text": LONG,
    "bytes": LONG.cast(pa.binary()).dictionary_encode(),
    "fixed width": pa.array([b"x" * 10_000] * ROWS, pa.binary(10_000)),
}
NESTED = {
    "list of texts": pa.ListArray.from_arrays(ONE_EACH, LONG),
    "structure": pa.StructArray.from_arrays([LONG], ["a"]),
    "map": pa.MapArray.from_arrays(ONE_EACH, LONG, LONG),
    "a long list": pa.array([[7] * 3_000_000]),
}


def written(columns, **options):
    buffer = io.BytesIO()
    parquet.write_table(pa.table(columns), buffer, compression="zstd", **options)
    return buffer.getvalue()


def batches(content, limits=USUAL):
    return list(parquet_batches("t.parquet", pa.BufferReader(content), limits))


@pytest.mark.parametrize("kind", LARGE)
def test_what_becomes_too_large_is_refused_before_it_does(kind):
    content = written({"x": LARGE[kind]})
    assert len(content) < 1 << 16
    pool = pa.default_memory_pool()
    before, allocated = pool.bytes_allocated(), []
    told = TableLimits.check_size

    def check_size(self, path, size):
        allocated.append(pool.bytes_allocated() - before)
        told(self, path, size)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TableLimits, "check_size", check_size)
        with pytest.raises(InvalidInput, match="--max-inflated raises the limit"):
            batches(content, MEGABYTE)
    assert max(allocated) < 4 << 20
    made = pa.Table.from_batches(batches(content, TableLimits(inflated=1 << 30)))
    assert made["x"].to_pylist() == pa.table({"x": LARGE[kind]})["x"].to_pylist()


@pytest.mark.parametrize("kind", NESTED)
def test_what_is_nested_is_there_by_name_and_type_and_is_not_read(kind):
    column = NESTED[kind]
    content = written({"id": list(range(len(column))), "x": column}, row_group_size=500)
    (batch, *_) = batches(content, MEGABYTE)
    assert batch.schema.names == ["id", "x"]
    assert batch.schema.field("x").type == plain_type(column.type)
    assert batch.column("x").null_count == batch.num_rows


def test_batches_together_are_the_table_in_plain_types():
    count = 2 * BATCH + 5
    texts = [None if row % 7 == 3 else f"t{row % 50}" for row in range(count)]
    columns = {
        "id": pa.array([str(row) for row in range(count)]),
        "coded": pa.array(texts).dictionary_encode(),
        "large": pa.array(texts, pa.large_string()),
        "number": pa.array(np.arange(count) / 7),
        "whole": pa.array([None, *range(count - 1)]),
    }
    content = written(columns, row_group_size=3000)
    made = pa.Table.from_batches(batches(content))
    assert made.to_pydict() == pa.table(columns).to_pydict()
    assert made.schema.field("coded").type == pa.string()
    assert made.schema.field("large").type == pa.large_string()
    assert max(batch.num_rows for batch in batches(content)) <= BATCH


def test_a_column_that_is_there_twice_is_named():
    table = pa.table([pa.array([1]), pa.array([2])], names=["age", "age"])
    buffer = io.BytesIO()
    parquet.write_table(table, buffer)
    with pytest.raises(InvalidInput, match="column 'age' is there twice"):
        batches(buffer.getvalue())


def test_a_table_without_rows_has_no_batches():
    assert batches(written({"x": pa.array([], pa.string())})) == []
