"""Printing, reading and writing: whole files or none, finite numbers or none."""

import io
import json
import sys

import pytest

from expunge.accounting import InvalidInput
from expunge.cli.output import number, print_json, read_text, write_whole


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


def test_a_written_file_is_whole_and_alone(tmp_path):
    file = tmp_path / "out.json"
    write_whole(file, b"first")
    write_whole(file, b"second")
    assert file.read_bytes() == b"second"
    assert list(tmp_path.iterdir()) == [file]


def test_a_failed_write_leaves_no_trace_and_keeps_what_was_there(tmp_path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="is a folder"):
        write_whole(tmp_path / "folder", b"content")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]
    with pytest.raises(FileNotFoundError):
        write_whole(tmp_path / "missing" / "out.json", b"content")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]
