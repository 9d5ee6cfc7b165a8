"""A workspace's commands by the size of its tables: processor seconds, and memory at the peak.

    python -m benchmarks workspace            10^5 and 10^6 records
    python -m benchmarks workspace_large      10^7 as well; needs 8 GB of disk

Tables of numbers and a few categories are made block by block, and every command runs in a process
of its own, as from a shell. `forget` names ten records in ten different chunks; its seconds are the
median of several. Processor seconds, so that other work on the machine does not count. What every
command takes to start is in them: below 10^7 records that is most of a request, whose share of
`fit` is held against a limit at 10^7 only.

    base       what a process holds that has loaded what `fit` needs, and does nothing
    learning   from rows on disk of which nothing stays in memory, beside the same rows in memory

A process says that it held at least what its parent did when it began, so the one that measures
stays small.

With EXPUNGE_SCRATCH set, tables lie in that folder and stay there, and so does what was measured:
a run that was interrupted goes on with the sizes that are missing.
"""

import contextlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

__all__ = [
    "BASE",
    "GIB",
    "LARGE",
    "SIZES",
    "figure",
    "limits",
    "measure",
    "run_command",
    "write_blocks",
]

SIZES = (100_000, 1_000_000)
LARGE = (*SIZES, 10_000_000)
NUMBERS, CATEGORIES, PUBLIC = 60, 2, 2_000
BLOCK, REQUESTS, RECORDS = 100_000, 3, 10
STEADY, SHARE = 2.0, 1 / 30  # of `forget` at one size over another, and over `fit`
GIB, OUT_OF_CORE = 2.0, 1.5  # of `fit` above the base; of learning from disk over from memory
BOTH_FIT = 1_000_000  # records, up to which rows are learned from in memory as well
START = "from expunge.cli.main import start; start()"
BASE = "import resource, expunge.workspace.fit; print(resource.getrusage(0).ru_maxrss)"
LEARNING = "import sys; from benchmarks.workspace import learning; learning(sys.argv[1])"
MANY = 100_000  # ids of one large request
Row = dict[str, Any]


def measure(sizes: Iterable[int] = SIZES) -> list[Row]:
    """Measure every size, and how a request grows with the records."""
    rows: list[Row] = []
    for count in sizes:
        with _folder(count) as folder:
            known = folder / "measured.json"
            if not known.exists():
                row = _measured(count, folder)
                known.write_text(json.dumps(row))
                print(row, file=sys.stderr, flush=True)
            rows.append(json.loads(known.read_text()))
    return [*rows, *limits(rows)]


@contextlib.contextmanager
def _folder(count: int) -> Iterator[Path]:
    """Where a size is measured."""
    if scratch := os.environ.get("EXPUNGE_SCRATCH"):
        folder = Path(scratch) / str(count)
        folder.mkdir(parents=True, exist_ok=True)
        yield folder
        return
    with tempfile.TemporaryDirectory(prefix="expunge-benchmark-") as folder:
        yield Path(folder)


def limits(rows: list[Row]) -> list[Row]:
    """The figures that have a limit, of sizes that were measured."""
    found, (first, last) = [], (rows[0], rows[-1])
    for row in rows:
        seconds, peak = row["seconds"], row["peak_mib"]
        share = SHARE if row["records"] >= LARGE[-1] else 1.0
        name = f"{row['records']:,} records"
        found += [
            figure(f"forget ten of {name} over fit", seconds["forget"] / seconds["fit"], share),
            figure(f"GiB of fit above the base, {name}", (peak["fit"] - peak["base"]) / 1024, GIB),
        ]
        if row["learning"] is not None:
            ratio = row["learning"]["on_disk"] / row["learning"]["in_memory"]
            found.append(figure(f"learning out of core over in memory, {name}", ratio, OUT_OF_CORE))
    grown = last["seconds"]["forget"] / first["seconds"]["forget"]
    name = f"forget at {last['records']:,} records over {first['records']:,}"
    return [*found, figure(name, grown, STEADY)]


def figure(name: str, ratio: float, limit: float) -> Row:
    return {"name": name, "ratio": ratio, "limit": limit}


def _measured(count: int, folder: Path) -> Row:
    """Fit a table of so many records, forget some, verify."""
    private, public = folder / "private.parquet", folder / "public.parquet"
    for path, rows, prefix, seed in ((private, count, "p", 1), (public, PUBLIC, "q", 2)):
        if not path.exists():
            _write_table(path, rows, prefix, seed=seed)
    workspace = folder / "workspace"
    shutil.rmtree(workspace, ignore_errors=True)
    tables = ["--private", private, "--public", public, "--id", "id", "--label", "label"]
    idle = run_command("status", "--help")
    base = int(subprocess.check_output([sys.executable, "-c", BASE])) / 1024
    ran = {"fit": run_command("fit", workspace, *tables)}
    learned = _learned(workspace) if count <= BOTH_FIT else None
    requests = [
        run_command("forget", workspace, *_ids(count, request)) for request in range(REQUESTS)
    ]
    ran["forget_many"] = run_command("forget", workspace, "--ids", _many(count, folder))
    ran["verify"] = run_command("verify", workspace)
    disk = sum(p.stat().st_size for p in workspace.rglob("*") if p.is_file()) / 2**20
    shutil.rmtree(workspace)
    return {
        "records": count,
        "columns": NUMBERS + CATEGORIES,
        "seconds": {"start": idle["seconds"]}
        | {"forget": statistics.median(one["seconds"] for one in requests)}
        | {name: one["seconds"] for name, one in ran.items()},
        "elapsed": {"forget": min(one["elapsed"] for one in requests)}
        | {name: one["elapsed"] for name, one in ran.items()},
        "peak_mib": {"start": idle["peak_mib"], "base": base}
        | {"forget": max(one["peak_mib"] for one in requests)}
        | {name: one["peak_mib"] for name, one in ran.items()},
        "learning": learned,
        "many": min(MANY, count // 10),
        "disk_mib": disk,
    }


def _learned(workspace: Path) -> dict[str, float]:
    """What `learning` prints, in a process of its own."""
    return json.loads(subprocess.check_output([sys.executable, "-c", LEARNING, str(workspace)]))


def learning(workspace: str) -> None:
    """Print processor seconds of learning from a workspace's rows: on disk, and in memory."""
    from expunge.unlearning.linear.estimator import load

    seconds = {}
    for name, on_disk in (("in_memory", False), ("on_disk", True)):
        fitted: Any = load(Path(workspace) / "secret/saved", on_disk=on_disk).fitted_
        if on_disk:
            fitted.job.features.table.kept = 0
        began = time.process_time()
        fitted.strategy.fit(fitted.job)
        seconds[name] = time.process_time() - began
    print(json.dumps(seconds))


def run_command(*arguments: object) -> dict[str, float]:
    """What a command takes: processor seconds, elapsed ones, and memory at the peak."""
    began = time.monotonic()
    child = subprocess.Popen(
        [sys.executable, "-c", START, *map(str, arguments)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    assert child.stderr is not None
    said = child.stderr.read().decode()
    _, status, usage = os.wait4(child.pid, 0)
    if status:
        raise RuntimeError(f"expunge {' '.join(map(str, arguments))}: {said}")
    return {
        "seconds": usage.ru_utime + usage.ru_stime,
        "elapsed": time.monotonic() - began,
        "peak_mib": usage.ru_maxrss / 1024,
    }


def _ids(count: int, request: int) -> list[str]:
    """Ten ids, far from one another."""
    return [f"p{place * (count // RECORDS) + request:09d}" for place in range(RECORDS)]


def _many(count: int, scratch: Path) -> Path:
    """A file with many ids, spread over the whole table."""
    number, file = min(MANY, count // 10), scratch / "ids.txt"
    file.write_text("".join(f"p{place * (count // number) + 9:09d}\n" for place in range(number)))
    return file


def _write_table(path: Path, count: int, prefix: str, *, seed: int) -> None:
    """Write a table of made records."""
    rng = np.random.default_rng(seed)
    rule = np.random.default_rng(0).normal(size=NUMBERS).astype(np.float32)
    write_blocks(path, count, lambda first, rows: _block(rng, rule, prefix, first, rows))


def write_blocks(path: Path, count: int, block: Callable[[int, int], pa.Table]) -> None:
    """Write a table of so many records, block by block.

    Args:
        block: From the first record's number and how many there are to their table.
    """
    writer: parquet.ParquetWriter | None = None
    for first in range(0, count, BLOCK):
        part = block(first, min(BLOCK, count - first))
        writer = writer or parquet.ParquetWriter(path, part.schema)
        writer.write_table(part)
    assert writer is not None
    writer.close()


def _block(
    rng: np.random.Generator, rule: np.ndarray, prefix: str, first: int, rows: int
) -> pa.Table:
    numbers = rng.standard_normal((rows, NUMBERS), dtype=np.float32)
    columns: dict[str, Any] = {"id": [f"{prefix}{first + row:09d}" for row in range(rows)]}
    columns |= {f"x{place}": numbers[:, place] for place in range(NUMBERS)}
    shift = np.zeros(rows)
    for place in range(CATEGORIES):
        kinds = rng.integers(0, 2 + place, rows)
        columns[f"kind{place}"] = [f"kind {kind}" for kind in kinds]
        shift += kinds
    positive = numbers @ rule + shift + rng.logistic(size=rows) > 1
    columns["label"] = np.where(positive, "yes", "no")
    return pa.table(columns)
