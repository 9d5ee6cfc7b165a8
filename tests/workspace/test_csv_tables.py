"""CSV as people have it, against Python's own csv; what one private row holds refuses no table."""

import csv
import io
import itertools

import pyarrow as pa
import pytest

from expunge.errors import InvalidInput
from expunge.workspace.csv_tables import CsvForm, read_csv
from expunge.workspace.table_limits import FEWEST

NAMES = ["id", "age", "town"]
PEOPLE = [NAMES, ["a", "2,5", "Köln"], ["b", "-7,25", "São\nPaulo"], ["c", "", "x;y"]]


def written(rows, separator, encoding):
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=separator).writerows(rows)
    return text.getvalue().encode(encoding)


def read(path, content, text=(), **given):
    form = CsvForm(**{k: given.pop(k) for k in ("separator", "decimal", "encoding") if k in given})
    return read_csv(path, content, text, form, **given).to_pydict()


FORMS = list(itertools.product((";", "\t", "|", ","), ("utf-8", "utf-8-sig", "latin-1", "utf-16")))


@pytest.mark.parametrize(("separator", "encoding"), FORMS)
def test_every_form_reads_the_same(tmp_path, separator, encoding):
    content = written(PEOPLE, separator, encoding)
    found = read(tmp_path, content, ["id"], separator=separator, decimal=",", encoding=encoding)
    towns = ["Köln", "São\nPaulo", "x;y"]
    assert found == {"id": ["a", "b", "c"], "age": [2.5, -7.25, None], "town": towns}


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_another_separator_is_proposed(tmp_path, separator):
    content = written(PEOPLE, separator, "utf-8")
    shown = "tab" if separator == "\t" else f"'{separator}'"
    for text in ((), None):
        with pytest.raises(InvalidInput, match="looks like") as refused:
            read(tmp_path, content, text)
        assert refused.value.problem.endswith(f"add --separator {shown}")


@pytest.mark.parametrize(
    ("encoding", "proposed"), [("latin-1", "latin-1"), ("utf-16", "utf-16"), ("cp1252", "latin-1")]
)
def test_another_encoding_is_proposed_and_the_line_named(tmp_path, encoding, proposed):
    with pytest.raises(InvalidInput, match=f"add --text-encoding {proposed}") as refused:
        read(tmp_path, written(PEOPLE, ",", encoding))
    assert "line 2" in str(refused.value) or encoding == "utf-16"


RAGGED = b'id,age,town\na,1,x\nb,2\n\nc,3,y,z\nd,4,"u\nv"\ne\n'


def test_a_public_row_of_another_length_is_named_and_not_quoted(tmp_path):
    with pytest.raises(InvalidInput, match="row 2 has 2 cells, and the header 3"):
        read(tmp_path, RAGGED)
    with pytest.raises(InvalidInput) as refused:
        read(tmp_path, b"id,age\na,1\nb,2,secret\n")
    assert "secret" not in str(refused.value)


def test_a_private_row_of_another_length_is_blank_under_its_id_in_its_place(tmp_path):
    said = []
    found = read(tmp_path, RAGGED, None, id_column="id", notice=said.append)
    assert found == {
        "id": ["a", "b", "c", "d", "e"],
        "age": ["1", None, None, "4", None],
        "town": ["x", None, None, "u\nv", None],
    }
    (line,) = said
    assert "3 rows (2, 3, 5) of another length" in line
    assert "z" not in line.split("rows")[1].split("of another")[0]


def test_many_such_rows_are_counted_and_the_first_named(tmp_path):
    said = []
    read(tmp_path, b"id,x\n" + b"a\n" * 9 + b"b,1\n", None, id_column="id", notice=said.append)
    assert "9 rows (1, 2, 3, 4, 5, ...)" in said[0]


def test_a_file_with_no_row_of_the_right_length_is_refused(tmp_path):
    with pytest.raises(InvalidInput, match="row 1 has 1 cells, and the header 2"):
        read(tmp_path, b"id,x\n" + b"a\n" * FEWEST, None, id_column="id")


def test_one_row_of_another_length_is_no_such_file(tmp_path):
    """It may be all that is to be added."""
    table = read(tmp_path, b"id,x\na\n", None, id_column="id")
    assert table == {"id": ["a"], "x": [None]}


@pytest.mark.parametrize("place", range(3))
def test_the_id_may_stand_in_any_column(tmp_path, place):
    names = ["x", "y", "z"]
    found = read(tmp_path, b"x,y,z\n1,2,3\n4,5,6,7\n", None, id_column=names[place])
    assert found[names[place]] == [str(place + 1), str(place + 4)]
    assert [found[name][1] for name in names if name != names[place]] == [None, None]


def test_private_bytes_that_are_no_text_are_marked_and_counted(tmp_path):
    said = []
    found = read(tmp_path, "id,x\na,ü\nb,y\n".encode("latin-1"), None, notice=said.append)
    assert found == {"id": ["a", "b"], "x": ["\ufffd", "y"]}
    assert "1 characters are not utf-8" in said[0]
    assert "--text-encoding" in said[0]


@pytest.mark.parametrize("text", [(), None])
def test_a_quotation_mark_that_is_never_closed_is_refused(tmp_path, text):
    with pytest.raises(InvalidInput, match="row 2 opens a quotation mark"):
        read(tmp_path, b'id,x\na,1\nb,"2\nc,3\n', text)
    with pytest.raises(InvalidInput, match="quotation mark is never closed"):
        read(tmp_path, b'id,x\na,"' + b"x" * 200_000, text)
    assert read(tmp_path, b'id,x\na,5" pipe\n', text)["x"] == ['5" pipe']


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"separator": ""}, "separator"),
        ({"separator": "::"}, "separator"),
        ({"separator": "\n"}, "separator"),
        ({"separator": '"'}, "cannot separate"),
        ({"separator": "x"}, "cannot separate"),
        ({"decimal": ";"}, "decimal"),
        ({"encoding": "martian"}, "text_encoding"),
        ({"encoding": "rot13"}, "text_encoding"),
        ({"encoding": "\0"}, "text_encoding"),
    ],
)
def test_a_form_that_is_none_is_refused(given, complaint):
    with pytest.raises(InvalidInput, match=complaint):
        CsvForm(**given)


def test_types_are_guessed_where_they_are_public_and_nowhere_else(tmp_path):
    content = b"id,x,y\n007,1,2.5\n"
    assert read(tmp_path, content, ["id"]) == {"id": ["007"], "x": [1], "y": [2.5]}
    assert read(tmp_path, content, None) == {"id": ["007"], "x": ["1"], "y": ["2.5"]}
    assert read_csv(tmp_path, content, None, CsvForm()).schema.types == [pa.string()] * 3
