"""Seconds of experiments at `--scale cpu`, noted in one file.

    python -m experiments time NAME ...

Processor seconds are those of all threads and processes together. With one thread they are what an
idle core needs, however busy the machine was; seconds are what a clock showed.
"""

import json
import os
import tempfile
import time
from pathlib import Path
from typing import Any

import torch

from experiments.running import ROOT, SECONDS, execute

__all__ = ["LIMIT", "TIMES", "measure", "note", "seconds_of", "times"]

LIMIT = 600  # seconds on two cores, for every experiment
TIMES = ROOT.parent / SECONDS
Row = dict[str, Any]


def times() -> dict[str, Row]:
    """What is noted, by experiment."""
    return json.loads(TIMES.read_text()) if TIMES.exists() else {}


def note(name: str, output: Path | None = None) -> Row:
    """Measure an experiment and note what it took; its results go to `output`, or nowhere."""
    with tempfile.TemporaryDirectory() as folder:
        row = measure(name, output or Path(folder))
    TIMES.write_text(json.dumps(dict(sorted({**times(), name: row}.items())), indent=1) + "\n")
    return row


def measure(name: str, folder: Path) -> Row:
    """Run an experiment and return what it took; exit if parts of a stopped run would be taken.

    Models of reviews are kept in blocks for good. Where they are taken, seconds are those of the
    blocks when they were made, and processor seconds are not known.
    """
    stopped = ROOT / name / "results" / "unfinished"
    if stopped.exists():
        raise SystemExit(f"experiments: {stopped}: parts of a stopped run; delete them to measure")
    start, before = time.perf_counter(), _processor_seconds()
    execute(name, "cpu", output=folder)
    clock, spent = time.perf_counter() - start, _processor_seconds() - before
    result = json.loads((folder / "cpu.json").read_text())
    parts = seconds_of(result)
    return {
        "seconds": round(max(clock, parts), 1),
        "processor_seconds": round(spent, 1) if parts < clock + 1 else None,
        "threads": torch.get_num_threads(),
        "device": result["device"],
        "commit": result["commit"],
    }


def seconds_of(result: Row) -> float:
    """What a result says that it took, all parts together."""
    seconds = result["seconds"]
    return sum(seconds.values()) if isinstance(seconds, dict) else seconds


def _processor_seconds() -> float:
    """Of this process and those that it has waited for."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system
