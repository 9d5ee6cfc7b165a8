"""Tables block by block: the same rows as read whole, from one file or from many."""

import pyarrow as pa
import pytest

from expunge.errors import InvalidInput
from expunge.workspace import csv_tables
from expunge.workspace.csv_tables import PLAIN, CsvForm, read_csv
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


def test_a_row_of_another_length_keeps_its_id_in_its_place_whatever_the_blocks(
    tmp_path, monkeypatch
):
    """One is the first of all, two follow each other, and the last ends the file."""
    lines = [f"r{row},{row}" for row in range(50)]
    for odd in (0, 17, 18, 30, 49):
        lines[odd] = f"r{odd},{odd},secret" if odd % 2 else f"r{odd}"
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["id,x", *lines]) + "\n")
    for size in (24, 40, 100, 1 << 20):
        monkeypatch.setattr(csv_tables, "BLOCK_BYTES", size)
        monkeypatch.setattr(csv_tables, "READ", size)
        said = []
        blocks = [table for _, table in table_blocks(path, id_column="id", notice=said.append)]
        whole = pa.concat_tables(blocks).to_pydict()
        assert whole["id"] == [f"r{row}" for row in range(50)]
        odd = [row for row, value in enumerate(whole["x"]) if value is None]
        assert odd == [0, 17, 18, 30, 49]
        (line,) = said
        assert "5 rows (1, 18, 19, 31, 50) of another length" in line
        assert "secret" not in line


@pytest.mark.parametrize("form", [PLAIN, CsvForm("\t", ",", "utf-16"), CsvForm(";", ",", "cp1252")])
def test_blocks_of_a_csv_hold_what_the_whole_file_does(tmp_path, form, monkeypatch):
    """Quoted line ends, odd bytes and other forms; characters lie across the blocks' ends."""
    mark = form.separator
    rows = [f'"r{row}é"{mark}"{row}{form.decimal}5\n"' for row in range(200)]
    content = "\n".join([f"id{mark}x", *rows]).encode(form.encoding)
    if form is PLAIN:
        content = content.replace(b"r7\xc3\xa9", b"r7\xff\xc3").replace(
            b"r9\xc3\xa9", b"r9\xc3\xa9\xfe"
        )
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    told: list[str] = []
    whole = read_csv(path, content, None, form, id_column="id", notice=told.append)
    for size in (37, 1000):
        monkeypatch.setattr(csv_tables, "BLOCK_BYTES", size)
        monkeypatch.setattr(csv_tables, "READ", size)
        said: list[str] = []
        blocks = [one for _, one in table_blocks(path, form=form, notice=said.append)]
        assert pa.concat_tables(blocks).to_pydict() == whole.to_pydict()
        assert said == told
    assert bool(told) == (form is PLAIN)


def test_a_quotation_mark_that_nothing_closes_is_named_with_its_row(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('id,x\n1,2\n2,"3\n4,5\n')
    with pytest.raises(InvalidInput, match="row 2 opens a quotation mark that nothing closes"):
        list(table_blocks(path))


def test_a_column_that_is_there_twice_is_named(tmp_path):
    (tmp_path / "t.csv").write_text("id,x,x\n1,2,3\n")
    with pytest.raises(InvalidInput, match="column 'x' is there twice"):
        list(table_blocks(tmp_path / "t.csv"))
