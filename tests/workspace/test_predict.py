"""Predictions: the estimator's own, for tables of every kind and order."""

import weakref

import numpy as np
import pyarrow as pa
import pytest

from expunge.errors import InvalidInput
from expunge.unlearning.linear.estimator import load
from expunge.workspace import predict as module
from expunge.workspace import table_reader
from expunge.workspace.encoding import Encoding
from expunge.workspace.forget import forget
from expunge.workspace.predict import predict
from expunge.workspace.status import status
from tests.workspace.tables_made import (
    everything_in,
    fitted,
    ledger_rows,
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


def strangers():
    columns = people(40, seed=9, prefix="s")
    columns["colour"][0] = "never seen"
    del columns["label"]
    return columns


def predicted(workspace, columns, suffix=".parquet"):
    file = write(workspace.parent / f"new{suffix}", columns)
    predict(workspace, file, workspace.parent / f"out{suffix}")
    return read(workspace.parent / f"out{suffix}")


def own(workspace, columns):
    """The estimator's own probabilities, on rows that were encoded by the stored rules."""
    (secret,) = (workspace / "secret").iterdir()
    rules = dict(ledger_rows(workspace)["settings"])["encoding"]
    rows = Encoding.of(rules).encode(workspace, pa.table(columns))
    return load(secret).predict_proba(rows)


@pytest.mark.parametrize("forgotten", [[], ["00003", "00004"]])
def test_predictions_are_the_estimators_own(workspace, forgotten):
    if forgotten:
        forget(workspace, forgotten)
    found = predicted(workspace, strangers())
    assert list(found) == ["id", "prediction", "probability_no", "probability_yes"]
    assert found["id"] == strangers()["id"]
    shares = np.array([found["probability_no"], found["probability_yes"]]).T
    np.testing.assert_allclose(shares, own(workspace, strangers()), rtol=1e-12)
    np.testing.assert_allclose(shares.sum(axis=1), 1, rtol=1e-12)
    assert found["prediction"] == [["no", "yes"][one] for one in shares.argmax(axis=1)]
    assert set(found["prediction"]) == {"no", "yes"}


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet", ".parquet.gz"])
def test_tables_of_every_kind_have_the_same_predictions(workspace, suffix):
    want, found = predicted(workspace, strangers()), predicted(workspace, strangers(), suffix)
    assert list(found) == list(want)
    assert found["prediction"] == want["prediction"]
    assert [float(one) for one in found["probability_yes"]] == want["probability_yes"]
    assert found["id"] == want["id"]


def test_order_of_columns_and_further_ones_do_not_matter(workspace):
    columns = strangers()
    turned = {name: columns[name] for name in reversed(columns)} | {"extra": ["x"] * 40}
    assert predicted(workspace, turned) == predicted(workspace, columns)
    labelled = columns | {"label": [None] * 40}
    assert predicted(workspace, labelled) == predicted(workspace, columns)


def test_ids_keep_their_name_and_their_zeros(tmp_path):
    private, public = (
        {"person": columns.pop("id")} | columns for columns in (private_people(), public_people())
    )
    workspace = fitted(tmp_path, private, public, id="person")
    new = strangers()
    new["person"] = [f"00{row}" for row in range(40)]
    found = predicted(workspace, new, ".csv")
    assert list(found)[:2] == ["person", "prediction"]
    assert found["person"] == new["person"]


def test_without_ids_rows_are_numbered(workspace):
    columns = strangers()
    del columns["id"]
    assert predicted(workspace, columns)["id"] == [str(row) for row in range(1, 41)]


def test_blocks_make_no_difference(workspace, monkeypatch):
    whole = predicted(workspace, strangers())
    monkeypatch.setattr(module, "block_rows", lambda *_: 7)
    found = predicted(workspace, strangers())
    assert found["id"] == whole["id"]
    assert found["prediction"] == whole["prediction"]
    np.testing.assert_allclose(found["probability_yes"], whole["probability_yes"], rtol=1e-12)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_folder_of_files_is_one_table(workspace, tmp_path, suffix):
    columns, parts = strangers(), tmp_path / "parts"
    parts.mkdir()
    for part in range(2):
        half = {name: values[20 * part : 20 * (part + 1)] for name, values in columns.items()}
        write(parts / f"{part}{suffix}", half)
    predict(workspace, parts, tmp_path / "out.parquet")
    assert read(tmp_path / "out.parquet")["id"] == columns["id"]


@pytest.mark.parametrize(
    ("name", "value", "complaint"),
    [
        ("id", "s0000", "id 's0000' is there twice"),
        ("id", " ", "row 39 has no id"),
        ("age", "old", "row 39 holds no number in column 'age'"),
    ],
)
def test_a_fault_in_a_late_block_is_named_by_its_row_and_nothing_is_written(
    workspace, tmp_path, monkeypatch, name, value, complaint
):
    columns = strangers()
    columns[name][38] = value
    monkeypatch.setattr(module, "block_rows", lambda *_: 7)
    with pytest.raises(InvalidInput, match=complaint):
        predict(workspace, write(tmp_path / "new.csv", columns), tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()
    assert not list(tmp_path.glob(".out.csv*"))


def test_memory_holds_one_block_however_long_the_table_is(workspace, tmp_path, monkeypatch):
    """The planted fault would be to gather what `blocks` yields before predicting it."""
    alive, most = [], []
    real = Encoding.encode

    def watched(encoding, path, table):
        alive.append(weakref.ref(table))
        most.append(sum(one() is not None for one in alive))
        return real(encoding, path, table)

    monkeypatch.setattr(Encoding, "encode", watched)
    monkeypatch.setattr(module, "block_rows", lambda *_: 4)
    predict(workspace, write(tmp_path / "new.csv", strangers()), tmp_path / "out.csv")
    assert len(most) == 10
    assert max(most) <= 2


@pytest.mark.slow
def test_a_cluster_predicts_the_same(workspace, tmp_path, monkeypatch):
    file = write(tmp_path / "new.csv", strangers())
    predict(workspace, file, tmp_path / "here.csv")
    monkeypatch.setattr(module, "block_rows", lambda *_: 7)
    predict(workspace, file, tmp_path / "blocks.csv")
    predict(workspace, file, tmp_path / "there.csv", engine="ray")
    assert (tmp_path / "there.csv").read_bytes() == (tmp_path / "blocks.csv").read_bytes()
    assert read(tmp_path / "there.csv")["prediction"] == read(tmp_path / "here.csv")["prediction"]


def test_integer_classes_stay_integers(tmp_path):
    private, public = (
        columns | {"label": [10 if one == "yes" else 2 for one in columns["label"]]}
        for columns in (private_people(), public_people())
    )
    workspace = fitted(tmp_path, private, public)
    found = predicted(workspace, strangers())
    assert list(found)[2:] == ["probability_2", "probability_10"]
    assert set(found["prediction"]) == {2, 10}


def test_many_classes_have_a_share_each(tmp_path):
    private, public = (
        columns | {"label": [one or "none" for one in columns["colour"]]}
        for columns in (private_people(), public_people())
    )
    workspace = fitted(tmp_path, private, public, classes=("red", "green", "blue", "none", "mauve"))
    found = predicted(workspace, strangers())
    names = ["blue", "green", "mauve", "none", "red"]
    assert list(found)[2:] == [f"probability_{name}" for name in names]
    shares = np.array([found[f"probability_{name}"] for name in names])
    np.testing.assert_allclose(shares.sum(axis=0), 1, rtol=1e-12)
    assert found["prediction"] == [names[one] for one in shares.argmax(axis=0)]


def test_a_regression_predicts_numbers(tmp_path):
    private, public = (
        columns | {"label": [float(age or 40) for age in columns["age"]]}
        for columns in (private_people(), public_people())
    )
    workspace = fitted(tmp_path, private, public, task="regression")
    columns = strangers()
    found = predicted(workspace, columns)
    assert list(found) == ["id", "prediction"]
    known = [row for row, age in enumerate(columns["age"]) if age is not None]
    ages = [columns["age"][row] for row in known]
    assert np.corrcoef(ages, [found["prediction"][row] for row in known])[0, 1] > 0.9


def test_the_document_names_model_rows_and_output(workspace, tmp_path):
    file = write(tmp_path / "new.csv", strangers())
    document = predict(workspace, file, tmp_path / "out.csv")
    assert document == {
        "rows": 40,
        "model": {"sha256": status(workspace)["model"]["sha256"]},
        "output": str(tmp_path / "out.csv"),
        "unseen_categories": {"colour": 1},
    }


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"age": None}, "no column 'age', which the model needs"),
        ({"age": ["old"] * 40}, "column 'age': "),
        ({"age": [float("inf")] * 40}, "column 'age' holds a number of 1e"),
        ({"id": ["same"] * 40}, "id 'same' is there twice"),
        ({"id": [""] * 40}, "row 1 has no id"),
    ],
)
def test_a_table_that_does_not_fit_is_named_and_nothing_is_written(
    workspace, tmp_path, change, complaint
):
    columns = {name: one for name, one in (strangers() | change).items() if one is not None}
    before = everything_in(workspace)
    with pytest.raises(InvalidInput, match=complaint):
        predict(workspace, write(tmp_path / "new.csv", columns), tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()
    assert everything_in(workspace) == before


def test_a_request_that_is_honoured_meanwhile_does_no_harm(workspace, tmp_path, monkeypatch):
    head_of, calls = table_reader.head_of, []

    def meanwhile(*arguments):
        calls.append(arguments)
        if len(calls) == 1:
            forget(workspace, ["00003"])
        return head_of(*arguments)

    monkeypatch.setattr(table_reader, "head_of", meanwhile)
    document = predict(workspace, tmp_path / "public.csv", tmp_path / "out.csv")
    assert document["model"]["sha256"] == status(workspace)["model"]["sha256"]


def test_a_model_that_is_gone_is_named(workspace, tmp_path):
    (model,) = (workspace / "models").iterdir()
    model.unlink()
    with pytest.raises(OSError, match=model.name):
        predict(workspace, tmp_path / "public.csv", tmp_path / "out.csv")


def test_predicting_opens_no_private_record_and_changes_nothing(workspace, tmp_path):
    file = write(tmp_path / "new.csv", strangers())
    for path in [*(workspace / "secret").rglob("*.*"), *(workspace / "records").iterdir()]:
        path.write_bytes(b"not to be read")
    before = everything_in(workspace)
    predict(workspace, file, tmp_path / "out.csv")
    assert everything_in(workspace) == before
