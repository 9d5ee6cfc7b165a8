"""On stderr beside errors: notices usually, all with --verbose, nothing with --quiet."""

import logging

import pytest

from tests.cli.test_main import expunge
from tests.cli.workspaces import made, tables
from tests.workspace.tables_made import private_people, write


def fit(tmp_path, *flags):
    """A fit that has something to tell: one age cannot be read."""
    arguments = tables(tmp_path)
    people = private_people()
    people["age"][0] = "about forty-two"
    write(tmp_path / "private.csv", people)
    return expunge(*flags, "fit", tmp_path / "made", *arguments, "--json")


def test_a_notice_is_on_stderr_unless_quiet(tmp_path):
    (tmp_path / "loud").mkdir()
    (tmp_path / "quiet").mkdir()
    loud, quiet = fit(tmp_path / "loud"), fit(tmp_path / "quiet", "--quiet")
    assert "column 'age': 1 of 150 cannot be read as a number" in loud.err
    assert (quiet.status, quiet.err) == (0, "")
    assert quiet.document["records"] == loud.document["records"]


def test_errors_are_told_all_the_same(tmp_path):
    assert "not a workspace" in expunge("--quiet", "status", tmp_path / "none").complaint


def test_verbose_tells_what_was_done_by_number_and_without_any_id(tmp_path):
    workspace = made(tmp_path)
    outcome = expunge("--verbose", "forget", workspace, "00003", "--name", "Jane Doe's", "--json")
    assert outcome.err == "expunge: request 1 honoured: 1 records\n"
    assert "refresh: the state before is erased" in expunge("--verbose", "refresh", workspace).err
    assert expunge("refresh", workspace).err == ""


def test_logs_of_the_package_name_no_record(tmp_path, caplog):
    with caplog.at_level(logging.DEBUG, logger="expunge"):
        fit(tmp_path, "--verbose")
        expunge("--verbose", "forget", tmp_path / "made", "00003", "00004", "--name", "Jane")
    said = [record.getMessage() for record in caplog.records if record.name.startswith("expunge")]
    assert len(said) >= 3
    for secret in ("00003", "00004", "Jane", "about forty-two"):
        assert not any(secret in line for line in said)


@pytest.mark.parametrize("flag", ["--quiet", "--verbose"])
def test_the_flags_stand_before_the_command(flag):
    assert "No such option" in expunge("status", "x", flag).complaint
