"""Tables as people have them: each works, or is one line with the remedy, and nothing is left."""

import gzip
import io
import unicodedata
from typing import NamedTuple

import pyarrow as pa
import pytest
from pyarrow import parquet

from tests.cli.test_main import expunge

ROWS = [(f"r{row}", str(20 + row), "red" if row % 3 else "blue", "yes" if row % 2 else "no")
        for row in range(12)]  # fmt: skip
HEADER = ("id", "age", "colour", "label")
MINE = [(f"p{row}", age, colour, label) for row, (_, age, colour, label) in enumerate(ROWS)]


def text(rows, header=HEADER, separator=","):
    lines = [separator.join(row) for row in (header, *rows)]
    return "\n".join(lines) + "\n"


def csv(rows=MINE, header=HEADER, separator=",", encoding="utf-8"):
    return text(rows, header, separator).encode(encoding)


def column(name, values, rows=MINE):
    """The table with other values in a column, as many as are given."""
    place = HEADER.index(name)
    changed = [list(row) for row in rows]
    for row, value in zip(changed, values, strict=False):
        row[place] = value
    return csv(changed)


def line(number, content, rows=MINE):
    """The table with a line of one's own in place of a row, counted from 1."""
    lines = csv(rows).split(b"\n")
    lines[number] = content
    return b"\n".join(lines)


def arrow(**columns):
    """A Parquet file of the private table with other columns, or further ones."""
    plain = {name: [row[place] for row in MINE] for place, name in enumerate(HEADER)}
    plain["age"] = [int(age) for age in plain["age"]]
    buffer = io.BytesIO()
    parquet.write_table(pa.table(plain | columns), buffer)
    return buffer.getvalue()


class Case(NamedTuple):
    """A malformed table, and what comes of it.

    Args:
        which: The table that is malformed.
        content: Of the file.
        complaint: In the one line; None if it works.
        notice: On stderr of a fit that works; None for nothing.
        flags: Of the command.
        ending: Of the file's name.
    """

    which: str
    content: bytes
    complaint: str | None = None
    notice: str | None = None
    flags: tuple[str, ...] = ()
    ending: str = ".csv"


NFC, NFD = (unicodedata.normalize(form, "José") for form in ("NFC", "NFD"))
PUBLIC = csv(ROWS)
TWELVE = range(12)
CASES = {
    # how the file is written
    "a byte order mark": Case("private", b"\xef\xbb\xbf" + csv()),
    "Windows line ends": Case("private", csv().replace(b"\n", b"\r\n")),
    "old Macintosh line ends": Case("private", csv().replace(b"\n", b"\r")),
    "no last line end": Case("private", csv()[:-1]),
    "empty lines in between": Case("private", csv().replace(b"\n", b"\n\n")),
    "an empty file": Case("private", b"", "Empty CSV file"),
    "an empty public file": Case("public", b"", "Empty CSV file"),
    "a line end alone": Case("private", b"\n", "private.csv"),
    "a header only": Case("private", csv([]), "no rows"),
    "a public header only": Case("public", csv([]), "no rows"),
    "semicolons": Case("private", csv(separator=";"), "add --separator ';'"),
    "public semicolons": Case("public", csv(ROWS, separator=";"), "add --separator ';'"),
    "tabs": Case("private", csv(separator="\t"), "add --separator tab"),
    "bars": Case("private", csv(separator="|"), "add --separator '|'"),
    "a separator that is not there": Case(
        "private", csv(), "add --separator ','", flags=("--separator", ";")
    ),
    "a separator of two characters": Case(
        "private", csv(), "not one character", flags=("--separator", "::")
    ),
    "a decimal mark that is none": Case(
        "private", csv(), "neither '.' nor ','", flags=("--decimal", ";")
    ),
    "an encoding that is none": Case(
        "private", csv(), "is no encoding of text", flags=("--text-encoding", "martian")
    ),
    "UTF-16": Case("private", csv(encoding="utf-16"), "add --text-encoding utf-16"),
    "public UTF-16": Case("public", csv(ROWS, encoding="utf-16"), "add --text-encoding utf-16"),
    "a public latin-1": Case(
        "public", column("colour", ["grün"], ROWS).decode().encode("latin-1"),
        "line 2 is not utf-8: add --text-encoding latin-1",
    ),
    "a private latin-1": Case(
        "private", column("colour", ["grün"]).decode().encode("latin-1"),
        notice="1 characters are not utf-8",
    ),
    "zeros": Case("private", bytes(100), "private.csv"),
    "a gzipped file without the ending": Case("private", gzip.compress(csv()), "private.csv"),
    "the ending without the gzip": Case("private", csv(), "cannot be read", ending=".csv.gz"),
    "half a gzipped file": Case(
        "private", gzip.compress(csv())[:-20], "cannot be read", ending=".csv.gz"
    ),
    "Excel's own format": Case("private", b"PK\x03\x04", "must end in .csv", ending=".xlsx"),
    # rows and cells
    "a public row too short": Case("public", line(5, b"r4,24", ROWS), "row 5 has 2 cells"),
    "a public row too long": Case("public", line(5, b"r4,2,4,red,no", ROWS), "row 5 has 5 cells"),
    "a private row too short": Case("private", line(5, b"p4,24"), notice="1 row (5)"),
    "a private row too long": Case("private", line(5, b"p4,2,4,red,no"), notice="1 row (5)"),
    "every private row too long": Case(
        "private", csv([(*row, "x") for row in MINE]), "row 1 has 5 cells, and the header 4"
    ),
    "a private row too short for its id": Case(
        "private", csv([row[1:] + row[:1] for row in MINE], (*HEADER[1:], "id")).replace(
            b"24,blue,no,p4\n", b"24\n").replace(b"24,red,no,p4\n", b"24\n"),
        "row 5 has no id",
    ),
    "quoted line ends": Case("private", column("colour", ['"a\nb"'])),
    "public quoted line ends": Case("public", column("colour", ['"a\nb"'], ROWS)),
    "quoted separators": Case("private", column("colour", ['"a,b"'])),
    "doubled quotation marks": Case("private", column("colour", ['"say ""a"""'])),
    "a quotation mark that nothing closes": Case(
        "private", column("colour", ["red", '"red']), "row 2 opens a quotation mark"
    ),
    "a public mark that nothing closes": Case(
        "public", column("colour", ['"red'], ROWS), "row 1 opens a quotation mark"
    ),
    "a quotation mark in the middle": Case("private", column("colour", ['5" pipe'])),
    "a column twice": Case(
        "private", csv([(*row, "x") for row in MINE], (*HEADER, "age")), "'age' is there twice"
    ),
    "a public column twice": Case(
        "public", csv([(*row, "x") for row in ROWS], (*HEADER, "age")), "'age' is there twice"
    ),
    "spaces in the header": Case(
        "private", csv(header=("id", " age", "colour", "label")), "column ' age' is not in"
    ),
    "a further private column": Case(
        "private", csv([(*row, "x") for row in MINE], (*HEADER, "more")), '--drop "more"'
    ),
    "no id column": Case(
        "private", csv(header=("key", *HEADER[1:])), "no column 'id'; there are 'key'"
    ),
    "no label column": Case("private", csv(header=(*HEADER[:3], "left")), "no column 'label'"),
    "no feature": Case("both", csv([(row[0], row[3]) for row in ROWS], ("id", "label")),
                       "no columns beside id and label"),
    # ids
    "an id twice": Case("private", column("id", ["p1"]), "id 'p1' is there twice"),
    "an id in both forms of Unicode": Case(
        "private", column("id", [NFC, NFD]), "is there twice"
    ),
    "an id in the other form": Case("private", column("id", [NFD])),
    "no id": Case("private", column("id", [""]), "row 1 has no id"),
    "spaces around an id": Case("private", column("id", [" p0"]), "begins or ends with blanks"),
    "the id of a public record": Case("private", column("id", ["r3"]), "in the public table as"),
    # values
    "a decimal comma": Case(
        "public", column("age", [f'"{row},5"' for row in TWELVE], ROWS), "add --decimal ','"
    ),
    "a stray question mark": Case(
        "public", column("age", ["20", "?"], ROWS), "'?' in row 2 is not a number"
    ),
    "a stray private question mark": Case(
        "private", column("age", ["20", "?"]), notice="1 of 12 cannot be read as a number"
    ),
    "a column of missing values": Case(
        "public", column("age", [""] * 12, ROWS), "column 'age' is empty"
    ),
    "infinity": Case("public", column("age", ["inf"], ROWS), "holds a number of 1e+30 or more"),
    "a private infinity": Case("private", column("age", ["1e400"]), notice="1 of 12"),
    "dates": Case("public", column("age", ["2020-01-01"] * 12, ROWS), "column 'age' is date"),
    "no private number": Case("private", column("age", ["x"] * 12), "no value can be read as a"),
    # labels
    "one class": Case("both", column("label", ["yes"] * 12, ROWS)),
    "no public label": Case("public", column("label", [""], ROWS), "row 1 has no label"),
    "no private label": Case("private", column("label", [""]), notice="1 of 12"),
    "a public label that is NaN": Case(
        "public", column("label", ["nan", *"010101010101"[1:]], ROWS), "row 1 has no label"
    ),
    "a private label that nobody knows": Case(
        "private", column("label", ["maybe"]), notice="1 of 12"
    ),
    "fractions for classes": Case(
        "public", column("label", ["0.5"] * 12, ROWS), "use --task regression"
    ),
    # Parquet
    "nested Parquet": Case(
        "private", arrow(age=[{"years": 3}] * 12), "column 'age' is struct", ending=".parquet"
    ),
    "Parquet of lists": Case(
        "private", arrow(colour=[["red"]] * 12), "column 'colour'", ending=".parquet"
    ),
    "Parquet that is none": Case("private", csv(), "cannot be read", ending=".parquet"),
    "Parquet of fractions for ids": Case(
        "private", arrow(id=[0.5] * 12), "ids in 'id' are double", ending=".parquet"
    ),
}  # fmt: skip


def fit(tmp_path, case):
    """Run `fit` with the malformed table; the other one is whole."""
    files = {}
    for which, whole in (("private", csv()), ("public", PUBLIC)):
        malformed = case.which in (which, "both")
        files[which] = tmp_path / f"{which}{case.ending if malformed else '.csv'}"
        content = case.content if malformed else whole
        if case.which == "both" and which == "private":
            content = content.replace(b"\nr", b"\np").replace(b"\n\0r", b"\n\0p")
        files[which].write_bytes(content)
    tables = [word for which, file in files.items() for word in (f"--{which}", file)]
    columns = ("--id", "id", "--label", "label")
    return expunge("fit", tmp_path / "made", *tables, *columns, *case.flags, "--json")


def test_there_are_as_many_as_were_promised():
    assert len(CASES) >= 60


@pytest.mark.parametrize("name", CASES)
def test_a_malformed_table_works_or_is_one_line_with_the_remedy(tmp_path, name):
    case = CASES[name]
    outcome = fit(tmp_path, case)
    if case.complaint is not None:
        assert case.complaint in outcome.complaint
        assert not (tmp_path / "made").exists()
        assert len(list(tmp_path.iterdir())) == 2
        return
    assert outcome.status == 0, outcome
    records = outcome.document["records"]
    assert (records["private"], records["public"]) == (12, 12)
    assert (case.notice or "") in outcome.err
    assert bool(outcome.err) == bool(case.notice)


@pytest.mark.parametrize(
    ("content", "flags"),
    [
        (csv(ROWS, separator=";"), ("--separator", ";")),
        (csv(ROWS, separator="\t"), ("--separator", "tab")),
        (csv(ROWS, encoding="utf-16"), ("--text-encoding", "utf-16")),
        (
            csv([(a, f"{b},5", *rest) for a, b, *rest in ROWS], separator=";"),
            ("--separator", ";", "--decimal", ","),
        ),
    ],
)
def test_what_a_complaint_proposes_settles_it(tmp_path, content, flags):
    outcome = fit(tmp_path, Case("both", content, flags=flags))
    assert outcome.status == 0, outcome
    assert outcome.err == ""
    age = outcome.document["records"]
    assert (age["private"], age["public"]) == (12, 12)
