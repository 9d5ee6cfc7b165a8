"""A small ledger, and its rows as they lie in the file."""

import sqlite3
from pathlib import Path

from expunge.ledger import Ledger


def small_ledger(folder: Path) -> Ledger:
    """Two public records, nine private ones and the model of them."""
    made = Ledger(folder / "ledger.sqlite")
    made.create()
    with made.writing() as entries:
        entries.add_records(["p1", "p2"], "public")
        entries.add_records([f"r{i}" for i in range(9)], "private")
        entries.add_model(sha256="a", seal="s1", evaluation="{}")
    return made


def rows(ledger: Ledger) -> dict[str, list[tuple]]:
    """Every row, read without the code under test."""
    connection = sqlite3.connect(ledger.where)
    names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master")]
    tables = [name for name in names if not name.startswith(("sqlite_", "requested_by"))]
    found = {name: connection.execute(f"SELECT * FROM {name}").fetchall() for name in tables}
    connection.close()
    return found
