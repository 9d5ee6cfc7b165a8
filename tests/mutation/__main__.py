"""Mutation testing, run by hand: does a test miss a small fault planted in the code it tests?

    python -m tests.mutation --mutants 200 --seed 0 --jobs 2     draw, judge, append the verdicts
    python -m tests.mutation --report                            counts, survivors unexplained

Verdicts are lines of JSON; a mutant that has one is not judged again unless `--again`, which
repeats the survivors. survivors.md explains, one by one, those that no test can or need kill.
"""

import argparse
import json
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from queue import Queue
from typing import Any

from tests.mutation.judge import (
    Baseline,
    Verdict,
    baseline_of,
    copied_tree,
    digest,
    judge,
    mirror_of,
    package_of,
)
from tests.mutation.operators import Mutant, draw, places

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
MUTATED = ("accounting", "unlearning", "audit", "core/release.py")


def candidates() -> list[list[Mutant]]:
    """All places of the mutated modules, in a fixed order."""
    files = []
    for name in MUTATED:
        path = ROOT / "expunge" / name
        files += [path] if path.is_file() else sorted(path.rglob("*.py"))
    named = [(path.read_text(), path.relative_to(ROOT).as_posix()) for path in files]
    return [group for source, file in named for group in places(source, file)]


def verdicts(results: Path) -> dict[str, Verdict]:
    """The last verdict on every mutant."""
    lines = results.read_text().splitlines() if results.exists() else []
    return {verdict["key"]: verdict for verdict in map(json.loads, lines)}


def explanations() -> dict[str, str]:
    """Key to explanation, from the rows of survivors.md that have one."""
    found = {}
    for line in (HERE / "survivors.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.replace(r"\|", "\0").strip("| ").split("|")]
        if line.startswith("| `") and len(cells) == 4 and cells[3]:
            found[cells[0].strip("`")] = cells[3].replace("\0", "|")
    return found


class Workers:
    """Copies of the tree, one for each job, handed out in turn."""

    def __init__(self, jobs: int, results: Path, stack: ExitStack) -> None:
        self.results, self.cache = results, results.with_suffix(".baseline.json")
        self.free: Queue[Path] = Queue()
        for _ in range(jobs):
            self.free.put(stack.enter_context(copied_tree(ROOT)))
        self.pool = ThreadPoolExecutor(jobs)
        stack.callback(self.pool.shutdown, cancel_futures=True)  # an interrupt ends it all

    def baselines(self, mutants: list[Mutant]) -> dict[str, Baseline]:
        """Of every test file that may judge; those of an earlier run on the same code are kept."""
        known = json.loads(self.cache.read_text()) if self.cache.exists() else {}
        files = {mirror_of(mutant.file) for mutant in mutants}
        files |= {name for mutant in mutants for name in package_of(mutant.file, ROOT)}
        marks = {file: digest(ROOT, file) for file in sorted(files)}
        new = [file for file, mark in marks.items() if known.get(file, {}).get("digest") != mark]
        waiting = {self.pool.submit(self._lent, baseline_of, file): file for file in new}
        for done in as_completed(waiting):
            file = waiting[done]
            known[file] = {"digest": marks[file], "baseline": asdict(done.result())}
            self.cache.write_text(json.dumps(known, indent=1))
        made = {file: Baseline(**known[file]["baseline"]) for file in marks}
        for one in made.values():
            if not one.counts or one.left_out:
                print(f"baseline: {one.file}: left out {one.why or ', '.join(one.left_out)}")
        return made

    def judged(self, mutants: list[Mutant], baselines: dict[str, Baseline]) -> None:
        """Every mutant's verdict, printed and appended to the results as it comes."""
        waiting = [self.pool.submit(self._lent, judge, mutant, baselines) for mutant in mutants]
        with self.results.open("a") as written:
            for number, done in enumerate(as_completed(waiting), 1):
                verdict: Verdict = done.result()
                written.write(f"{json.dumps(verdict)}\n")
                written.flush()
                print(f"[{number}/{len(mutants)}] {_shown(verdict)}", flush=True)

    def _lent(self, work: Any, *arguments: Any) -> Any:
        tree = self.free.get()
        try:
            return work(tree, *arguments)
        finally:
            self.free.put(tree)


def _shown(verdict: Verdict) -> str:
    fate = f"killed by {verdict['killed_by']}" if verdict["killed_by"] else "SURVIVED"
    place = f"{verdict['file']}:{verdict['line']} {verdict['function']}: {verdict['operator']}"
    change = f"    - {verdict['before']}\n    + {verdict['after']}"
    return f"{verdict['key']} {fate} in {verdict['seconds']} s  {place}\n{change}"


def run(options: argparse.Namespace) -> None:
    drawn = draw(candidates(), options.mutants, options.seed)
    known = verdicts(options.results)
    left = [
        mutant
        for mutant in drawn
        if mutant.key not in known or (options.again and not known[mutant.key]["killed_by"])
    ]
    print(f"{len(drawn)} mutants drawn by seed {options.seed}, {len(left)} to judge")
    if not left:
        return
    with ExitStack() as stack:
        workers = Workers(min(options.jobs, len(left)), options.results, stack)
        workers.judged(left, workers.baselines(left))


def report(options: argparse.Namespace) -> int:
    """Prints counts and what is unexplained; its number is the exit status, 0 or 1."""
    everything = {mutant.key for group in candidates() for mutant in group}
    known = {key: one for key, one in verdicts(options.results).items() if key in everything}
    explained = explanations()
    survived = {key: one for key, one in known.items() if not one["killed_by"]}
    killed = Counter(one["operator"] for one in known.values() if one["killed_by"])
    for operator, count in sorted(Counter(one["operator"] for one in known.values()).items()):
        print(f"{operator:20} {killed[operator]:4} of {count:4} killed")
    open_ones = {key: one for key, one in survived.items() if key not in explained}
    print(f"{len(known)} judged, {len(known) - len(survived)} killed, {len(survived)} survived")
    print(f"{len(open_ones)} of them unexplained, here as rows for survivors.md")
    for key, one in sorted(open_ones.items(), key=lambda item: (item[1]["file"], item[1]["line"])):
        change = f"`{one['before']}` → `{one['after']}`".replace("|", r"\|")
        print(f"| `{key}` | {one['file']} {one['function']} | {change} | |")
    killed_all = {key for key, one in verdicts(options.results).items() if one["killed_by"]}
    for key in sorted(set(explained) & killed_all):
        print(f"survivors.md: {key} is no survivor of these results: leave it out")
    return min(1, len(open_ones))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("--mutants", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--results", type=Path, default=HERE / "verdicts.jsonl")
    parser.add_argument("--again", action="store_true", help="judge survivors once more")
    parser.add_argument("--report", action="store_true")
    options = parser.parse_args()
    if options.report:
        return report(options)
    run(options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
