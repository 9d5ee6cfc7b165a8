"""Runs a command again and again, killed at its first, second, third ... touch of the disk.

    python -m tests.workspace.killed < PLAN

PLAN is JSON: `command`, a command line; `then`, command lines to run after each kill; `start`, a
folder to copy before each, or null; `scratch`, where the copies go; `first` and
`stride`, the moments to try. `@` in a command line
is the copy. Prints a list with one entry for each kill, and a last one that ran to its end.

Everything is imported once; each run is a fork, and a kill is a SIGKILL that the fork sends to
itself just before the n-th write, sync, rename, removal or change to the ledger.
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

CHANGES = {"os.rename", "os.remove", "os.rmdir", "os.mkdir", "shutil.rmtree"}
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT


def main() -> None:
    plan = json.load(sys.stdin)
    outcomes, moment = [], plan["first"]
    while True:
        outcomes.append(_once(plan, moment))
        if not outcomes[-1]["killed"]:
            break
        moment += plan["stride"]
    json.dump(outcomes, sys.stdout)


def _once(plan: dict[str, Any], moment: int) -> dict[str, Any]:
    copy = Path(plan["scratch"]) / str(moment)
    if plan["start"] is None:
        copy.mkdir()
    else:
        shutil.copytree(plan["start"], copy)
    first = _forked([plan["command"]], copy, moment)
    left = sorted(str(path.relative_to(copy)) for path in copy.rglob("*"))
    then = _forked(plan["then"], copy, None)
    after = sorted(str(path.relative_to(copy)) for path in copy.rglob("*"))
    return {"killed": first is None, "left": left, "then": then, "after": after}


def _forked(commands: list[list[str]], copy: Path, moment: int | None) -> Any:
    """What each of them printed; None if killed."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        if moment is not None:
            _die_at(moment, str(copy))
        outcomes = [_ran([part.replace("@", str(copy)) for part in one]) for one in commands]
        with os.fdopen(writer, "w") as pipe:
            json.dump(outcomes, pipe)
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


def _die_at(moment: int, folder: str) -> None:
    left = moment

    def touch() -> None:
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def audit(name: str, arguments: tuple[Any, ...]) -> None:
        writes = name == "open" and isinstance(arguments[2], int) and arguments[2] & WRITING
        if (writes or name in CHANGES) and folder in str(arguments[0]):
            touch()

    def before_statement(*arguments: Any) -> None:
        if arguments[2].split()[0].upper() not in ("SELECT", "PRAGMA"):
            touch()

    synced = os.fsync
    os.fsync = lambda handle: (touch(), synced(handle))[1]
    event.listen(Engine, "before_cursor_execute", before_statement)
    event.listen(Engine, "commit", lambda _: touch())
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
