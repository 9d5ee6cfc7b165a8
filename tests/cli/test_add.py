"""`expunge add`: one document with --json, a table for people, and one line for a complaint."""

import pytest

from tests.cli.test_main import expunge
from tests.cli.workspaces import made, printed, refused
from tests.workspace.tables_made import people, private_people, write


@pytest.fixture
def workspace(tmp_path):
    return made(tmp_path)


@pytest.fixture
def more(tmp_path):
    return write(tmp_path / "more.csv", people(3, seed=9, prefix="1"))


def test_one_document_says_how_many_joined(workspace, more):
    document = printed("add", workspace, "--private", more)
    assert document["joined"] == 3
    assert document["records"]["private"] == 153
    assert printed("status", workspace)["additions"] == document["additions"]
    assert "'10000' is there already" in refused("add", workspace, "--private", more)


def test_people_see_what_joined_and_when(workspace, more):
    outcome = expunge("add", workspace, "--private", more)
    assert outcome.status == 0
    assert "3 records joined at model 2" in outcome.out
    assert "honoured" in outcome.out


def test_records_are_corrected_by_name(workspace, tmp_path):
    columns = {name: column[3:5] for name, column in private_people().items()}
    file = write(tmp_path / "right.csv", columns)
    complaint = refused("add", workspace, "--private", file)
    assert "'00003' is there already; a record that is to be corrected needs --replace" in complaint
    document = printed("add", workspace, "--private", file, "--replace", "--name", "t1")
    assert document["records"]["forgotten"] == 2
    assert document["requests"][0]["name"] == "t1"
    assert "the name 't1' is taken" in refused(
        "add", workspace, "--private", file, "--replace", "--name", "t1"
    )


def test_who_was_forgotten_comes_back_only_if_that_is_said(workspace, tmp_path):
    printed("forget", workspace, "00003")
    file = write(tmp_path / "back.csv", {n: c[3:4] for n, c in private_people().items()})
    assert "--again lets it come back" in refused("add", workspace, "--private", file)
    assert printed("add", workspace, "--private", file, "--again")["joined"] == 1


def test_values_that_cannot_be_read_are_told_on_stderr(workspace, tmp_path):
    columns = people(3, seed=9, prefix="1") | {"age": ["30", "old", "31"]}
    outcome = expunge("add", workspace, "--private", write(tmp_path / "odd.csv", columns))
    assert outcome.status == 0
    assert "column 'age': 1 of 3 cannot be read as a number" in outcome.err


def test_what_is_no_workspace_is_refused(tmp_path, more):
    assert "not a workspace" in refused("add", tmp_path / "nothing", "--private", more)
