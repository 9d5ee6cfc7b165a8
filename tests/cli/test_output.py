"""Printing and reading: finite numbers or none."""

import io
import json
import sys

import pytest

from expunge.accounting import InvalidInput
from expunge.cli.output import number, print_json, read_text


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_no_nan_and_no_infinity_is_ever_printed(value, capsys):
    with pytest.raises(ValueError, match="not JSON compliant"):
        print_json({"epsilon": [1.0, {"deep": value}]})
    assert capsys.readouterr().out == ""


def test_one_document_and_a_newline_are_printed(capsys):
    print_json({"é": [1, 2.5, None]})
    out = capsys.readouterr().out
    assert json.loads(out) == {"é": [1, 2.5, None]}
    assert out.endswith("}\n")
    assert "é" in out


def test_numbers_have_five_digits_and_unknowns_a_dash():
    assert [number(None), number(0), number(33000), number(0.123456789), number(1e-12)] == [
        "-",
        "0",
        "33,000",
        "0.12346",
        "1e-12",
    ]


def test_a_dash_reads_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("text"))
    assert read_text("-") == "text"


def test_a_file_that_is_not_utf8_is_named(tmp_path):
    file = tmp_path / "latin.json"
    file.write_bytes("é".encode("latin-1"))
    with pytest.raises(InvalidInput, match="not UTF-8") as refused:
        read_text(str(file))
    assert refused.value.field == str(file)
