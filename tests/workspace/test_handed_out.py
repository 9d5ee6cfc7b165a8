"""An exported folder predicts what the workspace predicts, and refuses what was not handed out."""

import json
import shutil

import pyarrow as pa
import pytest

from expunge.errors import InvalidInput
from expunge.workspace.export import export
from expunge.workspace.forget import forget
from expunge.workspace.handed_out import HandedOut
from expunge.workspace.predict import predict
from tests.workspace.tables_made import fitted, people, read, usual, write

ROWS = people(40, seed=5)


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    """After a request; its export lies beside it."""
    workspace = usual(tmp_path_factory.mktemp("handed"))
    forget(workspace, ["00003"])
    export(workspace, workspace.parent / "out")
    return workspace


@pytest.fixture
def given(workspace, tmp_path):
    return shutil.copytree(workspace.parent / "out", tmp_path / "given")


def predicted(workspace, columns=ROWS):
    """What the workspace itself says of a table."""
    file = write(workspace.parent / "new.parquet", columns)
    predict(workspace, file, workspace.parent / "predicted.parquet")
    return read(workspace.parent / "predicted.parquet")


def test_it_predicts_what_the_workspace_predicts_to_the_last_bit(workspace, given):
    known, told = HandedOut.read(given), predicted(workspace)
    assert known.predict(pa.table(ROWS)).tolist() == told["prediction"]
    shares = known.predict_proba(pa.table(ROWS))
    assert shares[:, 0].tolist() == told["probability_no"]
    assert shares[:, 1].tolist() == told["probability_yes"]
    assert known.certificate is not None
    assert known.certificate.forgotten == 1


@pytest.mark.parametrize("features", [pytest.param("trees", marks=pytest.mark.slow), "text"])
def test_models_of_trees_and_of_words_are_read_back(tmp_path, features):
    workspace = fitted(tmp_path, features=features)
    export(workspace, tmp_path / "out")
    known = HandedOut.read(tmp_path / "out")
    assert known.predict(pa.table(ROWS)).tolist() == predicted(workspace)["prediction"]
    assert known.certificate is None


def test_a_regression_predicts_values(tmp_path):
    columns = people(150, seed=2, prefix="0")
    columns["label"] = [(age or 40) / 100 for age in columns["age"]]
    public = people(120, seed=1, prefix="9")
    public["label"] = [(age or 40) / 100 for age in public["age"]]
    workspace = fitted(tmp_path, columns, public, task="regression")
    export(workspace, tmp_path / "out")
    known = HandedOut.read(tmp_path / "out")
    assert known.predict(pa.table(ROWS)).tolist() == predicted(workspace)["prediction"]


def cut(path):
    path.write_bytes(path.read_bytes()[:-2])


def another_claim(path):
    document = json.loads(path.read_text())
    document["claim"]["epsilon"] /= 2
    path.write_text(json.dumps(document))


def another_width(path):
    document = json.loads(path.read_text())
    document["model"]["loss"]["kind"] = "Squared"
    path.write_text(json.dumps(document))


@pytest.mark.parametrize(
    ("name", "change", "complaint"),
    [
        ("model.safetensors", cut, "not the one that its certificate is about"),
        ("model.safetensors", lambda path: path.unlink(), "no model.safetensors"),
        ("certificate.json", another_claim, "claim.epsilon"),
        ("certificate.json", cut, "not a certificate"),
        ("encoding.json", lambda path: path.unlink(), "encoding.json: is missing"),
        ("encoding.json", cut, "encoding.json"),
        ("encoding.json", another_width, "does not belong to the model"),
        ("encoding.json", lambda path: path.write_text("[]"), "does not belong to the model"),
    ],
)
def test_what_was_changed_on_the_way_is_refused_by_name(given, name, change, complaint):
    change(given / name)
    with pytest.raises(InvalidInput, match=complaint):
        HandedOut.read(given)


def test_a_table_without_a_column_is_refused_by_name(given):
    short = pa.table({name: values for name, values in ROWS.items() if name != "age"})
    with pytest.raises(InvalidInput, match="no column 'age'"):
        HandedOut.read(given).predict(short)
