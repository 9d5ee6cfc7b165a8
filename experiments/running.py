"""Run an experiment and keep its results; the command line calls this.

`python -c "from experiments.running import execute; execute('NAME', 'paper')"` works on a machine
that has torch and nothing to parse commands with.
"""

import importlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Literal

import torch

from experiments.parts import machine

__all__ = [
    "RERUNS",
    "ROOT",
    "SECONDS",
    "Scale",
    "Yours",
    "commit",
    "draw",
    "execute",
    "judge",
    "names",
    "provenance",
]

ROOT = Path(__file__).parent
SECONDS, RERUNS = "experiments/cpu_seconds.json", "experiments/reruns.json"  # notes on results
Scale = Literal["smoke", "cpu", "paper", "large"]


@dataclass(frozen=True)
class Yours:
    """A pair of your own in place of an experiment's.

    Args:
        pair: PUBLIC/PRIVATE, declared or known by name.
        retained: How many private rows are retained.
        public: Public rows as multiples of the retained ones; the experiment's own if None.
    """

    pair: str
    retained: int
    public: tuple[float, ...] | None = None


def settings_at(name: str, scale: Scale) -> Any:
    """The settings of a scale; exit with the scales that the experiment has."""
    scales = importlib.import_module(f"experiments.{name}.settings").SCALES
    if scale not in scales:
        raise SystemExit(f"experiments: {name} has no scale {scale}; it has {', '.join(scales)}")
    return scales[scale]


def settings_for(name: str, settings: Any, yours: Yours) -> Any:
    """The settings with a pair of your own; exit with the names of those that take one."""
    taking = [
        other
        for other in names()
        if hasattr(importlib.import_module(f"experiments.{other}.settings"), "for_pair")
    ]
    if name not in taking:
        raise SystemExit(f"experiments: {name} takes no pair; those that do: {', '.join(taking)}")
    module = importlib.import_module(f"experiments.{name}.settings")
    return module.for_pair(settings, yours.pair, retained=yours.retained, public=yours.public)


def names() -> list[str]:
    """The names of all experiments."""
    return sorted(path.parent.name for path in ROOT.glob("*/run.py"))


def execute(
    name: str, scale: Scale, yours: Yours | None = None, output: Path | None = None
) -> None:
    """Run an experiment and write its results; a smoke run leaves nothing behind.

    Args:
        output: Where results go in place of the experiment's own folder.
    """
    module = importlib.import_module(f"experiments.{name}.run")
    settings = settings_at(name, scale)
    if yours is not None:
        settings = settings_for(name, settings, yours)
    header, start = {"experiment": name, "scale": scale, **provenance()}, time.perf_counter()
    outcome = module.run(settings)
    on_gpu = torch.cuda.is_available() and torch.cuda.max_memory_allocated() > 0
    took = {
        "device": machine() if on_gpu else "CPU",
        "seconds": round(time.perf_counter() - start, 1),
    }
    result = {**header, **took, **outcome}
    if output is not None:
        _write(name, result, output)
    elif scale == "smoke":
        with tempfile.TemporaryDirectory() as folder:
            _write(name, result, Path(folder))
    else:
        _write(name, result, ROOT / name / "results")


def draw(name: str, path: Path) -> str:
    """Draw the figures beside a file of results, and return its tables."""
    module = importlib.import_module(f"experiments.{name}.report")
    return module.report(json.loads(path.read_text()), path.parent)


def judge(name: str, path: Path) -> str:
    """Judge rows that are already there by the verdicts of today, and draw them again.

    The commit that made the rows stays; `judged` is the commit whose verdicts they have now.
    """
    result = json.loads(path.read_text())
    result["verdicts"] = verdicts_of(name)(result)
    result["judged"] = provenance()["commit"]
    path.write_text(json.dumps(result, indent=1, allow_nan=False) + "\n")
    return draw(name, path)


def verdicts_of(name: str) -> Callable[[dict[str, Any]], list[dict[str, str]]]:
    """The function that makes an experiment's verdicts of its rows."""
    folder = ROOT / name
    place = "verdicts" if (folder / "verdicts.py").exists() else "run"
    module = importlib.import_module(f"experiments.{name}.{place}")
    if not hasattr(module, "verdicts"):
        raise SystemExit(f"experiments: {name} states no verdicts")
    return module.verdicts


def _write(name: str, result: dict[str, Any], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{result['scale']}.json"
    path.write_text(json.dumps(result, indent=1, allow_nan=False) + "\n")
    print(draw(name, path))


def provenance() -> dict[str, Any]:
    """The commit and the versions behind a result."""

    def version_of(package: str) -> str | None:
        try:
            return version(package)
        except PackageNotFoundError:
            return None

    return {
        "commit": commit(ROOT.parent, names()),
        "versions": {"python": sys.version.split()[0]}
        | {package: version_of(package) for package in ("expunge", "numpy", "scipy", "torch")},
    }


def commit(repository: Path, experiments: list[str]) -> str | None:
    """The commit of the code, with -dirty if anything but results and pages differs from it.

    Notes on results are results, too.
    """

    def git(*arguments: str) -> str:
        done = subprocess.run(
            ["git", *arguments], cwd=repository, capture_output=True, text=True, check=False
        )
        return done.stdout.strip()

    described = git("describe", "--always")
    places = [f"experiments/{name}/results/**" for name in experiments]
    places += ["**/*.md", SECONDS, RERUNS]
    besides = [f":(exclude,glob){place}" for place in places]
    changed = git("status", "--porcelain", "--untracked-files=no", "--", ".", *besides)
    return f"{described}-dirty" if described and changed else described or None
