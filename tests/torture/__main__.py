"""Tortures: each is a module of this folder with `rounds(count, seed, scratch, earlier)`.

    python -m tests.torture kills --count 500 --seed 0     into tests/torture/results/kills.jsonl
    python -m tests.torture tables                         docs/reliability.md from the results

goes on after the rounds that the file has; `--again` begins anew. Ends 1 if anything went wrong.
"""

import argparse
import importlib
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

from tests.torture import tables
from tests.torture.dying import ALONE

RESULTS = Path(__file__).parent / "results"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.torture")
    parser.add_argument("name", help="a torture, or tables")
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, help="JSON lines; by default in results/")
    parser.add_argument("--again", action="store_true", help="begin anew")
    given = parser.parse_args()
    if given.name == "tables":
        tables.write()
        return 0
    torture = importlib.import_module(f"tests.torture.{given.name}")
    output = given.output or RESULTS / f"{given.name}.jsonl"
    resumed = output.exists() and not given.again
    lines = [json.loads(line) for line in output.read_text().splitlines()] if resumed else []
    scratch = Path(tempfile.mkdtemp(prefix="expunge-torture-"))
    try:
        with output.open("a" if resumed else "w") as file:
            for line in torture.rounds(given.count, given.seed, scratch, tuple(lines)):
                print(json.dumps(line), file=file, flush=True)
                print(json.dumps(line), flush=True)
                lines.append(line)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return int(any(line["wrong"] for line in lines))


if __name__ == "__main__":
    if not ALONE.items() <= os.environ.items():  # threads do not survive a fork
        os.execve(
            sys.executable,
            [sys.executable, "-m", "tests.torture", *sys.argv[1:]],
            os.environ | ALONE,
        )
    sys.exit(main())
