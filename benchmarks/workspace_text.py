"""A workspace of hashed texts by the number of its records: processor seconds, and memory.

    python -m benchmarks workspace_text

Texts of made words, as frequent as words are, lie in a Parquet table; `expunge fit --features text`
hashes their words and pairs of words, rows stay sparse on disk, and what is held in memory does not
grow with them. Every command runs in a process of its own, as from a shell.
"""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.workspace import BASE, GIB, figure, run_command, write_blocks

__all__ = ["SIZES", "measure"]

SIZES = (100_000, 1_000_000)
PUBLIC, WORDS, LONG, TELLING = 2_000, 50_000, 20, 200
FLAT = 1.5  # of memory above the base, ten times as many records over the fewer
Row = dict[str, Any]


def measure(sizes: Iterable[int] = SIZES) -> list[Row]:
    """Measure every size, and how memory grows with the records."""
    rows = []
    for count in sizes:
        with tempfile.TemporaryDirectory(prefix="expunge-benchmark-") as folder:
            rows.append(_measured(count, Path(folder)))
        print(rows[-1], file=sys.stderr, flush=True)
    above = [row["peak_mib"]["fit"] - row["peak_mib"]["base"] for row in rows]
    name = f"{rows[-1]['records']:,} texts"
    return [
        *rows,
        figure(f"GiB of fit above the base, {name}", above[-1] / 1024, GIB),
        figure(f"memory above the base, {name} over the fewest", above[-1] / above[0], FLAT),
    ]


def _measured(count: int, folder: Path) -> Row:
    """Fit so many texts, forget ten of them, verify."""
    for name, rows, seed in (("private", count, 1), ("public", PUBLIC, 2)):
        rng = np.random.default_rng(seed)
        write_blocks(
            folder / f"{name}.parquet",
            rows,
            lambda first, rows, name=name, rng=rng: _block(rng, name, first, rows),
        )
    workspace = folder / "workspace"
    tables = ["--private", folder / "private.parquet", "--public", folder / "public.parquet"]
    base = int(subprocess.check_output([sys.executable, "-c", BASE])) / 1024
    ran = {
        "fit": run_command(
            "fit", workspace, *tables, "--id", "id", "--label", "label", "--features", "text"
        )
    }
    ids = [f"private{place * (count // 10):09d}" for place in range(10)]
    ran["forget"] = run_command("forget", workspace, *ids)
    ran["verify"] = run_command("verify", workspace)
    disk = sum(p.stat().st_size for p in workspace.rglob("*") if p.is_file()) / 2**20
    shutil.rmtree(workspace)
    return {
        "records": count,
        "seconds": {name: one["seconds"] for name, one in ran.items()},
        "peak_mib": {"base": base} | {name: one["peak_mib"] for name, one in ran.items()},
        "disk_mib": disk,
    }


def _block(rng: np.random.Generator, prefix: str, first: int, rows: int) -> pa.Table:
    """Texts of words by Zipf's law; some words tell the label."""
    words = (WORDS ** rng.random((rows, LONG))).astype(np.int64)  # a word's rank
    lean = np.where(words % TELLING == 0, np.where(words // TELLING % 2, 1, -1), 0).sum(axis=1)
    likely = rng.logistic(size=rows) < 3 * lean
    columns = {
        "id": [f"{prefix}{first + row:09d}" for row in range(rows)],
        "text": [" ".join(f"word{word}" for word in line) for line in words.tolist()],
        "label": np.where(likely, "yes", "no"),
    }
    return pa.table(columns)
