"""The card says what the certificate says, and names no category and no record."""

import json

import pytest

from expunge.workspace.encoding import Category, Encoding, Number
from expunge.workspace.export import export
from expunge.workspace.forget import forget
from expunge.workspace.model_card import model_card
from expunge.workspace.options import Options
from tests.workspace.tables_made import usual

RULES = Encoding({"age": Number(40.0, 10.0), "town": Category(("Rome", "Oslo"))})
HEAD = {"loss": {"kind": "Logistic"}, "labels": {"values": ["no", "yes"]}}


@pytest.mark.parametrize("format", ["onnx", "sklearn", "safetensors"])
def test_it_says_how_the_file_of_its_format_is_used(format):  # noqa: A002
    card = model_card(Options("id", "left"), RULES, HEAD, None, None, format=format)
    used = {"onnx": "model.onnx", "sklearn": "skops.io.load", "safetensors": "`theta`"}
    for other, words in used.items():
        assert (words in card.partition("## What is certified")[0]) == (other == format)
    assert "| `age` | (x - 40) / 10 |" in card
    assert "| `town` | one column for each of 2 texts |" in card
    assert "Rome" not in card


def test_before_a_deletion_it_says_that_nothing_is_certified():
    card = model_card(Options("id", "left"), RULES, HEAD, None, None, format="onnx")
    assert "Nothing: no record has been deleted from it yet" in card
    assert "there are no public records" in card


def test_afterwards_it_repeats_the_statement_and_says_whose_rows_were_scored(tmp_path):
    workspace = usual(tmp_path)
    forget(workspace, ["00003"])
    export(workspace, tmp_path / "out")
    card = (tmp_path / "out/MODEL_CARD.md").read_text()
    stated = json.loads((tmp_path / "out/certificate.json").read_text())["claim"]["statement"]
    assert all(line in card for line in stated)
    assert "On the 120 public records, which it was trained on: accuracy" in card


def test_a_regression_has_an_error_and_no_labels():
    scores = {"records": 7, "root_mean_square_error": 0.25}
    head = {"loss": {"kind": "Squared"}, "labels": None}
    options = Options("id", "left", task="regression")
    card = model_card(options, RULES, head, None, scores, format="onnx")
    assert "root mean square error 0.25" in card
    assert "Predicts the value `left`, regression, with" in card
