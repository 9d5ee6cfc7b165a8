"""A mutant against the tests: killed by which file, or survived.

Every worker has a copy of the tree of its own, without git, and changes one file in it at a time.
Only tests that pass on the copy as it is count, so that a machine that lacks a package kills
nothing by lacking it: each test file is run once beforehand, and what fails there is left out.
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
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path

from tests.mutation.operators import Mutant

__all__ = ["Baseline", "Verdict", "baseline_of", "copied_tree", "judge", "mirror_of", "package_of"]

NOT_COPIED = (".*", "__pycache__", "build", "dist", "_build", "unfinished", "*.jsonl")
MEMORY = 48 << 30  # bytes of addresses for a run of tests: a runaway mutant ends here
PATIENCE, ROOM = 4.0, 60.0  # a run may take so many times its baseline, and so many seconds more
PASSED, FAILED, INTERRUPTED, NOTHING_RUN = 0, 1, 2, 5  # pytest's exit statuses


@dataclass(frozen=True)
class Baseline:
    """A test file on the tree as it is: whether it can judge, how long it takes, what fails."""

    file: str
    counts: bool
    seconds: float
    left_out: tuple[str, ...] = ()
    marker: str | None = None  # "slow" where a file has no quicker tests
    why: str = ""

    def arguments(self) -> list[str]:
        outside = [f"--deselect={name}" for name in self.left_out]
        return [self.file, *outside]


@dataclass(frozen=True)
class Verdict:
    """What became of a mutant; `killed_by` is a test file, "timeout" or None for a survivor."""

    key: str
    file: str
    function: str
    line: int
    operator: str
    before: str
    after: str
    killed_by: str | None
    seconds: float

    def written(self) -> str:
        return json.dumps(asdict(self))


@contextmanager
def copied_tree(root: Path) -> Iterator[Path]:
    """A temporary copy of the sources and tests, without git, environments and caches."""
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        tree = Path(folder) / "tree"
        shutil.copytree(root, tree, ignore=shutil.ignore_patterns(*NOT_COPIED))
        code = "import expunge; print(expunge.__file__)"
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
    """The package's test files, and those at the top of tests/ that import the package."""
    layer = Path(file).parts[1]
    own = sorted((root / "tests" / layer).rglob("test_*.py"))
    top = [
        path
        for path in sorted((root / "tests").glob("test_*.py"))
        if re.search(rf"expunge\.{layer}\b|expunge import .*\b{layer}\b", path.read_text())
    ]
    return [path.relative_to(root).as_posix() for path in (*own, *top)]


def baseline_of(tree: Path, file: str) -> Baseline:
    """The file's tests on the unchanged tree; those that fail there are left out of every run."""
    if not (tree / file).exists():
        return Baseline(file, False, 0.0, why="there is no such file")
    for marker in (None, "slow"):
        status, output, seconds = _run(tree, [file], 1800.0, marker)
        if status != NOTHING_RUN:
            break
    failing = tuple(_named(output, "FAILED"))
    counts = status == PASSED or (status == FAILED and not _named(output, "ERROR"))
    return Baseline(file, counts, seconds, failing, marker, "" if counts else _last_line(output))


def judge(tree: Path, mutant: Mutant, baselines: dict[str, Baseline]) -> Verdict:
    """Plants the mutant, runs its mirrored tests, then the package's, and restores the file."""
    path, began = tree / mutant.file, time.monotonic()
    mirror = mirror_of(mutant.file)
    package = [name for name in package_of(mutant.file, tree) if name != mirror]
    source = path.read_text()
    path.write_text(mutant.planted(source))
    try:
        killer = _killer(tree, [mirror], baselines) or _killer(tree, package, baselines)
    finally:
        path.write_text(source)
    told = (mutant.key, mutant.file, mutant.function, mutant.line, mutant.operator)
    shown = (mutant.before, mutant.after)
    return Verdict(*told, *shown, killer, round(time.monotonic() - began, 1))


def _killer(tree: Path, files: Sequence[str], baselines: dict[str, Baseline]) -> str | None:
    """Which of these files fails, the quickest first; None where all that count pass."""
    able = sorted((baselines[name] for name in files), key=lambda one: one.seconds)
    for marker in (None, "slow"):
        chosen = [one for one in able if one.counts and one.marker == marker]
        if marker and len(files) > 1:
            continue  # slow tests count where a module has no others
        if not chosen:
            continue
        arguments = [argument for one in chosen for argument in one.arguments()]
        limit = PATIENCE * sum(one.seconds for one in chosen) + ROOM
        status, output, _ = _run(tree, ["-x", *arguments], limit, marker)
        if status in (PASSED, NOTHING_RUN):
            continue
        if status is None:
            return "timeout"
        if status not in (FAILED, INTERRUPTED) and status > 0:
            raise RuntimeError(f"pytest gave {status}:\n{output}")
        named = [*_named(output, "FAILED"), *_named(output, "ERROR")]
        return named[0].split("::")[0] if named else f"{chosen[0].file} (crashed)"
    return None


def _run(
    tree: Path, arguments: Sequence[str], limit: float, marker: str | None
) -> tuple[int | None, str, float]:
    """pytest's exit status, None where it took too long; what it said; seconds."""
    options = ["-q", "-rfE", "--tb=no", "-p", "no:cacheprovider", "-p", "no:randomly"]
    options += ["--hypothesis-seed=0"] if find_spec("hypothesis") else []
    options += ["-m", f"{marker} and not gpu"] if marker else []
    command = [sys.executable, "-m", "pytest", *options, *arguments]
    began = time.monotonic()
    process = subprocess.Popen(
        command, cwd=tree, env=_environment(tree), start_new_session=True, text=True,
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


def _last_line(output: str) -> str:
    reasons = re.findall(r"^(?:E |ERROR ).*$", output, re.MULTILINE)
    return (reasons or output.strip().splitlines() or ["took too long"])[-1]


def digest(tree: Path, file: str) -> str:
    """Of all sources and one test file: a baseline holds as long as these do."""
    whole = hashlib.sha256()
    for path in sorted((tree / "expunge").rglob("*.py")):
        whole.update(path.read_bytes())
    path = tree / file
    whole.update(path.read_bytes() if path.exists() else b"")
    return whole.hexdigest()[:16]
