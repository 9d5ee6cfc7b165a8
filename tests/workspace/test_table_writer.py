"""Tables written in blocks: the same as at once, there whole or not at all."""

import pyarrow as pa
import pytest

from expunge.workspace.table_writer import write_table, writing_table
from tests.workspace.tables_made import people, read

TABLE = pa.table(people(30, seed=1))


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet", ".parquet.gz"])
def test_blocks_are_the_table(tmp_path, suffix):
    write_table(TABLE, tmp_path / f"whole{suffix}")
    with writing_table(tmp_path / f"blocks{suffix}") as writer:
        for start in range(0, 30, 7):
            writer.write(TABLE.slice(start, 7))
    assert read(tmp_path / f"blocks{suffix}") == read(tmp_path / f"whole{suffix}")


@pytest.mark.parametrize("suffix", [".csv.gz", ".parquet"])
def test_whoever_is_interrupted_leaves_what_was_there(tmp_path, suffix):
    path = tmp_path / f"t{suffix}"
    write_table(TABLE, path)
    before = path.read_bytes()

    def interrupted():
        with writing_table(path) as writer:
            writer.write(TABLE.slice(0, 3))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
