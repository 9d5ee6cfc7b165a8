"""`expunge report`: one HTML file."""

import pytest

from tests.cli.test_main import expunge
from tests.cli.workspaces import made, printed, refused
from tests.workspace.tables_made import people, write


@pytest.fixture
def workspace(tmp_path):
    return made(tmp_path)


def test_the_report_is_written_where_it_was_asked_for(workspace, tmp_path):
    expunge("forget", workspace, "00003")
    document = printed("report", workspace, "--output", tmp_path / "report.html")
    assert document["output"] == str(tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>")
    assert "Observer: final." in text
    assert "http" not in text


def test_the_operator_comes_from_the_environment_or_the_command_line(
    workspace, tmp_path, monkeypatch
):
    monkeypatch.setenv("EXPUNGE_OPERATOR", "Example Ltd")
    output = tmp_path / "report.html"
    printed("report", workspace, "--output", output)
    assert "Operator: Example Ltd." in output.read_text(encoding="utf-8")
    printed("report", workspace, "--output", output, "--operator", "Another")
    assert "Operator: Another." in output.read_text(encoding="utf-8")


def test_rows_of_one_s_own_are_named(workspace, tmp_path):
    rows = write(tmp_path / "mine.csv", people(80, seed=9, prefix="5"))
    output = tmp_path / "report.html"
    printed("report", workspace, "--output", output, "--test", rows)
    assert "rows of mine.csv" in output.read_text(encoding="utf-8")
    private = tmp_path / "private.csv"
    write(private, people(3, seed=2, prefix="0"))
    assert "is in the workspace" in refused("report", workspace, "--test", private)


def test_without_a_name_it_is_report_html(workspace, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    outcome = expunge("report", workspace)
    assert outcome.status == 0
    assert outcome.out == "report: report.html\n"
    assert (tmp_path / "report.html").exists()


def test_bad_input_is_one_line_and_nothing_is_written(workspace, tmp_path):
    before = sorted(tmp_path.rglob("*"))
    output = tmp_path / "report.html"
    assert "not a workspace" in refused("report", tmp_path / "none", "--output", output)
    assert "is a folder" in refused("report", workspace, "--output", tmp_path)
    assert sorted(tmp_path.rglob("*")) == before
