"""Private records in Parquet chunks: a request rewrites those that hold its records, no others."""

import io

import pyarrow as pa
import pytest
from pyarrow import parquet

from expunge.store import read
from expunge.unlearning.linear import saved_rows
from expunge.workspace.forget import forget
from expunge.workspace.record_chunks import chunk_without, record_chunks, records_in
from expunge.workspace.status import status
from expunge.workspace.verify import verify
from tests.workspace.tables_made import fitted, private_people


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    monkeypatch.setattr(saved_rows, "CHUNK_ROWS", 16)


def files(workspace, table):
    return [chunk.file.name for chunk in read(workspace / "secret/saved").chunks(table)]


def rows_left(workspace):
    saved = read(workspace / "secret/saved")
    tables = [records_in(saved.rows(chunk)) for chunk in saved.chunks("records")]
    return pa.concat_tables(tables)


def test_the_chunks_together_are_the_table_and_follow_the_public_rows():
    table = pa.table({"id": [f"r{i}" for i in range(40)], "x": list(range(40))})
    chunks = list(record_chunks(table, first=200))
    assert [(chunk.first, chunk.stop) for chunk in chunks] == [(200, 216), (216, 232), (232, 240)]
    assert {(chunk.table, chunk.suffix) for chunk in chunks} == {("records", "parquet")}
    assert pa.concat_tables([records_in(chunk.content) for chunk in chunks]).equals(table)


def test_a_request_rewrites_the_chunks_of_its_records_and_keeps_all_others(tmp_path):
    workspace = fitted(tmp_path)
    before = {table: files(workspace, table) for table in ("rows", "records")}
    forget(workspace, ["00003", "00100"])
    rows = {(120 + 3) // 16, (120 + 100) // 16}
    records = {3 // 16, 100 // 16}
    for table, touched in (("rows", rows), ("records", records)):
        after = files(workspace, table)
        changed = {place for place, name in enumerate(before[table]) if after[place] != name}
        assert changed == touched
    left = rows_left(workspace)["id"].to_pylist()
    assert left == [id_ for id_ in private_people()["id"] if id_ not in ("00003", "00100")]
    assert verify(workspace)["valid"]


def test_requests_go_on_in_chunks_from_which_records_have_left(tmp_path):
    workspace = fitted(tmp_path)
    for record in ("00003", "00004", "00002"):
        forget(workspace, [record])
    assert rows_left(workspace).num_rows == 147
    assert verify(workspace)["valid"]


def test_a_request_that_touches_every_chunk_and_empties_one_works(tmp_path):
    private = private_people()
    workspace = fitted(tmp_path, private)
    gone = [id_ for row, id_ in enumerate(private["id"]) if 16 <= row < 32 or row % 16 == 5]
    before = files(workspace, "records")
    forget(workspace, gone)
    assert not set(before) & set(files(workspace, "records"))
    assert rows_left(workspace)["id"].to_pylist() == [i for i in private["id"] if i not in gone]
    assert status(workspace)["records"]["forgotten"] == len(gone)
    forget(workspace, [private["id"][0]])
    assert verify(workspace)["valid"]


def test_values_in_a_dictionary_leave_with_their_rows():
    """Parquet would keep a text that no row has any more."""
    colours = pa.array(["red", "ultraviolet", "red"]).dictionary_encode()
    table = pa.table({"id": ["a", "b", "c"], "colour": colours})
    (chunk,) = record_chunks(table, first=0)
    assert b"ultraviolet" in chunk.content
    entry = type("Entry", (), {"first": 0})
    left = chunk_without({1: "b"}, "id", chunk.content, entry, [1])
    assert b"ultraviolet" not in left
    assert records_in(left)["colour"].to_pylist() == ["red", "red"]


def test_metadata_of_the_file_that_was_given_is_not_kept():
    table = pa.table({"id": ["a"]}).replace_schema_metadata({b"note": b"about ann"})
    (chunk,) = record_chunks(table, first=0)
    assert b"about ann" not in chunk.content
    assert parquet.read_schema(io.BytesIO(chunk.content)).metadata is None
