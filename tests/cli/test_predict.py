"""`expunge predict`: a table in, a table out."""

import pytest

from tests.cli.test_main import expunge
from tests.cli.workspaces import made, printed, refused
from tests.workspace.tables_made import people, read, write


@pytest.fixture
def workspace(tmp_path):
    return made(tmp_path)


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet"])
def test_predictions_are_written_and_the_document_says_where(workspace, tmp_path, suffix):
    file = write(tmp_path / f"new{suffix}", people(30, seed=5))
    output = tmp_path / f"out{suffix}"
    document = printed("predict", workspace, file, "--output", output)
    assert document["rows"] == 30
    assert document["output"] == str(output)
    assert document["model"]["sha256"] == printed("status", workspace)["model"]["sha256"]
    found = read(output)
    assert list(found) == ["id", "prediction", "probability_no", "probability_yes"]
    assert found["id"] == people(30, seed=5)["id"]


def test_people_read_how_many_and_where(workspace, tmp_path):
    file = write(tmp_path / "new.csv", people(30, seed=5))
    outcome = expunge("predict", workspace, file, "--output", tmp_path / "out.csv")
    assert outcome.status == 0
    assert outcome.out == f"30 predictions: {tmp_path / 'out.csv'}\n"


@pytest.mark.parametrize(
    ("file", "output", "named"),
    [
        ("none.csv", "out.csv", "none.csv"),
        ("bad.csv", "out.csv", "no column 'age'"),
        ("new.csv", "out.txt", "out.txt"),
        ("new.csv", "none/out.csv", "out.csv"),
        ("new.csv", "folder.csv", "folder.csv"),
    ],
)
def test_bad_input_is_one_line_that_names_it_and_nothing_is_written(
    workspace, tmp_path, file, output, named
):
    write(tmp_path / "new.csv", people(5, seed=5))
    write(tmp_path / "bad.csv", {"id": ["a"], "colour": ["red"], "member": [True]})
    (tmp_path / "folder.csv").mkdir()
    before = sorted(tmp_path.rglob("*"))
    arguments = ("predict", workspace, tmp_path / file, "--output", tmp_path / output)
    assert named in refused(*arguments)
    assert sorted(tmp_path.rglob("*")) == before


def test_an_output_must_be_named(workspace, tmp_path):
    assert "--output" in refused("predict", workspace, tmp_path / "public.csv")


def test_a_changed_model_does_not_predict(workspace, tmp_path):
    (model,) = (workspace / "models").iterdir()
    model.write_bytes(model.read_bytes()[:-1] + b"\x01")
    arguments = ("predict", workspace, tmp_path / "public.csv", "--output", tmp_path / "out.csv")
    assert "is not the model that the ledger names" in refused(*arguments)
    assert not (tmp_path / "out.csv").exists()


def test_what_is_no_workspace_is_refused(tmp_path):
    file = write(tmp_path / "new.csv", people(5, seed=5))
    arguments = ("predict", tmp_path / "none", file, "--output", tmp_path / "out.csv")
    assert "not a workspace" in refused(*arguments)
