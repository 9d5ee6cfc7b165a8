"""Tables on disk: every kind is read, what cannot be is named, writing is whole."""

import csv
import gzip
import math

import pyarrow as pa
import pytest
from pyarrow import parquet

from expunge.errors import InvalidInput
from expunge.workspace.table_writer import write_table
from expunge.workspace.tables import ids_of, is_text, number_in, numbers_in, read_ids, read_table
from tests.workspace.tables_made import people, read, write

KINDS = [".csv", ".csv.gz", ".parquet", ".parquet.gz"]


@pytest.mark.parametrize("suffix", KINDS)
def test_every_kind_is_read(tmp_path, suffix):
    columns = people(30, seed=0)
    table = read_table(write(tmp_path / f"table{suffix}", columns), text=["id"])
    assert table.column_names == list(columns)
    for name in ("id", "age", "member", "label"):
        assert table[name].to_pylist() == columns[name]
    assert [one or None for one in table["colour"].to_pylist()] == columns["colour"]


@pytest.mark.parametrize("suffix", [*KINDS, ".pq", ".CSV", ".Parquet"])
def test_what_is_written_can_be_read(tmp_path, suffix):
    table = pa.table({"id": ["007", "08"], "share": [0.25, None], "note": ['a "b", c', "ü"]})
    write_table(table, tmp_path / f"out{suffix}")
    assert read_table(tmp_path / f"out{suffix}", text=["id"]).to_pydict() == table.to_pydict()
    assert [path.name for path in tmp_path.iterdir()] == [f"out{suffix}"]


def test_written_tables_are_what_others_read(tmp_path):
    table = pa.table({"id": ["007"], "share": [0.25]})
    write_table(table, tmp_path / "out.csv.gz")
    write_table(table, tmp_path / "out.parquet")
    assert read(tmp_path / "out.csv.gz") == {"id": ["007"], "share": ["0.25"]}
    assert read(tmp_path / "out.parquet") == {"id": ["007"], "share": [0.25]}


def test_only_columns_that_are_named_stay_text(tmp_path):
    path = write(tmp_path / "table.csv", {"id": ["007"], "code": ["007"]})
    assert read_table(path, text=["id", "absent"]).to_pydict() == {"id": ["007"], "code": [7]}


def test_a_byte_order_mark_is_no_part_of_the_first_name(tmp_path):
    path = tmp_path / "table.csv"
    path.write_bytes(b"\xef\xbb\xbfid,x\na,1\n")
    assert read_table(path).column_names == ["id", "x"]


def test_line_ends_of_other_systems_and_quoted_text_are_read(tmp_path):
    path = tmp_path / "table.csv"
    path.write_bytes(b'id,note\r\na,"one, two"\r\nb,"say ""so"""\r\n')
    assert read_table(path).to_pydict() == {"id": ["a", "b"], "note": ["one, two", 'say "so"']}


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("table.txt", b"id\na\n", "must end in .csv or .parquet"),
        ("table.gz", b"id\na\n", "must end in .csv or .parquet"),
        ("table", b"id\na\n", "must end in .csv or .parquet"),
        ("empty.csv", b"", "cannot be read"),
        ("header.csv", b"id,x\n", "no rows"),
        ("twice.csv", b"id,x,x\na,1,2\n", "column 'x' is there twice"),
        ("ragged.csv", b"id,x\na,1\nb,1,2\n", "row 2 has 3 cells, and the header 2"),
        ("wide.csv", "id,x\na,1\n".encode("utf-16"), "looks like utf-16"),
        ("plain.csv.gz", b"id,x\na,1\n", "cannot be read"),
        ("cut.csv.gz", gzip.compress(b"id,x\na,1\n" * 99, mtime=0)[:-9], "cannot be read"),
        (
            "broken.csv.gz",
            gzip.compress(b"id,x\na,1\n", mtime=0)[:12] + bytes(30),
            "cannot be read",
        ),
        ("long.csv", b"x" * 200_000, "cannot be read"),
        ("text.parquet", b"id,x\na,1\n", "cannot be read"),
        ("short.parquet", b"", "cannot be read"),
    ],
)
def test_what_is_no_table_is_refused_with_its_name(tmp_path, name, content, complaint):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InvalidInput, match=complaint) as refused:
        read_table(path)
    assert refused.value.field == str(path)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("place", [5, -20])
def test_a_damaged_parquet_file_is_refused_with_its_name(tmp_path, place):
    path = write(tmp_path / "table.parquet", people(30, seed=0))
    content = bytearray(path.read_bytes())
    content[place] ^= 255
    path.write_bytes(content)
    with pytest.raises(InvalidInput, match="cannot be read") as refused:
        read_table(path)
    assert refused.value.field == str(path)


def test_parquet_may_repeat_no_column_and_must_have_rows(tmp_path):
    twice = pa.table([pa.array([1]), pa.array([2])], names=["x", "x"])
    parquet.write_table(twice, tmp_path / "twice.parquet")
    with pytest.raises(InvalidInput, match=r"'x' is there twice|Multiple matches .*x"):
        read_table(tmp_path / "twice.parquet")
    parquet.write_table(pa.table({"x": pa.array([], pa.int64())}), tmp_path / "none.parquet")
    with pytest.raises(InvalidInput, match="no rows"):
        read_table(tmp_path / "none.parquet")


def test_a_missing_file_is_an_error_of_the_system(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_table(tmp_path / "none.csv")


@pytest.mark.parametrize(
    "ids",
    [
        pa.array(["007", "7"]),
        pa.array(["007", "7"], pa.large_string()),
        pa.array(["007", "7"]).dictionary_encode(),
    ],
)
def test_text_ids_are_kept_letter_by_letter(tmp_path, ids):
    assert ids_of(tmp_path, pa.table({"id": ids}), "id") == ["007", "7"]


def test_integer_ids_are_their_digits(tmp_path):
    assert ids_of(tmp_path, pa.table({"id": [3, -7, 2**62]}), "id") == ["3", "-7", str(2**62)]


@pytest.mark.parametrize(
    ("ids", "complaint"),
    [
        (pa.array(["a", "b", "a"]), "id 'a' is there twice"),
        (pa.array(["a", "b", None]), "row 3 has no id"),
        (pa.array(["a", "", "b"]), "row 2 has no id"),
        (pa.array([" ", "a", "b"]), "row 1 has no id"),
        (pa.array([1, None, 2]), "row 2 has no id"),
        (pa.array(["a", "b ", "c"]), "id 'b ' begins or ends with blanks"),
        (pa.array(["a", "b\nc", "d"]), r"id 'b\\nc' .* cannot be printed"),
        (pa.array([1.0, 2.0, 3.0]), "ids in 'id' are double"),
        (pa.array([True, False, True]), "ids in 'id' are bool"),
    ],
)
def test_what_is_no_id_is_refused(tmp_path, ids, complaint):
    with pytest.raises(InvalidInput, match=complaint):
        ids_of(tmp_path, pa.table({"id": ids}), "id")


def test_a_missing_id_column_is_named_beside_those_that_are_there(tmp_path):
    with pytest.raises(InvalidInput, match="no column 'id'; there are 'key', 'x'"):
        ids_of(tmp_path, pa.table({"key": [1], "x": [2]}), "id")


def test_ids_are_one_a_line():
    assert read_ids("\ufeff007\r\n\n  a b \n\nü\n") == ["007", "  a b ", "ü"]
    assert read_ids("\n \n") == []


def test_text_is_text_in_every_coat():
    for kind in (pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())):
        assert is_text(kind)
    for kind in (pa.int64(), pa.bool_(), pa.binary(), pa.dictionary(pa.int32(), pa.int64())):
        assert not is_text(kind)


@pytest.mark.parametrize(
    "text", ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "＝1+1"]
)
def test_what_a_spreadsheet_would_run_is_written_as_text(tmp_path, text):
    write_table(pa.table({"id": [text, "a=b"], text: ["-5", "+1.5e3"]}), tmp_path / "t.csv")
    with (tmp_path / "t.csv").open(newline="") as file:
        header, first, second = csv.reader(file)
    assert header == ["id", f"'{text}"]
    assert first == [f"'{text}", "-5"]
    assert second == ["a=b", "+1.5e3"]
    write_table(pa.table({"id": [text]}), tmp_path / "t.parquet")
    assert read_table(tmp_path / "t.parquet")["id"].to_pylist() == [text]


@pytest.mark.parametrize("odd", [None, "about 7", "1e400", " 5", "+7", "True", "0x10", "nan(1)"])
def test_numbers_of_a_column_are_those_of_its_texts_one_by_one(odd):
    """Arrow reads a column of plain numbers at once; with a text that it does not take, or reads
    otherwise, every text is read by itself.
    """
    texts = ["1", "-2.5", ".5", "5.", "1e-3", "0.1", "12345678901234567890", "NaN", "", "N/A", None]
    texts = [*texts, odd]
    values, unread = numbers_in(pa.chunked_array([texts], pa.string()))
    for text, value, bad in zip(texts, values, unread, strict=True):
        read = math.nan if text is None else number_in(text)
        assert bad == (read is None)
        assert value == read or (math.isnan(value) and (read is None or math.isnan(read)))
