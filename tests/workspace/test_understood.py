"""What was understood follows from public records and declarations; odd columns are named."""

import json

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from expunge.errors import InvalidInput
from expunge.workspace.status import status
from expunge.workspace.stored_settings import read_object
from tests.workspace.tables_made import (
    change_ledger,
    fitted,
    people,
    private_people,
    public_people,
    usual,
)


def understood(workspace):
    return status(workspace)["understood"]


def test_columns_labels_and_settings_are_as_resolved_with_their_origin(tmp_path):
    document = understood(usual(tmp_path))
    kinds = {column["name"]: column["becomes"] for column in document["columns"]}
    assert kinds == {"age": "number", "colour": "categories", "member": "number"}
    ages = [age for age in public_people()["age"] if age is not None]
    assert document["columns"][0]["center"] == pytest.approx(np.mean(ages))
    assert document["columns"][1]["categories"] == 3
    assert {column["from"] for column in document["columns"]} == {"public records"}
    assert document["width"] == 5
    assert document["labels"] == {"count": 2, "from": "public records"}
    settings = {one["name"]: one for one in document["settings"]}
    assert settings["delta"]["value"] == 1e-5
    assert settings["delta"]["from"] == "1e-5 or 1/(10 n), whichever is less"
    assert settings["row_norm"]["from"] == "public records"
    assert settings["l2"] == {"name": "l2", "value": 1e-3, "from": "--l2, or its default"}
    assert settings["strategy"]["value"] == "residual"


def test_what_was_declared_says_so(tmp_path):
    declare = {"age": {"center": 40, "scale": 10}}
    document = understood(
        fitted(tmp_path, declare=declare, row_norm=0.5, classes=("no", "yes"), drop=("member",))
    )
    assert [column["from"] for column in document["columns"]] == ["declared", "public records"]
    assert document["dropped"] == ["member"]
    assert document["labels"]["from"] == "--classes"
    settings = {one["name"]: one for one in document["settings"]}
    assert settings["row_norm"]["value"] == 0.5
    assert 0 < document["rows_scaled_down"]["public"] <= document["rows_scaled_down"]["of"] == 120


def test_private_records_change_nothing_of_it(tmp_path):
    documents = []
    for name, private in (("one", people(150, seed=2)), ("other", people(60, seed=3))):
        private["colour"] = [f"{name} {row}" for row in range(len(private["id"]))]
        (tmp_path / name).mkdir()
        documents.append(understood(fitted(tmp_path / name, private)))
    assert documents[0] == documents[1]
    assert "one" not in json.dumps(documents[0]).replace("None", "")


def test_folds_score_models_of_public_records_on_those_they_have_not_seen(tmp_path):
    folds = understood(usual(tmp_path))["public_folds"]
    public = public_people()
    ages = np.array([age or 40 for age in public["age"]]) / 10 - 4
    rows = np.stack([ages, public["member"]], axis=1)
    labels, fold = np.array(public["label"]), np.arange(120) % 5
    right = [
        LogisticRegression().fit(rows[fold != one], labels[fold != one]).predict(rows[fold == one])
        == labels[fold == one]
        for one in range(5)
    ]
    assert folds["rows"] == 120
    assert folds["accuracy"] == pytest.approx(np.mean(np.concatenate(right)), abs=0.08)
    assert folds["majority"] == pytest.approx(max(np.mean(labels == one) for one in labels))


def test_labels_that_nothing_tells_are_not_learned_by_heart(tmp_path):
    """The planted fault would be a model that is scored on rows it has seen."""
    public = public_people()
    public["label"] = ["yes" if row % 2 else "no" for row in range(120)]
    public["age"] = [float(row % 7) for row in range(120)]
    folds = understood(fitted(tmp_path, public=public))["public_folds"]
    assert folds["accuracy"] < 0.7


def test_a_regression_has_r2(tmp_path):
    tables = private_people(), public_people()
    for table in tables:
        table["label"] = [(age or 40.0) / 10 for age in table["age"]]
    document = understood(fitted(tmp_path, *tables, task="regression"))
    assert 0.5 < document["public_folds"]["r2"] <= 1
    assert document["labels"] is None
    assert document["settings"][-1]["from"] == "the largest public |label|"


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ([f"customer {row}" for row in range(120)], "120 different texts in 120 public rows"),
        ([f"{1 + row % 28}/{1 + row % 12}/2020" for row in range(120)], "looks like dates"),
        ([7] * 120, "the same number in every public row"),
    ],
)
def test_an_odd_column_is_named_with_the_flag_that_settles_it(tmp_path, values, problem):
    public, private = public_people(), private_people()
    public["odd"], private["odd"] = values, [values[0]] * 150
    (odd,) = understood(fitted(tmp_path, private, public))["suspicious"]
    assert odd["column"] == "odd"
    assert problem in odd["problem"]
    assert odd["remedy"] == '--drop "odd"'


def test_ordinary_columns_are_not_suspected(tmp_path):
    assert understood(usual(tmp_path))["suspicious"] == []


def test_without_public_records_there_are_no_folds(tmp_path):
    declare = {
        "age": {"center": 40, "scale": 10},
        "colour": {"values": ["red"]},
        "member": {"center": 0, "scale": 1},
    }
    document = understood(fitted(tmp_path, without_public=True, declare=declare))
    assert document["public_folds"] is None
    assert document["rows_scaled_down"] is None


def test_a_workspace_of_an_earlier_version_has_none_of_it(tmp_path):
    workspace = usual(tmp_path)
    change_ledger(workspace, "DELETE FROM settings WHERE name = 'understood'")
    assert status(workspace)["understood"] is None


@pytest.mark.parametrize("document", ["", "[]", "{"])
def test_a_damaged_description_is_refused(document):
    with pytest.raises(InvalidInput, match="setting 'understood' is damaged"):
        read_object("understood", document)
