"""Tables block by block: the same rows as read whole, from one file or from many."""

import pyarrow as pa
import pytest

from expunge.errors import InvalidInput
from expunge.workspace.table_blocks import table_blocks, table_files
from expunge.workspace.table_limits import TableLimits
from expunge.workspace.tables import read_table
from tests.workspace.tables_made import private_people, write

NAMES = ("t.csv", "t.csv.gz", "t.parquet", "t.parquet.gz")


def whole(blocks):
    return pa.concat_tables([block for _, block in blocks])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("rows", [1, 7, 150, 1000])
def test_the_blocks_together_are_the_table_read_whole(tmp_path, name, rows):
    path = write(tmp_path / name, private_people())
    blocks = list(table_blocks(path, rows=rows))
    assert {block.num_rows for _, block in blocks[:-1]} <= {rows}
    assert whole(blocks).to_pydict() == read_table(path, None).to_pydict()
    assert {file for file, _ in blocks} == {path}


def parts(folder):
    folder.mkdir()
    people = private_people()
    for number, first in enumerate(range(0, 150, 60)):
        part = {name: column[first : first + 60] for name, column in people.items()}
        write(folder / f"part-{number}.csv", part)
    (folder / ".hidden").write_text("not a table")
    return people


def test_a_folder_and_a_pattern_are_their_files_in_the_order_of_their_names(tmp_path):
    people = parts(tmp_path / "many")
    for path in (tmp_path / "many", tmp_path / "many/part-*.csv"):
        assert [file.name for file in table_files(path)] == [f"part-{i}.csv" for i in range(3)]
        assert whole(table_blocks(path))["id"].to_pylist() == people["id"]


def test_columns_may_come_in_another_order_but_not_be_others(tmp_path):
    (tmp_path / "many").mkdir()
    write(tmp_path / "many/a.csv", {"id": ["1"], "x": [1]})
    write(tmp_path / "many/b.csv", {"x": [2], "id": ["2"]})
    assert whole(table_blocks(tmp_path / "many")).to_pydict() == {"id": ["1", "2"], "x": ["1", "2"]}
    write(tmp_path / "many/c.csv", {"id": ["3"], "y": [2]})
    with pytest.raises(InvalidInput, match=r"c\.csv: has other columns"):
        list(table_blocks(tmp_path / "many"))


def test_an_empty_folder_and_a_file_without_rows_are_refused(tmp_path):
    (tmp_path / "many").mkdir()
    with pytest.raises(InvalidInput, match="many: no files"):
        table_files(tmp_path / "many")
    (tmp_path / "many/a.csv").write_text("id,x\n")
    with pytest.raises(InvalidInput, match=r"a\.csv: no rows"):
        list(table_blocks(tmp_path / "many"))


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="none"):
        list(table_blocks(tmp_path / "none.csv"))


@pytest.mark.parametrize("name", NAMES)
def test_a_file_that_becomes_too_large_is_refused(tmp_path, name):
    path = write(tmp_path / name, private_people())
    with pytest.raises(InvalidInput, match="--max-inflated raises the limit"):
        list(table_blocks(path, TableLimits(inflated=1000)))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("content", [b"", b"\x00\x01", b"PAR1", b"\x1f\x8b\x08"])
def test_what_is_no_table_is_refused_by_name(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InvalidInput, match=name):
        list(table_blocks(path))


def test_a_row_of_another_length_is_refused_without_quoting_it(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("id,x\n1,2\nann,3,secret\n")
    with pytest.raises(InvalidInput, match="Expected 2 columns, got 3") as refused:
        list(table_blocks(path))
    assert "secret" not in str(refused.value)


def test_a_column_that_is_there_twice_is_named(tmp_path):
    (tmp_path / "t.csv").write_text("id,x,x\n1,2,3\n")
    with pytest.raises(InvalidInput, match="column 'x' is there twice"):
        list(table_blocks(tmp_path / "t.csv"))
