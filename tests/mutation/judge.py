"""A mutant against the tests: killed by which file, or survived.

Every worker has a copy of the tree of its own, without git, and changes one file in it at a time.
Only tests that pass on the copy as it is count, so that a machine that lacks a package kills
nothing by lacking it: each test file is run once beforehand, and what fails there is left out. So
are tests that never run the changed function (`reach`): they cannot fail by it. Changes outside of
functions, and of functions that no test runs, are held against all tests.
"""

import hashlib
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tests.mutation.operators import Mutant
from tests.mutation.reach import EVERY, OUTPUT, reaching

__all__ = [
    "Baseline",
    "Verdict",
    "baseline_of",
    "copied_tree",
    "digest",
    "judge",
    "mirror_of",
    "package_of",
]

Verdict = dict[str, Any]  # what the mutant is, "seconds", and "killed_by": a test file or None

NOT_COPIED = (".*", "__pycache__", "build", "dist", "_build", "unfinished", "*.jsonl")
MEMORY = 48 << 30  # bytes of addresses for a run of tests: a runaway mutant ends here
PATIENCE, ROOM = 4.0, 60.0  # a run may take so many times its baseline, and so many seconds more
SPAN = ("start", "end", "text")  # of no use once the file is edited
PASSED, FAILED, INTERRUPTED, NOTHING_RUN = 0, 1, 2, 5  # pytest's exit statuses


@dataclass(frozen=True)
class Baseline:
    """A test file on the tree as it is: whether it can judge, how long it takes, what fails.

    `reached` names the tests that run a function (`reach`).
    """

    file: str
    counts: bool
    seconds: float
    left_out: tuple[str, ...] = ()
    marker: str | None = None  # "slow" where a file has no quicker tests
    why: str = ""
    reached: dict[str, list[str]] = field(default_factory=dict)


@contextmanager
def copied_tree(root: Path) -> Iterator[Path]:
    """A temporary copy of the sources and tests, without git, environments and caches."""
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        tree = Path(folder) / "tree"
        shutil.copytree(root, tree, ignore=shutil.ignore_patterns(*NOT_COPIED))
        code = "from importlib.util import find_spec; print(find_spec('expunge').origin)"
        command = [sys.executable, "-c", code]
        where = subprocess.run(command, cwd=tree, env=_environment(tree), capture_output=True)
        if not where.stdout.decode().startswith(str(tree)):
            raise RuntimeError(f"{tree}: the tests would import another copy of the package")
        yield tree


def mirror_of(file: str) -> str:
    """expunge/audit/rates.py -> tests/audit/test_rates.py."""
    path = Path(file)
    return Path("tests", *path.parts[1:-1], f"test_{path.name}").as_posix()


def package_of(file: str, root: Path) -> list[str]:
    """The package's other test files, and those at the top of tests/ that import the package."""
    layer = Path(file).parts[1]
    imports = re.compile(rf"^from expunge(\.{layer}\b| import .*\b{layer}\b)", re.MULTILINE)
    own = sorted((root / "tests" / layer).rglob("test_*.py"))
    top = sorted((root / "tests").glob("test_*.py"))
    files = [*own, *(path for path in top if imports.search(path.read_text()))]
    names = [path.relative_to(root).as_posix() for path in files]
    return [name for name in names if name != mirror_of(file)]


def baseline_of(tree: Path, file: str) -> Baseline:
    """The file's tests on the unchanged tree; those that fail there are left out of every run.

    Slow tests count where a module's mirrored file has no others.
    """
    if not (tree / file).exists():
        return Baseline(file, False, 0.0, why="there is no such file")
    module = Path("expunge", *Path(file).parts[1:-1], Path(file).name.removeprefix("test_"))
    marker: str | None = None
    reach = tree / f"{Path(file).stem}.reached.json"
    status, output, seconds = _run(tree, [file], 1800.0, marker, reach)
    if status == NOTHING_RUN and (tree / module).exists():
        marker = "slow"
        status, output, seconds = _run(tree, [file], 1800.0, marker, reach)
    failing = tuple(_named(output, "FAILED"))
    counts = status == PASSED or (status == FAILED and not _named(output, "ERROR"))
    reached = json.loads(reach.read_text()) if counts else {}
    why = "" if counts else _reason(output)
    return Baseline(file, counts, seconds, failing, marker, why, reached)


def judge(tree: Path, mutant: Mutant, baselines: dict[str, Baseline]) -> Verdict:
    """Plants the mutant, runs its mirrored tests, then the package's, and restores the file."""
    path, began = tree / mutant.file, time.monotonic()
    mirror = [baselines[mirror_of(mutant.file)]]
    package = [baselines[name] for name in package_of(mutant.file, tree)]
    quick = [test_file for test_file in package if test_file.marker is None]
    source = path.read_text()
    path.write_text(mutant.planted(source))
    try:
        killer = _killer(tree, mutant, mirror) or _killer(tree, mutant, quick)
    finally:
        path.write_text(source)
    told = {name: value for name, value in asdict(mutant).items() if name not in SPAN}
    seconds = round(time.monotonic() - began, 1)
    return {"key": mutant.key, **told, "killed_by": killer, "seconds": seconds}


def _killer(tree: Path, mutant: Mutant, files: Sequence[Baseline]) -> str | None:
    """Which of these fails, the quickest first; "timeout"; None where all that count pass."""
    able = sorted((known for known in files if known.counts), key=lambda known: known.seconds)
    chosen = _that_run(mutant, able)
    if not chosen:
        return None
    outside = [f"--deselect={name}" for known in able for name in known.left_out]
    limit = PATIENCE * sum(known.seconds for known in able) + ROOM
    status, output, _ = _run(tree, ["-x", *chosen, *outside], limit, able[0].marker)
    if status in (PASSED, NOTHING_RUN):
        return None
    if status is None:
        return "timeout"
    if status not in (FAILED, INTERRUPTED) and status > 0:
        raise RuntimeError(f"pytest gave {status}:\n{output}")
    failed = [*_named(output, "FAILED"), *_named(output, "ERROR")]
    return failed[0].split("::")[0] if failed else f"{chosen[0].split('::')[0]} (crashed)"


def _that_run(mutant: Mutant, files: Sequence[Baseline]) -> list[str]:
    """Files and tests that run the mutant's function; every file where none was seen to."""
    reached = {known.file: reaching(known.reached, mutant.file, mutant.function) for known in files}
    if not any(reached.values()):
        return list(reached)
    chosen: list[str] = []
    for file, tests in reached.items():
        chosen += [file] if tests and EVERY in tests else tests or []
    return chosen


def _run(
    tree: Path,
    arguments: Sequence[str],
    limit: float,
    marker: str | None,
    reach: Path | None = None,
) -> tuple[int | None, str, float]:
    """pytest's exit status, None where it took too long; what it said; seconds.

    Args:
        reach: Where to write which tests run which functions.
    """
    options = ["-q", "-rfE", "--tb=no", "-p", "no:cacheprovider", "-p", "no:randomly"]
    options += ["--hypothesis-seed=0"] if find_spec("hypothesis") else []
    options += ["-m", f"{marker} and not gpu"] if marker else []
    options += ["-p", "tests.mutation.reach"] if reach else []
    command = [sys.executable, "-m", "pytest", *options, *arguments]
    environment = _environment(tree) | ({OUTPUT: str(reach)} if reach else {})
    began = time.monotonic()
    process = subprocess.Popen(
        command, cwd=tree, env=environment, start_new_session=True, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    if hasattr(resource, "prlimit"):
        resource.prlimit(process.pid, resource.RLIMIT_AS, (MEMORY, MEMORY))
    try:
        output, _ = process.communicate(timeout=limit)
        return process.returncode, output, time.monotonic() - began
    except subprocess.TimeoutExpired:
        return None, "", time.monotonic() - began
    finally:
        _end(process)


def _end(process: subprocess.Popen[str]) -> None:
    """Ends the run and whatever it started; its group may be gone already."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    process.wait()


def _environment(tree: Path) -> dict[str, str]:
    """One thread, no GPU, this copy first, and no compiled files that outlive a mutant."""
    return os.environ | {
        "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1",
        "CUDA_VISIBLE_DEVICES": "", "COLUMNS": "1000",
    }  # fmt: skip


def _named(output: str, word: str) -> list[str]:
    """Test names of pytest's summary lines `FAILED file::name - reason`."""
    return re.findall(rf"^{word} (tests/\S+\.py(?:::.*?)?)(?: - .*)?$", output, re.MULTILINE)


def _reason(output: str) -> str:
    return (re.findall(r"^ERROR .*$", output, re.MULTILINE) or output.splitlines()[-1:] or [""])[0]


def digest(tree: Path, file: str) -> str:
    """Of all sources and one test file: a baseline holds as long as these do."""
    whole = hashlib.sha256()
    for path in sorted((tree / "expunge").rglob("*.py")):
        whole.update(path.read_bytes())
    path = tree / file
    whole.update(path.read_bytes() if path.exists() else b"")
    return whole.hexdigest()[:16]
