"""Options come back from the ledger as they went in."""

import json
from dataclasses import asdict

import pytest

from expunge.errors import InvalidInput
from expunge.workspace.options import Options, number_or_public


@pytest.mark.parametrize(
    "options",
    [
        Options(id="id", label="y"),
        Options(id="id", label="y", classes=("a", "b"), drop=("c",), row_norm=1.5, delta=1e-6),
        Options(id="ü", label="y", task="regression", target_norm=3.0, released=False),
    ],
)
def test_options_survive_the_ledger(options):
    assert Options.of(json.dumps(asdict(options))) == options


@pytest.mark.parametrize(
    ("text", "value"), [("public", "public"), ("2", 2.0), ("1e-3", 0.001), ("0", 0.0)]
)
def test_a_ridge_or_a_row_norm_is_a_number_or_public(text, value):
    assert number_or_public("row_norm", text) == value


@pytest.mark.parametrize("text", ["", "private", "1,5"])
@pytest.mark.parametrize("name", ["l2", "row_norm"])
def test_anything_else_is_refused_by_its_name(name, text):
    with pytest.raises(InvalidInput, match=f"{name}: "):
        number_or_public(name, text)
