"""Runs a command again and again, killed at its first, second, third ... touch of the disk.

    python -m tests.workspace.killed < PLAN

PLAN is JSON: `command`, a command line; `then`, command lines to run after each kill; `start`, a
folder to copy before each, or null; `scratch`, where the copies go; `moments`, `all` or `crucial`:
the first touch, and just before and after each commit of a change and the last rename. `@` in a
command line is the copy. Prints a list with one entry for each kill, and a last one without.

Each run is a fork (`tests/torture/dying.py`), seeded by its name.
"""

import contextlib
import io
import json
import sys
from pathlib import Path
from typing import Any

import rich.progress  # noqa: F401
import sqlalchemy.dialects.sqlite  # noqa: F401

import expunge.workspace.fit  # loaded once, for every fork
import expunge.workspace.fit_again
import expunge.workspace.forget
import expunge.workspace.predict
import expunge.workspace.refresh
import expunge.workspace.verify  # noqa: F401
from expunge.cli.main import run
from tests.repeatable import start_from
from tests.torture.dying import Child, copied, own_process


def main() -> None:
    plan = json.load(sys.stdin)
    outcomes = [_once(plan, moment) for moment in _moments(plan)]
    json.dump([*outcomes, _once(plan, None)], sys.stdout)


def _moments(plan: dict[str, Any]) -> list[int]:
    """Which touches to die at, counted from 1."""
    names = _forked([plan["command"]], _copied(plan, "untouched"), record=True)["touches"]
    if plan["moments"] == "all":
        return list(range(1, len(names) + 1))
    crucial, changed = {1}, False
    for place, name in enumerate(names, start=1):
        changed |= name in ("INSERT", "UPDATE")
        if name == "commit" and changed:
            crucial |= {place, place + 1}
            changed = False
    renames = [place for place, name in enumerate(names, 1) if name.startswith("os.rename")]
    last = renames[-1]
    return sorted(crucial | {last, last + 1})


def _copied(plan: dict[str, Any], name: str) -> Path:
    start = None if plan["start"] is None else Path(plan["start"])
    return copied(start, Path(plan["scratch"]) / name)


def _once(plan: dict[str, Any], moment: int | None) -> dict[str, Any]:
    copy = _copied(plan, f"killed at {moment}")
    first = _forked([plan["command"]], copy, moment)
    left = sorted(str(path.relative_to(copy)) for path in copy.rglob("*"))
    then = _forked(plan["then"], copy)["result"]
    after = sorted(str(path.relative_to(copy)) for path in copy.rglob("*"))
    return {"killed": first is None, "left": left, "then": then, "after": after}


def _forked(
    commands: list[list[str]], copy: Path, moment: int | None = None, *, record: bool = False
) -> Any:
    """What each of them printed, and the touches that were recorded; None if killed."""

    def work() -> list[dict[str, Any]]:
        start_from(f"{copy.name}: {commands}")
        return [ran([part.replace("@", str(copy)) for part in one]) for one in commands]

    return Child(work, copy, moment, record).ended()


def ran(arguments: list[str]) -> dict[str, Any]:
    """Run a command line in this process; what it printed and its exit status."""
    out, err, status = io.StringIO(), io.StringIO(), 0
    sys.argv = ["expunge", *arguments]
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            run()
        except SystemExit as stopped:
            status = int(stopped.code or 0)
        except BaseException as error:
            return {"status": -1, "out": out.getvalue(), "err": repr(error)}
    return {"status": status, "out": out.getvalue(), "err": err.getvalue()}


def killed(plan: dict[str, Any]) -> list[dict[str, Any]]:
    """The outcomes of a plan, from a process of its own."""
    return own_process("tests.workspace.killed", stdin=json.dumps(plan))


if __name__ == "__main__":
    main()
