"""Where files are looked for, and what is said when they are absent or broken."""

import csv
import gzip
import lzma

import numpy as np
import pytest

from experiments.datasets.files import BadData, DataMissing, arrays, data_folder, find, rows

CONTENT = 'label,text\n1,"two, and ""quotes"""\n0,"ends\nhere"\n'


@pytest.mark.parametrize(
    ("name", "packed"),
    [("a.csv", bytes), ("a.csv.gz", gzip.compress), ("a.csv.xz", lzma.compress)],
    ids=["plain", "gz", "xz"],
)
def test_rows_are_the_same_however_they_are_packed(tmp_path, name, packed):
    (tmp_path / name).write_bytes(packed(CONTENT.encode()))
    found = list(rows(tmp_path / name, ["label", "text"]))
    assert [row["text"] for row in found] == ['two, and "quotes"', "ends\nhere"]


def test_a_file_without_a_first_line_of_names_has_numbers(tmp_path):
    (tmp_path / "a.csv").write_text('"1","x"\n"2","y"\n')
    assert list(rows(tmp_path / "a.csv")) == [{"0": "1", "1": "x"}, {"0": "2", "1": "y"}]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.csv", b"", "no column 'label'"),
        ("a.csv", b"sentiment,text\n", "no column 'label'; it has sentiment, text"),
        ("a.csv", b"label,text\n1\n", "line 2: 1 fields, expected 2"),
        ("a.csv", b"label,text\n1,\xff\n", "not UTF-8"),
        ("a.csv.xz", lzma.compress(CONTENT.encode())[:-20], "not a whole compressed file"),
        ("a.csv.gz", b"nothing", "not a whole compressed file"),
    ],
    ids=["empty", "names", "short", "bytes", "half xz", "no gz"],
)
def test_another_file_is_refused_in_one_line(tmp_path, name, content, said):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(BadData, match=said) as error:
        list(rows(tmp_path / name, ["label", "text"]))
    assert "\n" not in str(error.value)


def test_a_missing_file_is_named_with_the_layout(tmp_path, monkeypatch):
    with pytest.raises(DataMissing, match=r"no a/b or b; set EXPUNGE_DATA to a folder with a/b"):
        find(tmp_path, ["a/b", "b"], "a/b")
    monkeypatch.delenv("EXPUNGE_DATA", raising=False)
    with pytest.raises(DataMissing, match="EXPUNGE_DATA is not set; set it to a folder with a/b"):
        data_folder(None, "a/b")
    monkeypatch.setenv("EXPUNGE_DATA", str(tmp_path))
    assert data_folder(None, "a/b") == tmp_path


def test_arrays_are_read_by_name_and_never_unpickled(tmp_path):
    np.savez(tmp_path / "a.npz", x=np.arange(3))
    assert arrays(tmp_path / "a.npz", ["x"])["x"].tolist() == [0, 1, 2]
    with pytest.raises(BadData, match="no array 'y'; it has x"):
        arrays(tmp_path / "a.npz", ["x", "y"])
    (tmp_path / "half.npz").write_bytes((tmp_path / "a.npz").read_bytes()[:-30])
    with pytest.raises(BadData, match="not a whole"):
        arrays(tmp_path / "half.npz", ["x"])
    np.savez(tmp_path / "objects.npz", x=np.array([{}], dtype=object))
    with pytest.raises(BadData, match="plain arrays"):
        arrays(tmp_path / "objects.npz", ["x"])


def test_reading_leaves_the_limit_of_cells_of_the_whole_process_as_it_was(tmp_path):
    (tmp_path / "texts.csv").write_text("id,text\n1," + "x" * 200_000 + "\n")
    before = csv.field_size_limit()
    (row,) = rows(tmp_path / "texts.csv", ["id", "text"])
    assert (row["id"], len(row["text"])) == ("1", 200_000)
    assert csv.field_size_limit() == before
