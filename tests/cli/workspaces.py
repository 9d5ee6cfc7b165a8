"""Command lines for made-up tables, and what a run printed."""

from pathlib import Path
from typing import Any

from tests.cli.test_main import expunge
from tests.workspace.tables_made import private_people, public_people, usual, write


def tables(folder: Path) -> list[Any]:
    """Options of `fit` for two tables that are written there."""
    mine = write(folder / "private.csv", private_people())
    theirs = write(folder / "public.csv", public_people())
    return ["--private", mine, "--public", theirs, "--id", "id", "--label", "label"]


def made(folder: Path) -> Path:
    """A workspace in the folder, beside the tables it was made from."""
    return usual(folder)


def printed(*arguments: object, stdin: str = "") -> dict[str, Any]:
    """One document on stdout, and nothing on stderr."""
    outcome = expunge(*arguments, "--json", stdin=stdin)
    assert outcome.status == 0, outcome
    assert outcome.err == ""
    return outcome.document


def refused(*arguments: object, stdin: str = "") -> str:
    """The one line on stderr; nothing on stdout; the same with --json."""
    complaint = expunge(*arguments, stdin=stdin).complaint
    assert expunge(*arguments, "--json", stdin=stdin).complaint == complaint
    return complaint
