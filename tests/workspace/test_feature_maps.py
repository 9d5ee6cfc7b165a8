"""A workspace whose model stands on trees does all that one of plain columns does."""

import base64
import json
import shutil

import numpy as np
import pytest
from pyarrow import csv

from expunge.errors import InvalidInput
from expunge.features.saved_steps import steps_from
from expunge.unlearning import load
from expunge.workspace.encoding import Category, Encoding, Number
from expunge.workspace.evaluate import evaluate
from expunge.workspace.export import export
from expunge.workspace.feature_maps import FEATURES, describe_features, with_features
from expunge.workspace.folder import Folder
from expunge.workspace.forget import forget
from expunge.workspace.options import Options
from expunge.workspace.predict import predict
from expunge.workspace.refresh import refresh
from expunge.workspace.report import report
from expunge.workspace.status import status
from expunge.workspace.verify import verify
from tests.workspace.tables_made import DECLARED, fitted, people, write

CORNERS = {"age": (0.0, 80.0)}


def cornered(rows, *, seed, prefix):
    """People whose label no linear model of the columns learns: old members and young others."""
    columns = people(rows, seed=seed, prefix=prefix)
    columns["age"] = [40.0 if age is None else age for age in columns["age"]]
    columns["label"] = [
        "yes" if (age > 40) == member else "no"
        for age, member in zip(columns["age"], columns["member"], strict=True)
    ]
    return columns


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trees")
    private, public = cornered(200, seed=2, prefix="0"), cornered(160, seed=1, prefix="9")
    return fitted(folder, private, public, features="trees", l2="public")


@pytest.fixture
def workspace(made, tmp_path):
    return shutil.copytree(made, tmp_path / "workspace")


@pytest.fixture
def others(tmp_path):
    return write(tmp_path / "others.csv", cornered(400, seed=3, prefix="7"))


def encoding_of(workspace):
    folder = Folder.opened(workspace)
    try:
        return Encoding.of(folder.look(lambda entries, _: entries.setting("encoding")))
    finally:
        folder.ledger.close()


def test_it_learns_what_the_columns_alone_do_not_and_says_what_was_chosen(workspace, others):
    scores = evaluate(workspace, others)
    assert scores["majority"]["accuracy"] < 0.6
    assert scores["accuracy"] > 0.9
    document = status(workspace)
    known = {one["name"]: one for one in document["understood"]["settings"]}
    assert "trees of" in known["features"]["value"]
    assert known["l2"]["from"] == "public records"
    assert document["options"]["features"] == "trees"


def test_a_deletion_leaves_a_workspace_that_predicts_verifies_and_reports(workspace, others):
    forget(workspace, ["00003", "00007"])
    assert evaluate(workspace, others)["accuracy"] > 0.85
    predict(workspace, others, workspace.parent / "out.csv")
    said = csv.read_csv(workspace.parent / "out.csv")["prediction"].to_pylist()
    truth = csv.read_csv(others)["label"].to_pylist()
    assert np.mean([one == other for one, other in zip(said, truth, strict=True)]) > 0.85
    refresh(workspace)
    assert verify(workspace)["valid"]
    page = workspace.parent / "report.html"
    report(workspace, page)
    assert "trees of" in page.read_text()


def test_the_ridge_was_chosen_on_rows_that_no_tree_was_grown_on(workspace):
    (secret,) = (workspace / "secret").iterdir()
    ridge = load(secret).fitted_.ridge
    assert ridge.public == 160
    assert ridge.learned_from == 64  # four fifths of a half
    assert ridge.records == 360


def test_what_public_records_are_worth_is_told_by_those_no_tree_was_grown_on(workspace):
    assert status(workspace)["understood"]["public_folds"]["rows"] == 80


def test_declared_ranges_are_cut_at_random_in_the_encodings_units():
    encoding = Encoding({"member": Category(("no", "yes")), "age": Number(40.0, 10.0)})
    rows = np.random.default_rng(0).uniform(-1, 1, size=(90, 3)).astype(np.float32)
    options = Options(id="id", label="label", features="trees")
    grown, _ = with_features(encoding, (rows, rows[:, 2] > 0), options, {"age": (0.0, 80.0)})
    assert grown.steps is not None
    columns, places, _ = grown.steps.steps[0].transformer.cuts_
    assert set(np.unique(columns)) == {2}  # after the two of the category
    cut = places * 10 * np.sqrt(2) + 40
    assert 0 <= cut.min() < 10
    assert 70 < cut.max() <= 80


def test_the_encoding_comes_back_from_the_ledger_as_it_was(workspace, others):
    encoding, table = encoding_of(workspace), csv.read_csv(others)
    rows = encoding.encode(others, table)
    assert rows.shape == (400, encoding.width)
    again = Encoding.of(encoding.document())
    np.testing.assert_array_equal(again.encode(others, table), rows)
    assert again.rules == encoding.rules


@pytest.mark.parametrize(
    "document",
    ["[{}, 1]", '[{}, "A", "B"]', '[{}, "no base64!"]', '[{}, "AAAA"]', '["A", {}]', "[]"],
)
def test_an_encoding_that_is_none_is_refused(document):
    with pytest.raises(InvalidInput, match="encoding"):
        Encoding.of(document)


def test_it_is_exported_with_its_weights_and_refused_where_there_is_no_place(workspace, tmp_path):
    for format in ("onnx", "sklearn"):  # noqa: A001
        with pytest.raises(InvalidInput, match=f"{format} cannot hold the trees.*safetensors"):
            export(workspace, tmp_path / "out", format=format)
        assert not (tmp_path / "out").exists()
    export(workspace, tmp_path / "out")
    rules = json.loads((tmp_path / "out/encoding.json").read_text())
    assert set(rules) == {"columns", "features", "model"}
    assert set(rules["columns"]) == {"age", "colour", "member"}
    card = (tmp_path / "out/MODEL_CARD.md").read_text()
    assert "They were grown on public records alone" in card
    steps = steps_from(base64.b64decode(rules["features"]))
    assert [step.name for step in steps.steps] == ["trees"]


def test_trees_without_public_records_are_refused_with_the_remedy(tmp_path):
    with pytest.raises(InvalidInput, match="--public FILE, or take --features linear"):
        fitted(tmp_path, without_public=True, declare=DECLARED, features="trees")
    assert not (tmp_path / "workspace").exists()


def test_a_column_is_declared_once_and_must_be_a_feature(tmp_path):
    schema = tmp_path / "schema.json"
    schema.write_text(json.dumps({"ranges": CORNERS}))
    with pytest.raises(InvalidInput, match=r"column 'age' is declared in .* as well"):
        fitted(tmp_path, declare={"age": {"center": 40, "scale": 10}}, schema=schema)
    for name in ("height", "label", "id"):
        schema.write_text(json.dumps({"categories": {name: ["a"]}}))
        with pytest.raises(InvalidInput, match=f"schema: column '{name}' .*correct its name"):
            fitted(tmp_path, schema=schema)
    assert not (tmp_path / "workspace").exists()


def test_plain_columns_have_nothing_to_describe():
    assert describe_features(Encoding({})) is None
    assert list(FEATURES) == ["linear", "text", "trees"]
