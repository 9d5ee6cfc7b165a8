"""Accuracy on rows of one's own: never on rows of the workspace, always with whose they are."""

import pytest

from expunge.errors import InvalidInput
from expunge.workspace.folder import Folder
from expunge.workspace.held_out import evaluate_held_out
from expunge.workspace.predict import predict
from expunge.workspace.tables import read_table
from tests.workspace.tables_made import people, private_people, public_people, usual, write


@pytest.fixture
def folder(tmp_path):
    return Folder.opened(usual(tmp_path))


def evaluated(folder, tmp_path, columns):
    file = write(tmp_path / "test.csv", columns)
    return evaluate_held_out(folder, file)


def unseen():
    return people(80, seed=9, prefix="5")


def test_the_accuracy_is_that_of_the_predictions(folder, tmp_path):
    found = evaluated(folder, tmp_path, unseen())
    predict(folder.path, tmp_path / "test.csv", tmp_path / "said.parquet")
    said = read_table(tmp_path / "said.parquet", [])["prediction"].to_pylist()
    right = sum(one == other for one, other in zip(said, unseen()["label"], strict=True))
    assert found["records"] == 80
    assert found["accuracy"] == right / 80
    assert found["on"] == "rows of test.csv, none with an id of this workspace"


@pytest.mark.parametrize("known", [private_people, public_people])
def test_rows_of_the_workspace_are_refused(folder, tmp_path, known):
    columns = {name: values[:3] for name, values in known().items()}
    with pytest.raises(InvalidInput, match=r"and 2 more is in the workspace; test on rows"):
        evaluated(folder, tmp_path, columns)


def test_rows_without_ids_are_the_operator_s_word(folder, tmp_path):
    columns = unseen()
    columns.pop("id")
    assert "the operator's word" in evaluated(folder, tmp_path, columns)["on"]


def test_a_label_that_the_model_does_not_know_is_named(folder, tmp_path):
    columns = unseen()
    columns["label"][3] = "perhaps"
    with pytest.raises(InvalidInput, match="label 'perhaps' is none of the model's"):
        evaluated(folder, tmp_path, columns)


def test_an_empty_table_is_refused(folder, tmp_path):
    with pytest.raises(InvalidInput, match=r"test.csv"):
        evaluated(folder, tmp_path, {name: [] for name in unseen()})
