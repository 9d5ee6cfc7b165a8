"""Made-up tables: numbers, text categories, booleans, missing values, an unseen category.

Written by Python's csv and by Arrow, never by the code under test.
"""

import atexit
import csv
import gzip
import io
import json
import shutil
import sqlite3
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet
from sqlalchemy import URL, create_engine

from expunge.ledger.sealing import renew_seal
from expunge.workspace.fit import fit
from expunge.workspace.options import Options

Columns = dict[str, list[Any]]

DECLARED = {
    "age": {"center": 40, "scale": 10},
    "colour": {"values": ["red", "green", "blue"]},
    "member": {"center": 0.5, "scale": 0.5},
}


def people(rows: int, *, seed: int, prefix: str = "") -> Columns:
    """Ids with leading zeros, an age or none, a colour or none, member or not, yes or no."""
    rng = np.random.default_rng(seed)
    ages, members = rng.normal(40, 10, rows).round(2), rng.random(rows) < 0.5
    colours = rng.choice(["red", "green", "blue"], rows)
    said = ages / 10 + members + 0.5 * rng.normal(size=rows) > 4.5
    return {
        "id": [f"{prefix}{row:04d}" for row in range(rows)],
        "age": [None if row % 17 == 3 else float(age) for row, age in enumerate(ages)],
        "colour": [None if row % 13 == 5 else str(one) for row, one in enumerate(colours)],
        "member": [bool(one) for one in members],
        "label": ["yes" if one else "no" for one in said],
    }


def private_people() -> Columns:
    """150 of them; one colour is in no public record."""
    columns = people(150, seed=2, prefix="0")
    columns["colour"][7] = "mauve"
    return columns


def public_people() -> Columns:
    return people(120, seed=1, prefix="9")


def write(path: Path, columns: Columns) -> Path:
    """CSV or Parquet, gzipped or not, as the name says."""
    if ".parquet" in path.suffixes:
        buffer = io.BytesIO()
        parquet.write_table(pa.table(columns), buffer)
        content = buffer.getvalue()
    else:
        content = _csv(columns).encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def _csv(columns: Columns) -> str:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    for row in zip(*columns.values(), strict=True):
        writer.writerow([str(one).lower() if isinstance(one, bool) else one for one in row])
    return text.getvalue()


def read(path: Path) -> Columns:
    """A CSV or Parquet file as columns; CSV cells are text."""
    content = path.read_bytes()
    if path.suffix == ".gz":
        content = gzip.decompress(content)
    if ".parquet" in path.suffixes:
        return parquet.read_table(io.BytesIO(content)).to_pydict()
    header, *rows = csv.reader(io.StringIO(content.decode(), newline=""))
    return {name: [row[place] for row in rows] for place, name in enumerate(header)}


def write_declared(path: Path, columns: dict[str, Any] | None = None) -> Path:
    path.write_text(json.dumps({"columns": DECLARED if columns is None else columns}))
    return path


def fitted(
    folder: Path,
    private: Columns | None = None,
    public: Columns | None = None,
    *,
    without_public: bool = False,
    declare: dict[str, Any] | None = None,
    schema: Path | None = None,
    engine: Any = "local",
    **options: Any,
) -> Path:
    """A workspace in the folder, beside the tables it was made from."""
    if without_public and options.get("task") != "regression":
        options.setdefault("classes", ("no", "yes"))
    mine = write(folder / "private.csv", private_people() if private is None else private)
    theirs = write(folder / "public.csv", public_people() if public is None else public)
    fit(
        folder / "workspace",
        mine,
        None if without_public else theirs,
        Options(**{"id": "id", "label": "label"} | options),
        encoding=None if declare is None else write_declared(folder / "encoding.json", declare),
        schema=schema,
        engine=engine,
    )
    return folder / "workspace"


@cache
def _usual() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="expunge-tests-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    fitted(folder)
    return folder


def usual(folder: Path) -> Path:
    """What `fitted(folder)` makes, copied from one that was made before."""
    shutil.copytree(_usual(), folder, dirs_exist_ok=True)
    return folder / "workspace"


def ledger_rows(workspace: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of every table, read without the code under test."""
    connection = sqlite3.connect(workspace / "ledger.sqlite")
    try:
        names = [
            name
            for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        ]
        return {
            name: connection.execute(f"SELECT * FROM {name} ORDER BY 1, 2").fetchall()
            for name in names
        }
    finally:
        connection.close()


def change_ledger(workspace: Path, statement: str, *values: Any, sealed: bool = True) -> None:
    """Change rows behind the ledger's back; without `sealed` its seal does not know of it."""
    connection = sqlite3.connect(workspace / "ledger.sqlite")
    with connection:
        assert connection.execute(statement, values).rowcount
    connection.close()
    if sealed:
        engine = create_engine(URL.create("sqlite", database=str(workspace / "ledger.sqlite")))
        with engine.begin() as changed:
            renew_seal(changed)
        engine.dispose()


def private_chunk(workspace: Path) -> Path:
    """The file of the private records, where they are few enough for one chunk."""
    (path,) = (workspace / "secret/saved/secret").glob("chunk-*.parquet")
    return path


def files_of(workspace: Path) -> dict[str, bytes]:
    """Everything but the ledger, which SQLite may rearrange without a change to its rows."""
    return {
        str(path.relative_to(workspace)): path.read_bytes()
        for path in workspace.rglob("*")
        if path.is_file() and not path.name.startswith("ledger.sqlite")
    }


def everything_in(workspace: Path) -> tuple[dict[str, bytes], dict[str, list[tuple[Any, ...]]]]:
    """What a refusal must leave alone."""
    return files_of(workspace), ledger_rows(workspace)
