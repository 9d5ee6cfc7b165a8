"""Runs work in a fork that dies: by SIGKILL, just before its n-th touch of the disk.

A touch is an open for writing, a rename, a removal, a new folder, a change of mode, a sync, or a
statement or commit that changes a ledger; `os.rename index.json` says which. Everything is imported
once, by the parent: a fork starts in milliseconds.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from pyarrow import parquet
from sqlalchemy import Engine, event

CHANGES = {"os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.chmod", "shutil.rmtree"}
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
ALONE = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


class Child:
    """A fork at work; `ended` waits for it."""

    def __init__(
        self, work: Callable[[], Any], place: Path, moment: int | None = None, record: bool = False
    ) -> None:
        self._reader, writer = os.pipe()
        self.pid = os.fork()
        if self.pid:
            os.close(writer)
            return
        os.close(self._reader)
        touches: list[str] = []
        if moment is not None or record:
            watch(touches, moment, str(place))
        try:
            result, problem = work(), None
        except BaseException as error:
            result, problem = None, repr(error)
        with os.fdopen(writer, "w") as pipe:
            json.dump({"result": result, "touches": touches, "problem": problem}, pipe)
        os._exit(0)

    def kill(self) -> None:
        """Kill it, whatever it does; it may be over."""
        os.kill(self.pid, signal.SIGKILL)

    def is_over(self) -> bool:
        """Whether it has ended; `ended` says how."""
        how = os.WEXITED | os.WNOHANG | os.WNOWAIT
        return os.waitid(os.P_PID, self.pid, how) is not None

    def ended(self) -> dict[str, Any] | None:
        """What it returned, touched and raised; None if it was killed."""
        with os.fdopen(self._reader) as pipe:
            text = pipe.read()
        _, how = os.waitpid(self.pid, 0)
        killed = os.WIFSIGNALED(how) and os.WTERMSIG(how) == signal.SIGKILL
        return None if killed else json.loads(text)


def watch(touches: list[str], moment: int | None, place: str) -> None:
    """Note every touch of files in this place and of ledgers, and die at the one of this number."""

    def touch(name: str) -> None:
        touches.append(name)
        if len(touches) == moment:
            os.kill(os.getpid(), signal.SIGKILL)

    def audit(name: str, arguments: tuple[Any, ...]) -> None:
        writes = name == "open" and isinstance(arguments[2], int) and arguments[2] & WRITING
        if (writes or name in CHANGES) and place in str(arguments[0]):
            touch(f"{name} {Path(str(arguments[1 if name == 'os.rename' else 0])).name}")

    def before_statement(*arguments: Any) -> None:
        verb = arguments[2].split()[0].upper()
        if verb not in ("SELECT", "PRAGMA", "BEGIN"):
            touch(verb)

    def fsync(handle: int) -> None:
        touch("fsync")
        synced(handle)

    synced, os.fsync = os.fsync, fsync
    event.listen(Engine, "before_cursor_execute", before_statement)
    event.listen(Engine, "commit", lambda _: touch("commit"))
    sys.addaudithook(audit)


def write_plain_parquet() -> None:
    """From here on Parquet is not compressed, so a search by bytes sees every value in it."""
    parquet.write_table = partial(parquet.write_table, compression="none")


def copied(start: Path | None, target: Path) -> Path:
    """A copy of the folder that each run starts from, or an empty one."""
    if start is None:
        target.mkdir()
    else:
        shutil.copytree(start, target)
    return target


def own_process(module: str, *arguments: str, stdin: str = "") -> Any:
    """What `python -m MODULE` prints as JSON; in a process of its own, which may fork."""
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        input=stdin,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
        env=os.environ | ALONE,
        check=True,
    )
    return json.loads(done.stdout)
