"""Scores on rows of one's own: by hand from the predictions; no private record is opened."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import r2_score

from expunge.accounting.canonical import leaves
from expunge.errors import InvalidInput
from expunge.workspace import evaluate as module
from expunge.workspace.evaluate import evaluate
from expunge.workspace.forget import forget
from expunge.workspace.predict import predict
from tests.workspace.tables_made import (
    everything_in,
    fitted,
    people,
    private_people,
    public_people,
    read,
    usual,
    write,
)


@pytest.fixture
def workspace(tmp_path):
    return usual(tmp_path)


def test_the_accuracy_is_that_of_the_predictions(workspace, tmp_path):
    mine = people(60, seed=77, prefix="t")
    file = write(tmp_path / "mine.csv", mine)
    predict(workspace, file, tmp_path / "said.csv")
    said = read(tmp_path / "said.csv")["prediction"]
    document = evaluate(workspace, file)
    right = [one == other for one, other in zip(said, mine["label"], strict=True)]
    assert document["accuracy"] == pytest.approx(np.mean(right))
    assert document["rows"] == 60
    shares = [mine["label"].count(label) / 60 for label in ("no", "yes")]
    assert document["majority"]["accuracy"] == pytest.approx(max(shares))
    assert document["majority"]["label"] == ["no", "yes"][int(np.argmax(shares))]
    assert document["trained_on"] == {"private": 0, "public": 0}


def test_the_public_only_model_is_one_that_was_fitted_without_the_private_records(
    workspace, tmp_path
):
    file = write(tmp_path / "mine.csv", people(400, seed=78, prefix="t"))
    turned = private_people()
    turned["label"] = ["no" if one == "yes" else "yes" for one in turned["label"]]
    (tmp_path / "turned").mkdir()
    opposite = fitted(tmp_path / "turned", turned)
    one, other = evaluate(workspace, file), evaluate(opposite, file)
    assert one["public_only"] == other["public_only"]
    assert one["public_only"]["accuracy"] > 0.7
    assert other["accuracy"] < one["accuracy"]


def test_without_public_records_there_is_no_model_of_them(tmp_path):
    declare = {
        "age": {"center": 40, "scale": 10},
        "colour": {"values": ["red"]},
        "member": {"center": 0, "scale": 1},
    }
    workspace = fitted(tmp_path, without_public=True, declare=declare)
    file = write(tmp_path / "mine.csv", people(30, seed=77))
    assert evaluate(workspace, file)["public_only"] is None


def test_a_regression_has_r2_and_the_mean_has_none_of_it(tmp_path):
    tables = private_people(), public_people()
    rng = np.random.default_rng(5)
    for table in tables:
        ages = [age or 40.0 for age in table["age"]]
        table["label"] = [age / 10 + float(rng.normal()) / 9 for age in ages]
    workspace = fitted(tmp_path, *tables, task="regression")
    mine = people(50, seed=79)
    mine["label"] = [(age or 40.0) / 10 for age in mine["age"]]
    document = evaluate(workspace, write(tmp_path / "mine.parquet", mine))
    predict(workspace, tmp_path / "mine.parquet", tmp_path / "said.parquet")
    said = read(tmp_path / "said.parquet")["prediction"]
    assert document["r2"] == pytest.approx(r2_score(mine["label"], said), rel=1e-12)
    assert document["majority"]["r2"] == 0
    assert document["majority"]["mean"] == pytest.approx(np.mean(mine["label"]))
    assert set(document["public_only"]) == {"r2", "root_mean_square_error"}


def test_values_that_are_all_the_same_leave_nothing_to_explain(tmp_path):
    tables = private_people(), public_people()
    for table in tables:
        table["label"] = [1.5] * len(table["id"])
    workspace = fitted(tmp_path, *tables, task="regression")
    mine = people(9, seed=79) | {"label": [1.5] * 9}
    assert evaluate(workspace, write(tmp_path / "mine.parquet", mine))["r2"] is None


def test_a_label_that_the_model_does_not_know_is_a_mistake_and_counted(workspace, tmp_path):
    mine = people(40, seed=77, prefix="t")
    whole = evaluate(workspace, write(tmp_path / "mine.csv", mine))
    mine["label"][:10] = ["perhaps"] * 10
    document = evaluate(workspace, write(tmp_path / "mine.csv", mine))
    assert document["unknown_labels"] == 10
    assert document["accuracy"] <= whole["accuracy"]
    rest = {name: values[10:] for name, values in mine.items()}
    right = 30 * evaluate(workspace, write(tmp_path / "mine.csv", rest))["accuracy"]
    assert document["accuracy"] == pytest.approx(right / 40)


def test_unseen_categories_and_rows_it_was_trained_on_are_counted(workspace, tmp_path):
    mine = people(40, seed=77, prefix="t")
    mine["colour"][:3] = ["mauve", "mauve", None]
    mine["id"][:3] = [private_people()["id"][0], public_people()["id"][0], "new"]
    document = evaluate(workspace, write(tmp_path / "mine.csv", mine))
    assert document["unseen_categories"] == {"colour": 2}
    assert document["trained_on"] == {"private": 1, "public": 1}
    forget(workspace, [private_people()["id"][0]])
    document = evaluate(workspace, tmp_path / "mine.csv")
    assert document["trained_on"] == {"private": 0, "public": 1}
    del mine["id"]
    assert evaluate(workspace, write(tmp_path / "mine.csv", mine))["trained_on"] is None


def test_it_changes_nothing_and_opens_no_private_record(workspace, tmp_path, monkeypatch):
    file = write(tmp_path / "mine.csv", people(40, seed=77, prefix="t"))
    before, opened = everything_in(workspace), []
    for kind in ("read_bytes", "open"):
        real = getattr(Path, kind)
        monkeypatch.setattr(
            Path,
            kind,
            lambda path, *given, real=real, **more: (
                opened.append(path) or real(path, *given, **more)
            ),
        )
    evaluate(workspace, file)
    monkeypatch.undo()
    assert everything_in(workspace) == before
    assert workspace / "records/public.parquet" in opened
    assert not [path for path in opened if "secret" in path.parts]


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"label": None}, "no column 'label'"),
        ({"age": None}, "no column 'age'"),
        ({"label": ["yes", "", "no"]}, "row 2 has no label"),
        ({"label": ["a", "b", "c"]}, "is one that the model knows: 'no', 'yes'"),
        ({"age": ["1", "old", "3"]}, "row 2 holds no number in column 'age'"),
        ({"id": ["a", "a", "b"]}, "'a' is there twice"),
    ],
)
def test_a_table_that_cannot_be_scored_is_refused_and_the_row_is_named(
    workspace, tmp_path, change, complaint
):
    mine = {**people(3, seed=77), **change}
    columns = {name: values for name, values in mine.items() if values is not None}
    with pytest.raises(InvalidInput, match=complaint):
        evaluate(workspace, write(tmp_path / "mine.csv", columns))


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_blocks_make_no_difference(tmp_path, monkeypatch, task):
    tables = private_people(), public_people(), people(60, seed=77, prefix="t")
    if task == "regression":
        for seed, table in enumerate(tables):
            rng = np.random.default_rng(seed)
            table["label"] = (1e6 + rng.normal(size=len(table["id"]))).tolist()
    workspace = fitted(tmp_path, *tables[:2], task=task)
    file = write(tmp_path / "mine.csv", tables[2])
    whole = dict(leaves(evaluate(workspace, file)))
    monkeypatch.setattr(module, "block_rows", lambda *_: 7)
    for name, value in leaves(evaluate(workspace, file)):
        near = isinstance(value, float)
        assert value == (pytest.approx(whole[name], rel=1e-9) if near else whole[name]), name


def test_an_id_that_is_there_twice_is_found_in_blocks_too(workspace, tmp_path, monkeypatch):
    mine = people(40, seed=77, prefix="t")
    mine["id"][39] = mine["id"][0]
    monkeypatch.setattr(module, "block_rows", lambda *_: 7)
    with pytest.raises(InvalidInput, match=f"id '{mine['id'][0]}' is there twice"):
        evaluate(workspace, write(tmp_path / "mine.csv", mine))
