"""List, run and report experiments."""

import ast
import math
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from experiments.datasets import BadData, DataMissing, load_pair
from experiments.datasets.embeddings import EMBEDDER
from experiments.datasets.own import declare_pair
from experiments.first_splits import hold_first_splits
from experiments.reruns import Agreement, take_over
from experiments.running import ROOT, Scale, Yours, draw, execute, judge, names
from experiments.timing import note

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
    scale: Annotated[
        Scale, typer.Option(help="smoke: seconds; cpu: minutes; paper: all; large: reviews only.")
    ] = "cpu",
    everything: Annotated[bool, typer.Option("--all", help="All of them.")] = False,
    pair: Annotated[
        str | None, typer.Option(help="PUBLIC/PRIVATE: a pair of your own, or one known by name.")
    ] = None,
    data: Annotated[
        Path | None, typer.Option(help="Its .npz file: public_x, public_y, private_x, private_y.")
    ] = None,
    retained: Annotated[int, typer.Option(min=8, help="Private rows retained.")] = 300,
    public: Annotated[
        str | None, typer.Option(help="Public rows for each retained one, such as 0,1,4.")
    ] = None,
    embedder: Annotated[
        str | None, typer.Option(help="module:object for images, in place of timm's DINO.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(help="Folder for results; ./results for --pair, else the experiment's own."),
    ] = None,
) -> None:
    """Run an experiment and write its results; a smoke run leaves nothing behind."""
    yours = None
    if pair is not None:
        try:
            if data is not None:
                declare_pair(pair, data)
            if embedder is not None:
                os.environ[EMBEDDER] = embedder
            load_pair(pair)
        except (BadData, DataMissing) as error:
            sys.exit(f"experiments: {error}")
        yours = Yours(pair, retained, parse_volumes(public))
        output = output or Path("results")
    elif data or public or embedder:
        sys.exit("experiments: --data, --public and --embedder belong to --pair PUBLIC/PRIVATE")
    for experiment in names() if everything else [check_name(name)]:
        print(f"{experiment} ({scale})", file=sys.stderr)
        try:
            execute(experiment, scale, yours, output)
        except (BadData, ValueError) as error:
            if yours is None:
                raise
            sys.exit(f"experiments: {error}")


def parse_volumes(text: str | None) -> tuple[float, ...] | None:
    """The multiples of the retained rows that --public lists."""
    if text is None:
        return None
    try:
        volumes = tuple(float(part) for part in text.split(","))
    except ValueError:
        volumes = ()
    if not volumes or not all(0 <= volume < math.inf for volume in volumes) or not any(volumes):
        sys.exit(f"experiments: --public {text}: say multiples of the retained rows, such as 0,1,4")
    return volumes


@app.command("time")
def take_time(
    experiments: Annotated[list[str], typer.Argument(help="One or more.")],
    output: Annotated[
        Path | None, typer.Option(help="Folder for their results; nowhere if left out.")
    ] = None,
) -> None:
    """Run experiments at --scale cpu and note their seconds in experiments/cpu_seconds.json."""
    for name in [check_name(name) for name in experiments]:
        row = note(name, output and output / name)
        print(f"{name}: {row['seconds']:g} s, processor {row['processor_seconds'] or '-'} s")


@app.command("first-splits")
def first_splits(
    name: Annotated[str, typer.Argument(help="One that predicts over splits.")],
    splits: Annotated[int, typer.Option(min=1, help="How many of them.")] = 1,
) -> None:
    """Make a committed result's predictions again on its first splits; note how far they agree."""
    results_of(name, "paper")
    print(_told(hold_first_splits(name, splits)))


@app.command()
def again(
    name: Annotated[str, typer.Argument(help="One experiment.")],
    folder: Annotated[Path, typer.Argument(help="Where `run --output` left its result.")],
    scale: Annotated[Scale, typer.Option()] = "paper",
) -> None:
    """Take over a result that was made again; note how far it agrees with the one before it."""
    place = results_of(name, scale)
    found = take_over(name, scale, folder / f"{scale}.json")
    print(_told(found))
    draw(name, place)


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


def _told(found: Agreement) -> str:
    return (
        f"{found.numbers:,} numbers, {found.differing:,} differ, by at most {found.largest:.1e} "
        f"{found.where}; otherwise: {', '.join(found.otherwise) or 'nothing'}"
    )


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
