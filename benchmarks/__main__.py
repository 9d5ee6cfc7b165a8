"""Run the benchmarks; exit status 1 when a figure is over its limit.

python -m benchmarks [SUITE ...] [--json]
python -m benchmarks forget --sizes 1e7x64,1e6x384 [--merge] [--json]

The suites: accounting, ensembles, evidence, forget, proofs, recurrent, release, workspace,
workspace_text; large and workspace_large need time and memory. `--sizes` measures requests without
a pass at these sizes alone; `--merge` keeps them in benchmarks/pass_free.json and in the pages that
show it.
"""

import importlib
import json
import sys
from typing import Any


def measure_suite(suite: str) -> list[dict[str, Any]]:
    """Measure one suite; it imports only what it needs, so that a bare GPU machine can run it."""
    return importlib.import_module(f"benchmarks.{suite}").measure()


def large() -> list[dict[str, Any]]:
    """Measure the peak memory of fit and forget on a million rows."""
    gib = importlib.import_module("benchmarks.forget").large()
    return [{"name": "GiB at the peak, 1,000,000 x 384", "ratio": gib, "limit": 8.0}]


def workspace_large() -> list[dict[str, Any]]:
    """Measure a workspace's commands up to ten million records; needs 10 GB of disk."""
    module = importlib.import_module("benchmarks.workspace")
    return module.measure(module.LARGE)


def of_sizes(sizes: str, *, merge: bool) -> list[dict[str, Any]]:
    """Measure requests without a pass at these sizes alone, and keep them if asked to."""
    module = importlib.import_module("benchmarks.pass_free")
    try:
        asked = module.parse_sizes(sizes)
    except ValueError:
        sys.exit(f"benchmarks: --sizes {sizes}: write RECORDSxFEATURES, such as 1e7x64,1e6x384")
    rows = module.measure(asked)
    if merge:
        importlib.import_module("benchmarks.pass_free_pages").merge(rows)
    return rows


SUITES = {
    "accounting": lambda: measure_suite("accounting"),
    "release": lambda: measure_suite("release"),
    "forget": lambda: measure_suite("forget"),
    "ensembles": lambda: measure_suite("ensembles"),
    "evidence": lambda: measure_suite("evidence"),
    "proofs": lambda: measure_suite("proofs"),
    "recurrent": lambda: measure_suite("recurrent"),
    "large": large,
    "workspace": lambda: measure_suite("workspace"),
    "workspace_large": workspace_large,
    "workspace_text": lambda: measure_suite("workspace_text"),
}


def main() -> None:
    """Measure the chosen suites and print what they measured."""
    given = list(sys.argv[1:])
    sizes = given.pop(given.index("--sizes") + 1) if "--sizes" in given[:-1] else None
    if sizes is None and ("--sizes" in given or "--merge" in given):
        sys.exit("benchmarks: say which sizes: --sizes 1e7x64,1e6x384")
    chosen = [word for word in given if not word.startswith("--")]
    unknown = [word for word in chosen if word not in SUITES]
    if unknown:
        sys.exit(f"benchmarks: {unknown[0]}: unknown; there are {', '.join(SUITES)}")
    if sizes is not None:
        results = of_sizes(sizes, merge="--merge" in given)
    else:
        results = [
            row for name in chosen or ["accounting", "release", "forget"] for row in SUITES[name]()
        ]
    judged = [row for row in results if "ratio" in row]
    if "--json" in sys.argv[1:]:
        print(json.dumps(results, indent=1))
    else:
        for row in judged:
            print(f"{row['name']:45} {row['ratio']:8.3g}  (limit {row['limit']:g})")
            spent = row.get("seconds")
            if isinstance(spent, dict):
                print("  seconds:", ", ".join(f"{name} {each:.3g}" for name, each in spent.items()))
    if any(row["ratio"] > row["limit"] for row in judged):
        sys.exit("a figure is over its limit")


if __name__ == "__main__":
    main()
