"""Each value in its own row: no dictionary outlives the rows that its values came from."""

import io

import pyarrow as pa
import pytest
from pyarrow import parquet

from expunge.errors import InvalidInput
from expunge.workspace import plain_columns as module
from expunge.workspace.fit import fit
from expunge.workspace.forget import forget
from expunge.workspace.options import Options
from expunge.workspace.plain_columns import plain_columns, plain_type
from expunge.workspace.record_chunks import chunk_without, records_in
from tests.workspace.tables_made import private_chunk, private_people, public_people, write

MARKS = [f"mark{row}kram" for row in range(150)]
CODED = pa.array(MARKS).dictionary_encode()
ONE_EACH = pa.array(range(len(MARKS) + 1), pa.int32())
KINDS = {
    "dictionary": CODED,
    "list": pa.ListArray.from_arrays(ONE_EACH, CODED),
    "structure": pa.StructArray.from_arrays([CODED], ["a"]),
    "map": pa.MapArray.from_arrays(ONE_EACH, pa.array(MARKS), CODED),
    "fixed list": pa.FixedSizeListArray.from_arrays(CODED, 1),
    "view": pa.array(MARKS, pa.string_view()),
}


def texts(column):
    """Every text in a column's memory, those of no row included."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        return texts(column.dictionary)
    if pa.types.is_map(kind):
        return texts(column.keys) | texts(column.items)
    if pa.types.is_struct(kind):
        return set().union(*(texts(column.field(place)) for place in range(kind.num_fields)))
    return texts(column.values) if pa.types.is_nested(kind) else set(column.to_pylist())


@pytest.mark.parametrize("kind", KINDS)
def test_values_leave_with_their_rows_however_they_are_nested(kind):
    table = pa.table({"id": MARKS, "extra": KINDS[kind]})
    plain = plain_columns(table)
    assert plain.to_pylist() == table.to_pylist()
    left = plain.filter(pa.array([row != 5 for row in range(150)])).combine_chunks()
    assert set(MARKS[:5]) <= texts(left["extra"].chunk(0))
    again = parquet.read_table(pa.BufferReader(written(left)))
    assert MARKS[5] not in texts(again["extra"].chunk(0))


def test_a_list_of_a_dictionary_would_keep_them():
    """What the test above would see."""
    table = pa.table({"extra": KINDS["list"]}).filter(pa.array([row != 5 for row in range(150)]))
    again = parquet.read_table(pa.BufferReader(written(table)))
    assert MARKS[5] in texts(again["extra"].chunk(0))


def written(table):
    buffer = io.BytesIO()
    parquet.write_table(table, buffer)
    return buffer.getvalue()


@pytest.mark.parametrize(("kind", "kept"), [("dictionary", True), ("view", True), ("list", False)])
def test_a_request_takes_them_out_of_a_workspace(tmp_path, kind, kept):
    """What is nested is not even read (`parquet_tables`)."""
    private = private_people()
    given = write(tmp_path / "private.parquet", private | {"extra": KINDS[kind]})
    public = write(tmp_path / "public.parquet", public_people())
    workspace = tmp_path / "workspace"
    fit(workspace, given, public, Options(id="id", label="label", drop=("extra",)))
    assert kept == (
        MARKS[5] in texts(records_in(private_chunk(workspace).read_bytes())["extra"].chunk(0))
    )
    forget(workspace, [private["id"][5]])
    left = records_in(private_chunk(workspace).read_bytes())
    assert MARKS[5] not in texts(left["extra"].chunk(0))
    assert left["id"].to_pylist() == private["id"][:5] + private["id"][6:]


def test_chunks_of_an_earlier_version_lose_theirs_when_they_are_written_again():
    content = written(pa.table({"id": MARKS, "extra": KINDS["list"]}))
    entry = type("Entry", (), {"first": 0})
    left = records_in(chunk_without({5: MARKS[5]}, "id", content, entry, [5]))
    assert MARKS[5] not in texts(left["extra"].chunk(0))


def test_a_column_from_which_no_row_can_be_erased_is_refused_by_name(monkeypatch):
    monkeypatch.setattr(module, "plain_type", lambda kind: kind)
    with pytest.raises(InvalidInput, match=r"t.parquet: column 'extra' is string_view.*leave it"):
        plain_columns(pa.table({"extra": KINDS["view"]}), "t.parquet")


def test_what_a_schema_tells_of_its_fields_is_not_kept():
    field = pa.field("id", pa.string(), metadata={"note": "about ann"})
    plain = plain_columns(pa.table([pa.array(["a"])], schema=pa.schema([field])))
    assert plain.schema.field("id").metadata is None


def test_plain_types_stay_as_they_are():
    for kind in (pa.int64(), pa.string(), pa.large_string(), pa.decimal128(10, 2)):
        assert plain_type(kind) == kind
