"""A workspace's commands by the size of its tables: processor seconds, and memory at the peak.

    python -m benchmarks workspace            10^5 and 10^6 records
    python -m benchmarks workspace_large      10^7 as well; the tables take 3 GB of disk

Tables of numbers and a few categories are made block by block, and every command runs in a process
of its own, as from a shell. `forget` names ten records in ten different chunks; its seconds are the
median of several. Processor seconds, so that other work on the machine does not count. What every
command takes to start is in them: below 10^7 records that is most of a request, whose share of
`fit` is held against a limit at 10^7 only.
"""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

__all__ = ["LARGE", "SIZES", "measure"]

SIZES = (100_000, 1_000_000)
LARGE = (*SIZES, 10_000_000)
NUMBERS, CATEGORIES, PUBLIC = 60, 2, 2_000
BLOCK, REQUESTS, RECORDS = 100_000, 3, 10
STEADY, SHARE = 2.0, 1 / 30  # of `forget` at one size over another, and over `fit`
START = "from expunge.cli.main import start; start()"
MANY = 100_000  # ids of one large request


def measure(sizes: Iterable[int] = SIZES) -> list[dict[str, object]]:
    """Measure every size, and how a request grows with the records."""
    rows: list[dict[str, Any]] = []
    for count in sizes:
        scratch = Path(tempfile.mkdtemp(prefix="expunge-benchmark-"))
        try:
            rows.append(_measured(count, scratch))
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    spent = [row["seconds"]["forget"] for row in rows]
    growth = {
        "name": f"forget at {max(sizes):,} records over {min(sizes):,}",
        "ratio": spent[-1] / spent[0],
        "limit": STEADY,
    }
    return [*rows, growth]


def _measured(count: int, scratch: Path) -> dict[str, Any]:
    """Fit a table of so many records, forget some, verify; the share of `fit` that a request is."""
    private, public = scratch / "private.parquet", scratch / "public.parquet"
    _write_table(private, count, "p", seed=1)
    _write_table(public, PUBLIC, "q", seed=2)
    workspace = scratch / "workspace"
    tables = ["--private", private, "--public", public, "--id", "id", "--label", "label"]
    idle = _ran("status", "--help")
    fit = _ran("fit", workspace, *tables)
    requests = [_ran("forget", workspace, *_ids(count, request)) for request in range(REQUESTS)]
    many = _many(count, scratch)
    large = _ran("forget", workspace, "--ids", many)
    verify = _ran("verify", workspace)
    seconds = {
        "start": idle["seconds"],
        "fit": fit["seconds"],
        "forget": statistics.median(one["seconds"] for one in requests),
        "forget_many": large["seconds"],
        "verify": verify["seconds"],
    }
    row = {
        "name": f"forget ten of {count:,} records over fit",
        "ratio": seconds["forget"] / seconds["fit"],
        "limit": SHARE if count >= LARGE[-1] else 1.0,
        "seconds": seconds,
        "elapsed": {"fit": fit["elapsed"], "forget": min(one["elapsed"] for one in requests)},
        "peak_mib": {
            "start": idle["peak_mib"],
            "fit": fit["peak_mib"],
            "forget": max(one["peak_mib"] for one in requests),
            "forget_many": large["peak_mib"],
            "verify": verify["peak_mib"],
        },
        "many": min(MANY, count // 10),
        "disk_mib": sum(p.stat().st_size for p in workspace.rglob("*") if p.is_file()) / 2**20,
    }
    print(row, file=sys.stderr, flush=True)
    return row


def _ran(*arguments: object) -> dict[str, float]:
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
    """Write a table of made records, block by block."""
    rng = np.random.default_rng(seed)
    rule = np.random.default_rng(0).normal(size=NUMBERS).astype(np.float32)
    writer: parquet.ParquetWriter | None = None
    for first in range(0, count, BLOCK):
        block = _block(rng, rule, prefix, first, min(BLOCK, count - first))
        writer = writer or parquet.ParquetWriter(path, block.schema)
        writer.write_table(block)
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
