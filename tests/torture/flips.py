"""Bits flipped in every file of workspaces, saved models and samples: nothing changes silently.

    python -m tests.torture.flips --count 2000 --seed 0     into tests/torture/results/flips.jsonl

goes on after the subjects that this file has; `--again` begins anew.

For each flip everything that can be read is read. What is read is as before, or refused. `verify`,
or loading, names the file; or else the flip is harmless, for a reason that the file's own format
gives, and the next request ends as if nothing had happened. Then every number and text of every
document, and every cell of the ledger, is changed alone, and must be refused; and what was
forgotten is searched for, byte by byte.

A line of the result is about one file: flips, how many were named, harmless ones with their
reasons; `wrong` lists whatever should not be, and must be empty.
"""

import argparse
import json
import os
import re
import shutil
import sqlite3
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import numpy as np

from expunge.errors import InvalidInput, NoCertificate, Refused
from tests.torture.dying import write_plain_parquet
from tests.torture.sqlite_bytes import harmless_bytes
from tests.torture.subjects import SUBJECTS, Subject

__all__ = ["flipped_lines", "main", "rounds"]

RESULTS = Path(__file__).parent / "results/flips.jsonl"
REFUSALS = (InvalidInput, Refused, NoCertificate, OSError)
RANDOM_NAME = re.compile(r"(?<![0-9a-f])([0-9a-f]{64}|[0-9a-f]{16}|[0-9a-f]{8})(?![0-9a-f])")
LEDGER, REFUSED, TRACEBACK = "ledger.sqlite", "refused: ", "traceback: "
TROUBLE = (REFUSED, TRACEBACK)
VERIFY = ("verify",)
Files = dict[Path, bytes]
OPENED: set[str] = set()  # since it was last cleared


def rounds(
    count: int, seed: int, scratch: Path, names: Iterable[str] = tuple(SUBJECTS)
) -> Iterator[list[dict[str, Any]]]:
    """For each subject its lines, one a file and the search; `count` flips if all are named."""
    write_plain_parquet()
    for place, name in enumerate(SUBJECTS):
        if name in names:
            subject, searched, there = SUBJECTS[name](scratch / str(place))
            places = chosen_places(subject, -(-count // len(SUBJECTS)), seed + place)
            yield [
                *([traces_left(name, subject, searched, there)] if searched else []),
                *flipped_lines(name, subject, places),
                *targeted_lines(name, subject),
            ]


# ---- random flips ---------------------------------------------------------------------------


def chosen_places(subject: Subject, count: int, seed: int) -> list[tuple[Path, int]]:
    """Bits to flip: at least one in each file, larger files more often (root of the size)."""
    rng = np.random.default_rng(seed)
    files = [(path, len(content)) for path, content in sorted(_files(subject.folder).items())]
    weights = np.sqrt([size for _, size in files])
    more = rng.choice(len(files), max(0, count - len(files)), p=weights / weights.sum())
    chosen = [files[place] for place in [*range(len(files))][:count] + more.tolist()]
    return [(path, int(rng.integers(8 * size))) for path, size in chosen]


def flipped_lines(
    name: str, subject: Subject, places: list[tuple[Path, int]]
) -> Iterator[dict[str, Any]]:
    """Flip each of these bits alone, and read everything; a line for each file."""
    before, expected, opened = _files(subject.folder), _said_of_whole(subject), _opened_by(subject)
    for path in sorted({path for path, _ in places}):
        line = _line(name, "flips", subject, path)
        asked = _asked(expected, opened, path)
        unused = harmless_bytes(before[path]) if path.name == LEDGER else {}
        for bit in [bit for other, bit in places if other == path]:
            flipped = bytearray(before[path])
            flipped[bit // 8] ^= 1 << bit % 8
            _put(path, flipped)
            reason = unused.get(bit // 8)
            _judge(line, subject, path, asked, f"bit {bit}", reason)
            _restore(subject.folder, before)
        yield line


def _judge(
    line: dict[str, Any],
    subject: Subject,
    path: Path,
    expected: dict[str, Any],
    what: str,
    reason: str | None,
) -> None:
    """Read everything after one change, and enter into the line what came of it."""
    line["count"] += 1
    found = _said(subject, expected)
    verdict = found["verify"]
    for reading, said in found.items():
        if said != expected[reading] and not str(said).startswith(REFUSED):
            line["wrong"].append(f"{what}: {reading} said {' '.join(str(said).split())[:200]}")
    if str(verdict).startswith(REFUSED):
        named = path.name in verdict
        line["named"] += named
        if not named:
            line["wrong"].append(f"{what}: refused, but not by name: {verdict[:200]}")
    elif reason is None:
        line["wrong"].append(f"{what}: not noticed")
    else:
        line["harmless"][reason] = line["harmless"].get(reason, 0) + 1
        try:
            subject.next_request()
        except REFUSALS as error:
            line["wrong"].append(f"{what}: called harmless, but {error}")
        if str(_said(subject, VERIFY)["verify"]).startswith(REFUSED):
            line["wrong"].append(f"{what}: called harmless, but not well after the next request")


def _opened_by(subject: Subject) -> dict[str, set[Path]]:
    """Which files each reading opens: what it says cannot depend on the others."""
    opened = {}
    for name in (*subject.readings, *VERIFY):
        OPENED.clear()
        _said(subject, [name])
        opened[name] = {Path(path) for path in OPENED}
    return opened


def _asked(expected: dict[str, Any], opened: dict[str, set[Path]], path: Path) -> dict[str, Any]:
    """What is expected of the readings that open a file, and always of `verify`."""
    names = [name for name in expected if path in opened[name] or name in VERIFY]
    return {name: expected[name] for name in names}


def _note_opened(event: str, arguments: tuple[Any, ...]) -> None:
    if event in ("open", "sqlite3.connect") and isinstance(arguments[0], str | bytes | Path):
        opened = os.fsdecode(arguments[0])
        OPENED.add(unquote(urlsplit(opened).path) if opened.startswith("file:") else opened)


def _said(subject: Subject, names: Iterable[str] | None = None) -> dict[str, Any]:
    """What the readings say, and the look at everything; or that they refuse, and why."""
    said, readings = {}, {**subject.readings, "verify": subject.verdict}
    for name in readings if names is None else names:
        try:
            said[name] = readings[name]()
        except REFUSALS as error:
            said[name] = f"{REFUSED}{' '.join(str(error).split())}"
        except Exception as error:
            said[name] = f"{TRACEBACK}{type(error).__name__}: {error}"  # which is no refusal
    if isinstance(said.get("verify"), tuple):
        problem, claim = said["verify"]
        said["verify"] = claim if problem is None else f"{REFUSED}{problem}"
    return said


def _said_of_whole(subject: Subject) -> dict[str, Any]:
    """What the readings say of the subject as it was made: none of them complains."""
    said = _said(subject)
    complaints = {name: text for name, text in said.items() if str(text).startswith(TROUBLE)}
    assert not complaints, complaints
    return said


# ---- every constant and every setting -------------------------------------------------------


def targeted_lines(name: str, subject: Subject) -> Iterator[dict[str, Any]]:
    """Change every leaf of every JSON file and every cell of the ledger, each alone."""
    before, expected, opened = _files(subject.folder), _said_of_whole(subject), _opened_by(subject)
    for path in sorted(before):
        changes: Any = ()
        if path.suffix == ".json":
            changes = _changed_documents(before[path])
        elif path.name == LEDGER:
            changes = _changed_cells(path)
        line = _line(name, "targeted", subject, path)
        for what, content in changes:
            _put(path, content)
            asked = _asked(expected, opened, path)
            _judge(line, subject, path, asked, what, None)
            _restore(subject.folder, before)
        if line["count"]:
            yield line


def _changed_documents(content: bytes) -> Iterator[tuple[str, bytes]]:
    """The document with one leaf changed, written as it was written."""
    text = content.decode()
    document = json.loads(text)
    plain = text == json.dumps(document, indent=1) + "\n"
    for steps in _leaves(document):
        changed = json.loads(text)
        inner = changed
        for step in steps[:-1]:
            inner = inner[step]
        inner[steps[-1]] = _other(inner[steps[-1]])
        spaced = json.dumps(changed, indent=1) if plain else _as_written(text, changed)
        yield ".".join(map(str, steps)), f"{spaced}\n".encode()


def _as_written(text: str, changed: Any) -> str:
    """In the canonical form or the readable one, whichever the text has."""
    if "\n" in text.strip():
        return json.dumps(changed, indent=2, ensure_ascii=False)
    return json.dumps(changed, separators=(",", ":"), ensure_ascii=False, sort_keys=True)


def _leaves(value: Any, steps: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where the numbers and texts are; of a list the first, a middle and the last.

    Of the fingerprints of a certificate one will do: they are no constants, but digests.
    """
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            some = dict(list(inner.items())[:1]) if key == "fingerprints" else inner
            yield from _leaves(some, (*steps, key))
    elif isinstance(value, list) and value:
        for place in sorted({0, len(value) // 2, len(value) - 1}):
            yield from _leaves(value[place], (*steps, place))
    elif steps:
        yield steps


def _other(value: Any) -> Any:
    """Another value of the same kind; a number becomes smaller, as 1.97 became 0.97."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value - 1 if abs(value) < 2**50 else 1
    if isinstance(value, str):
        digits = re.search(r"[1-9]", value)
        if digits:
            return value[: digits.start()] + "0" + value[digits.end() :]
        return f"{value[:-1]}{'b' if value[-1:] == 'a' else 'a'}"
    return 1 if value is None else [*value, 1] if isinstance(value, list) else {"a": 1}


def _changed_cells(path: Path) -> Iterator[tuple[str, bytes]]:
    """The ledger with one cell changed, for every cell; of records for five of them."""
    whole = path.read_bytes()
    with closing(sqlite3.connect(path)) as connection:
        tables = [
            name
            for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        ]
        cells = []
        for table in tables:
            columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
            keys = [key for (key,) in connection.execute(f"SELECT rowid FROM {table}")]
            keys = keys[:: max(1, len(keys) // 4)] if table == "records" else keys
            cells += [(table, column, key) for key in keys for column in columns]
    _put(path, whole)
    for table, column, key in cells:
        for what, changed in _changed_values(path, table, column, key):
            yield (
                f"{table}.{column} of row {key}{what}",
                _with_cell(path, table, column, key, changed),
            )
            _put(path, whole)


def _changed_values(path: Path, table: str, column: str, key: int) -> list[tuple[str, Any]]:
    """Other values for a cell; for a setting that is a document, each of its leaves changed."""
    with closing(sqlite3.connect(path)) as connection:
        query = f"SELECT {column} FROM {table} WHERE rowid = ?"
        (value,) = connection.execute(query, (key,)).fetchone()
    if table == "settings" and str(value).startswith("{"):
        return [
            (f", {what}", content.decode().rstrip())
            for what, content in _changed_documents(value.encode())
        ]
    return [("", value + 1000 if isinstance(value, int) else _other(value))]


def _with_cell(path: Path, table: str, column: str, key: int, changed: Any) -> bytes:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA foreign_keys=OFF")
        change = f"UPDATE OR IGNORE {table} SET {column} = ? WHERE rowid = ?"
        with connection:
            connection.execute(change, (changed, key))
            if not connection.total_changes:  # there is such a row already
                connection.execute(change, (f"{changed} and more", key))
    return path.read_bytes()


# ---- what was forgotten ---------------------------------------------------------------------


def traces_left(
    name: str, subject: Subject, searched: dict[str, bytes], there: dict[str, bool]
) -> dict[str, Any]:
    """Search every file for values of a record that was forgotten; its ids are counted apart."""
    files = _files(subject.folder)
    left = [
        f"{what} in {path.name}"
        for what, trace in searched.items()
        for path, content in files.items()
        if trace in content
    ]
    return {
        "subject": name,
        "kind": "search",
        "file": "all",
        "count": len(searched),
        "there_before": sum(there.values()),
        "ids_in": sorted({_shown_name(subject, path) for path in files if b"00003" in files[path]}),
        "wrong": left,
    }


# ---- files ----------------------------------------------------------------------------------


def _files(folder: Path) -> Files:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def _put(path: Path, content: bytes) -> None:
    """Put another file into its place: this process may still have the one before open."""
    new = path.with_name(f"{path.name}.new")
    new.write_bytes(content)
    os.replace(new, path)
    for beside in ("-wal", "-shm"):
        path.with_name(f"{path.name}{beside}").unlink(missing_ok=True)


def _restore(folder: Path, before: Files) -> None:
    """Put back every file as it was, and take away what was not there."""
    now = _files(folder)
    for path in now.keys() - before.keys():
        path.unlink()
    for path, content in before.items():
        if now.get(path) != content:
            path.parent.mkdir(parents=True, exist_ok=True)
            _put(path, content)
    for path in sorted((p for p in folder.rglob("*/*") if p.is_dir()), reverse=True):
        if not any(path.iterdir()):
            path.rmdir()


def _line(name: str, kind: str, subject: Subject, path: Path) -> dict[str, Any]:
    shown = _shown_name(subject, path)
    counts = {"count": 0, "named": 0, "harmless": {}, "wrong": []}
    return {"subject": name, "kind": kind, "file": shown} | counts


def _shown_name(subject: Subject, path: Path) -> str:
    """A file's name with T for what is random in it."""
    return RANDOM_NAME.sub("T", str(path.relative_to(subject.folder)))


sys.addaudithook(_note_opened)


def summary(lines: list[dict[str, Any]]) -> dict[str, int]:
    """Totals of the random flips."""
    total = Counter[str]()
    for line in lines:
        if line["kind"] == "flips":
            total["flips"] += line["count"]
            total["named"] += line["named"]
            total["harmless"] += sum(line["harmless"].values())
        total["wrong"] += len(line["wrong"])
    return dict(total)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.torture.flips")
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, default=RESULTS, help="JSON lines")
    parser.add_argument("--only", nargs="+", choices=tuple(SUBJECTS), default=tuple(SUBJECTS))
    parser.add_argument("--again", action="store_true", help="begin anew")
    given = parser.parse_args()
    lines = [] if given.again or not given.output.exists() else _lines_in(given.output)
    done = {line["subject"] for line in lines}
    names = [name for name in given.only if name not in done]
    scratch = Path(tempfile.mkdtemp(prefix="expunge-flips-"))
    try:
        with given.output.open("a" if lines else "w") as file:
            for more in rounds(given.count, given.seed, scratch, names):
                file.write("".join(f"{json.dumps(line)}\n" for line in more))
                file.flush()
                print(*map(json.dumps, more), sep="\n", flush=True)
                lines += more
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    print(json.dumps(summary(lines)))
    return int(summary(lines)["wrong"] > 0)


def _lines_in(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


if __name__ == "__main__":
    sys.exit(main())
