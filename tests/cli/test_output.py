"""Printing and reading: finite numbers or none."""

import io
import json
import sys

import pytest

from expunge.accounting import InvalidInput
from expunge.cli.output import number, print_json, print_whatever_comes, read_text
from tests.cli.test_main import EXAMPLE, expunge


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


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "ascii"])
def test_a_document_is_json_whatever_the_terminal_can_encode(monkeypatch, encoding):
    document = {"\u03b5": "\u00e9 \U0001f642 \ud800"}
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding=encoding))
    print_whatever_comes()
    print_json(document)
    sys.stdout.flush()
    assert json.loads(written.getvalue().decode(encoding)) == document


def test_standard_input_is_utf8_whatever_the_terminal_is(monkeypatch):
    stdin = io.TextIOWrapper(io.BytesIO("\u03b5".encode()), encoding="latin-1")
    monkeypatch.setattr(sys, "stdin", stdin)
    assert read_text("-") == "\u03b5"


def test_a_long_complaint_is_cut_in_the_middle_and_its_length_can_be_raised(tmp_path):
    name = "n" * 5000
    document = json.dumps({name: 1})
    short = expunge("account", "-", stdin=document).complaint
    assert len(short) < 520
    assert short.startswith("expunge: nnn")
    assert short.endswith("unknown key\n")
    assert name in expunge("--message-length", "6000", "account", "-", stdin=document).complaint


@pytest.mark.parametrize("verb", ["account", "verify"])
def test_limits_on_json_are_raised_by_their_flags(verb):
    deep = json.dumps(EXAMPLE | {"orders": json.loads("[" * 100 + "]" * 100)})
    assert "--max-depth raises" in expunge(verb, "-", stdin=deep).complaint
    assert "--max-depth" not in expunge(verb, "-", "--max-depth", "150", stdin=deep).complaint
    few = expunge(verb, "-", "--max-keys", "3", stdin=json.dumps(EXAMPLE)).complaint
    assert "more than 3 keys; --max-keys raises" in few
    assert "--max-depth" in expunge(verb, "-", "--max-depth", "201", stdin=deep).complaint
