"""Run the benchmarks; exit status 1 when a figure is over its limit.

python -m benchmarks [SUITE ...] [--json]

The suites: accounting, ensembles, evidence, forget, proofs, recurrent, release, workspace; large,
pass_free_large and workspace_large need time and memory.
"""

import importlib
import json
import sys


def measure_suite(suite: str) -> list[dict[str, object]]:
    """Measure one suite; it imports only what it needs, so that a bare GPU machine can run it."""
    return importlib.import_module(f"benchmarks.{suite}").measure()


def large() -> list[dict[str, object]]:
    """Measure the peak memory of fit and forget on a million rows."""
    gib = importlib.import_module("benchmarks.forget").large()
    return [{"name": "GiB at the peak, 1,000,000 x 384", "ratio": gib, "limit": 8.0}]


def pass_free_large() -> list[dict[str, object]]:
    """Measure requests without a pass up to ten million rows; needs 16 GB."""
    module = importlib.import_module("benchmarks.pass_free")
    return module.measure(module.LARGE)


def workspace_large() -> list[dict[str, object]]:
    """Measure a workspace's commands up to ten million records; needs 10 GB of disk."""
    module = importlib.import_module("benchmarks.workspace")
    return module.measure(module.LARGE)


SUITES = {
    "accounting": lambda: measure_suite("accounting"),
    "release": lambda: measure_suite("release"),
    "forget": lambda: measure_suite("forget"),
    "ensembles": lambda: measure_suite("ensembles"),
    "evidence": lambda: measure_suite("evidence"),
    "proofs": lambda: measure_suite("proofs"),
    "recurrent": lambda: measure_suite("recurrent"),
    "large": large,
    "pass_free_large": pass_free_large,
    "workspace": lambda: measure_suite("workspace"),
    "workspace_large": workspace_large,
}


def main() -> None:
    """Measure the chosen suites and print what they measured."""
    chosen = [word for word in sys.argv[1:] if not word.startswith("--")]
    unknown = [word for word in chosen if word not in SUITES]
    if unknown:
        sys.exit(f"benchmarks: {unknown[0]}: unknown; there are {', '.join(SUITES)}")
    results = [
        row for name in chosen or ["accounting", "release", "forget"] for row in SUITES[name]()
    ]
    if "--json" in sys.argv[1:]:
        print(json.dumps(results, indent=1))
    else:
        for row in results:
            print(f"{row['name']:45} {row['ratio']:8.3g}  (limit {row['limit']:g})")
    if any(row["ratio"] > row["limit"] for row in results):  # type: ignore[operator]
        sys.exit("a figure is over its limit")


if __name__ == "__main__":
    main()
