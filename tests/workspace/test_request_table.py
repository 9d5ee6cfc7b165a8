"""A table of requests: names and ids, as they stand there."""

import pyarrow as pa
import pytest
from pyarrow import parquet

from expunge.errors import InvalidInput
from expunge.workspace.request_table import read_requests
from tests.workspace.tables_made import fitted, people, usual


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    return usual(tmp_path_factory.mktemp("requests"))


def read(workspace, text):
    file = workspace.parent / "requests.csv"
    file.write_text(text)
    return read_requests(workspace, file)


def test_ids_are_by_request_in_the_order_of_the_rows(workspace):
    text = "id,request,why\n00003,ticket 8,x\n00001, ticket 7 ,\n00004,ticket 8,y\n"
    assert read(workspace, text) == {"ticket 8": ["00003", "00004"], "ticket 7": ["00001"]}


def test_the_column_of_ids_may_be_called_as_in_the_tables(tmp_path):
    tables = people(60, seed=2, prefix="0"), people(60, seed=1, prefix="9")
    named = [{"customer": columns.pop("id")} | columns for columns in tables]
    workspace = fitted(tmp_path, *named, id="customer")
    assert read(workspace, "request,customer\n7,00003\n") == {"7": ["00003"]}
    assert read(workspace, "request,id\n7,00003\n") == {"7": ["00003"]}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("request,ids\na,00003\n", "no column 'id'; there are 'request', 'ids'"),
        ("name,id\na,00003\n", "no column 'request'"),
        ("request,id\na,00003\n ,00004\n", "row 2 has no name of a request"),
        ("request,id\na,00003\nb,\n", "row 2 has no id"),
        ("request,id\n", "no rows"),
    ],
)
def test_what_is_no_table_of_requests_is_refused_by_name(workspace, text, complaint):
    with pytest.raises(InvalidInput, match=complaint):
        read(workspace, text)


@pytest.mark.parametrize("cells", [[["a"]], [b"\xff"]], ids=["lists", "bytes that are no text"])
@pytest.mark.parametrize("name", ["request", "id"])
def test_cells_that_are_no_texts_are_refused_by_their_column(workspace, tmp_path, name, cells):
    file = tmp_path / "requests.parquet"
    parquet.write_table(pa.table({"request": ["a"], "id": ["00003"]} | {name: cells}), file)
    with pytest.raises(InvalidInput, match=f"column '{name}'"):
        read_requests(workspace, file)
