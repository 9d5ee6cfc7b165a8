"""What is known before private records are read: from public ones and declarations alone."""

import pytest

from expunge.errors import InvalidInput
from expunge.workspace.fit_tables import Sources, read_given
from expunge.workspace.options import Options
from tests.workspace.tables_made import DECLARED, private_people, public_people, write
from tests.workspace.tables_made import write_declared as declare

OPTIONS = Options(id="id", label="label")


def given(folder, private=None, public=None, options=OPTIONS, **more):
    mine = write(folder / "private.csv", private_people() if private is None else private)
    theirs = None if public is None else write(folder / "public.csv", public)
    return read_given(Sources(mine, theirs, **more), options, print, print)


def test_rules_and_labels_are_the_public_ones_and_every_block_is_still_to_be_read(tmp_path):
    known, blocks = given(tmp_path, public=public_people())
    assert known.public.ids == public_people()["id"]
    assert known.public_rows[0].shape == (120, known.encoding.width)
    assert known.public_rows[1].tolist() == public_people()["label"]
    assert known.declared == set()
    assert sum(table.num_rows for _, table in blocks) == 150


def test_private_values_shape_nothing(tmp_path):
    other = private_people() | {"age": [1e6] * 150, "colour": ["violet"] * 150}
    known, again = (given(tmp_path, one, public_people())[0] for one in (private_people(), other))
    assert known.encoding == again.encoding


def test_what_is_declared_needs_no_public_records(tmp_path):
    options = Options(id="id", label="label", classes=("no", "yes"))
    file = declare(tmp_path / "encoding.json")
    known, _ = given(tmp_path, options=options, encoding=file)
    assert known.public is None
    assert known.declared == set(DECLARED)


def test_a_column_is_declared_once(tmp_path):
    file = declare(tmp_path / "encoding.json")
    schema = tmp_path / "schema.json"
    schema.write_text('{"ranges": {"age": [0, 100]}}')
    with pytest.raises(InvalidInput, match=r"'age' is declared in .* as well"):
        given(tmp_path, public=public_people(), encoding=file, schema=schema)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"label": None}, "no column 'label'"),
        ({"id": ["90000", *private_people()["id"][1:]]}, "id '90000' is in the public table"),
    ],
)
def test_a_table_that_cannot_be_fitted_is_refused_before_its_rows_are_written(
    tmp_path, change, said
):
    columns = {n: v for n, v in (private_people() | change).items() if v is not None}
    with pytest.raises(InvalidInput, match=said):
        given(tmp_path, columns, public_people())
