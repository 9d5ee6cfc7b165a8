"""Runs a command again and again, killed at its first, second, third ... touch of the disk.

    python -m tests.workspace.killed < PLAN

PLAN is JSON: `command`, a command line; `then`, command lines to run after each kill; `start`, a
folder to copy before each, or null; `scratch`, where the copies go; `moments`, `all` or `crucial`:
the first touch, and just before and after each commit of a change and the last rename. `@` in a
command line is the copy. Prints a list with one entry for each kill, and a last one without.

Everything is imported once; each run is a fork, seeded by its name, and a kill is a SIGKILL that
the fork sends to itself just before the n-th write, sync, rename, removal or change to the ledger.
"""

import contextlib
import io
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import rich.progress  # noqa: F401
import sqlalchemy.dialects.sqlite  # noqa: F401
from sqlalchemy import Engine, event

import expunge.workspace.fit  # loaded once, for every fork
import expunge.workspace.forget
import expunge.workspace.predict
import expunge.workspace.verify  # noqa: F401
from expunge.cli.main import run
from tests.repeatable import start_from

CHANGES = {"os.rename", "os.remove", "os.rmdir", "os.mkdir", "shutil.rmtree"}
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT


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
    last = len(names) - names[::-1].index("os.rename")
    return sorted(crucial | {last, last + 1})


def _copied(plan: dict[str, Any], name: str) -> Path:
    copy = Path(plan["scratch"]) / name
    if plan["start"] is None:
        copy.mkdir()
    else:
        shutil.copytree(plan["start"], copy)
    return copy


def _once(plan: dict[str, Any], moment: int | None) -> dict[str, Any]:
    copy = _copied(plan, f"killed at {moment}")
    first = _forked([plan["command"]], copy, moment)
    left = sorted(str(path.relative_to(copy)) for path in copy.rglob("*"))
    then = _forked(plan["then"], copy)["outcomes"]
    after = sorted(str(path.relative_to(copy)) for path in copy.rglob("*"))
    return {"killed": first is None, "left": left, "then": then, "after": after}


def _forked(
    commands: list[list[str]], copy: Path, moment: int | None = None, *, record: bool = False
) -> Any:
    """What each of them printed, and the touches that were recorded; None if killed."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        start_from(f"{copy.name}: {commands}")
        touches: list[str] = []
        if moment is not None or record:
            _watch(touches, moment, str(copy))
        outcomes = [_ran([part.replace("@", str(copy)) for part in one]) for one in commands]
        with os.fdopen(writer, "w") as pipe:
            json.dump({"outcomes": outcomes, "touches": touches}, pipe)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        text = pipe.read()
    _, ended = os.waitpid(child, 0)
    if os.WIFSIGNALED(ended) and os.WTERMSIG(ended) == signal.SIGKILL:
        return None
    return json.loads(text)


def _ran(arguments: list[str]) -> dict[str, Any]:
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


def _watch(touches: list[str], moment: int | None, folder: str) -> None:
    def touch(name: str) -> None:
        touches.append(name)
        if len(touches) == moment:
            os.kill(os.getpid(), signal.SIGKILL)

    def audit(name: str, arguments: tuple[Any, ...]) -> None:
        writes = name == "open" and isinstance(arguments[2], int) and arguments[2] & WRITING
        if (writes or name in CHANGES) and folder in str(arguments[0]):
            touch(name)

    def before_statement(*arguments: Any) -> None:
        verb = arguments[2].split()[0].upper()
        if verb not in ("SELECT", "PRAGMA"):
            touch(verb)

    def fsync(handle: int) -> None:
        touch("fsync")
        synced(handle)

    synced, os.fsync = os.fsync, fsync
    event.listen(Engine, "before_cursor_execute", before_statement)
    event.listen(Engine, "commit", lambda _: touch("commit"))
    sys.addaudithook(audit)


def killed(plan: dict[str, Any]) -> list[dict[str, Any]]:
    """The outcomes of a plan, from a process of its own."""
    alone = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    done = subprocess.run(
        [sys.executable, "-m", "tests.workspace.killed"],
        input=json.dumps(plan),
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
        env=os.environ | alone,
        check=True,
    )
    return json.loads(done.stdout)


if __name__ == "__main__":
    main()
