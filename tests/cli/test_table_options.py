"""Options of tables: every command that reads one has them, and gets them as one argument."""

import inspect
from pathlib import Path

import pytest

from expunge.cli import add, evaluate, fit, predict
from expunge.cli.table_options import OPTIONS, Tables, reads_tables
from expunge.errors import InvalidInput
from expunge.workspace.csv_tables import PLAIN
from expunge.workspace.table_limits import USUAL


@pytest.mark.parametrize("command", [add.add, evaluate.evaluate, fit.fit, predict.predict])
def test_commands_that_read_tables_have_the_same_options(command):
    shown = inspect.signature(command).parameters
    assert "tables" not in shown
    for name, (kind, usual) in OPTIONS.items():
        assert (shown[name].annotation, shown[name].default) == (kind, usual)


def test_the_options_take_the_place_of_one_parameter():
    @reads_tables
    def command(path: Path, tables: Tables, again: bool = False, json: bool = False) -> None:
        """Says so."""
        seen.append((path, tables, again, json))

    seen = []
    usual = {name: usual for name, (_, usual) in OPTIONS.items()}
    command(path=Path("a"), again=True, **usual | {"decimal": ","})
    assert seen == [(Path("a"), Tables(None, ",", ",", "utf-8"), True, False)]
    assert list(inspect.signature(command).parameters) == ["path", "again", *OPTIONS, "json"]
    assert command.__doc__ == "Says so."


def test_what_was_not_given_is_as_usual():
    tables = Tables(None, ",", ".", "utf-8")
    assert (tables.form, tables.limits()) == (PLAIN, USUAL)


def test_what_was_given_counts():
    tables = Tables(10, "tab", ",", "latin-1")
    assert (tables.form.separator, tables.form.decimal) == ("\t", ",")
    limits = tables.limits(7)
    assert (limits.width, limits.inflated) == (7, 10)
    with pytest.raises(InvalidInput):
        Tables(None, "--", ".", "utf-8").form  # noqa: B018
