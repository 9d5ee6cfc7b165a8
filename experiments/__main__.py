"""List, run and report experiments."""

import importlib
import json
import subprocess
import sys
import tempfile
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

ROOT = Path(__file__).parent
Scale = Literal["smoke", "cpu", "paper"]
app = typer.Typer(no_args_is_help=True, add_completion=False, rich_markup_mode=None)


def names() -> list[str]:
    return sorted(path.parent.name for path in ROOT.glob("*/run.py"))


@app.command("list")
def list_experiments() -> None:
    """Every experiment and what it shows."""
    for name in names():
        doc = importlib.import_module(f"experiments.{name}.run").__doc__ or ""
        print(f"{name:24} {doc.splitlines()[0]}")


@app.command()
def run(
    name: Annotated[str | None, typer.Argument(help="One experiment.")] = None,
    scale: Annotated[Scale, typer.Option(help="smoke: seconds; cpu: minutes; paper: all.")] = "cpu",
    everything: Annotated[bool, typer.Option("--all", help="All of them.")] = False,
) -> None:
    """Run an experiment and write its results; a smoke run leaves nothing behind."""
    chosen = names() if everything else [known(name)]
    for one in chosen:
        print(f"{one} ({scale})", file=sys.stderr)
        module = importlib.import_module(f"experiments.{one}.run")
        settings = importlib.import_module(f"experiments.{one}.settings").SCALES[scale]
        result = {"experiment": one, "scale": scale, **provenance(), **module.run(settings)}
        if scale == "smoke":
            with tempfile.TemporaryDirectory() as folder:
                write(one, result, Path(folder))
        else:
            write(one, result, ROOT / one / "results")


@app.command()
def report(
    name: Annotated[str, typer.Argument(help="One experiment.")],
    scale: Annotated[Scale, typer.Option()] = "paper",
) -> None:
    """Draw figures and print tables from results that are already there."""
    folder = ROOT / known(name) / "results"
    path = folder / f"{scale}.json"
    if not path.exists():
        sys.exit(f"{path}: no results; python -m experiments run {name} --scale {scale}")
    module = importlib.import_module(f"experiments.{name}.report")
    print(module.report(json.loads(path.read_text()), folder))


def write(name: str, result: dict[str, Any], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{result['scale']}.json"
    text = json.dumps(result, indent=1, allow_nan=False) + "\n"
    path.write_text(text)
    module = importlib.import_module(f"experiments.{name}.report")
    print(module.report(json.loads(text), folder))


def known(name: str | None) -> str:
    if name not in names():
        sys.exit(f"experiments: {name}: unknown; there are {', '.join(names())}")
    return name


def provenance() -> dict[str, Any]:
    """The commit and the versions behind a result."""

    def installed(package: str) -> str | None:
        try:
            return version(package)
        except PackageNotFoundError:
            return None

    git = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True
    )
    return {
        "commit": git.stdout.strip() or None,
        "versions": {"python": sys.version.split()[0]}
        | {package: installed(package) for package in ("expunge", "numpy", "scipy")},
    }


if __name__ == "__main__":
    app()
