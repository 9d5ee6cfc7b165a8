"""List, run and report experiments."""

import ast
import sys
from pathlib import Path
from typing import Annotated

import typer

from experiments.running import ROOT, Scale, draw, execute, judge, names

app = typer.Typer(no_args_is_help=True, add_completion=False, rich_markup_mode=None)


@app.command("list")
def list_experiments() -> None:
    """Every experiment and what it shows."""
    for name in names():
        doc = ast.get_docstring(ast.parse((ROOT / name / "run.py").read_text())) or ""
        print(f"{name:24} {doc.splitlines()[0]}")


@app.command()
def run(
    name: Annotated[str | None, typer.Argument(help="One experiment.")] = None,
    scale: Annotated[Scale, typer.Option(help="smoke: seconds; cpu: minutes; paper: all.")] = "cpu",
    everything: Annotated[bool, typer.Option("--all", help="All of them.")] = False,
) -> None:
    """Run an experiment and write its results; a smoke run leaves nothing behind."""
    for experiment in names() if everything else [check_name(name)]:
        print(f"{experiment} ({scale})", file=sys.stderr)
        execute(experiment, scale)


@app.command()
def report(
    name: Annotated[str, typer.Argument(help="One experiment.")],
    scale: Annotated[Scale, typer.Option()] = "paper",
) -> None:
    """Draw figures and print tables from results that are already there."""
    print(draw(name, results_of(name, scale)))


@app.command("judge")
def judge_again(
    name: Annotated[str, typer.Argument(help="One experiment.")],
    scale: Annotated[Scale, typer.Option()] = "paper",
) -> None:
    """State the verdicts of today on rows that are already there, and report them."""
    print(judge(name, results_of(name, scale)))


def results_of(name: str, scale: Scale) -> Path:
    """The file of an experiment's results; exit with the command that makes it otherwise."""
    path = ROOT / check_name(name) / "results" / f"{scale}.json"
    if not path.exists():
        sys.exit(f"{path}: no results; python -m experiments run {name} --scale {scale}")
    return path


def check_name(name: str | None) -> str:
    """Check that an experiment has this name; exit with the list of them otherwise."""
    if name not in names():
        sys.exit(f"experiments: {name}: unknown; there are {', '.join(names())}")
    return name


if __name__ == "__main__":
    app()
