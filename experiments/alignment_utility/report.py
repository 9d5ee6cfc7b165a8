"""The paper's table with signs and errors, the bound and a figure, from the JSON alone."""

import math
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from experiments.alignment_utility.verdicts import PAPER, READINGS, mixed, relative
from experiments.tables import verdict_table
from expunge.report.picture import COLOURS, INK, SOFT, legend_below, save, styled, tidy

__all__ = ["bounds", "draw", "losses", "report"]

Row = dict[str, Any]
ALIGNMENTS = {"aligned": COLOURS["blue"], "misaligned": COLOURS["vermilion"]}
MARKERS = ("o", "s", "^")  # of public volumes
LABELS = {
    "first": "first reading, %: unlearned against\nretrained, private test rows",
    "second": "second reading, %: unlearned, private\ntest rows, against retrained, mixture",
}


def report(result: Row, folder: Path) -> str:
    """Draw SCALE.png, write SCALE.md, and return it."""
    scale = result.get("scale", "run")
    save(draw(result), folder / f"{scale}.png")
    settings, chain = result["settings"], result["settings"]["chain"]
    stands = [
        f"{pair} stands for {of}"
        + (f", which the paper calls {PAPER[of][0]}" if of in PAPER else "")
        for pair, of in result["stands_for"].items()
        if of
    ]
    told = f"Alignment as measured here. {'; '.join(stands)}. " if stands else ""
    head = (
        f"Scale `{scale}` on {result['device']}, {sum(result['seconds'].values()):.0f} s. Half of "
        f"the private rows forgotten at random, K = {settings['unlearn_steps']}, T = "
        f"{chain['learn_steps']}, eta = {chain['step_size']:g}, sigma = {chain['sigma']:g}, R = "
        f"{chain['radius']:g}, full batch; {settings['splits']} splits of {settings['models']} "
        "pairs of models that share their noise; errors are standard errors over splits. "
        f"{told}Two readings of a relative difference: both models on private test rows, or the "
        "unlearned model on them and the retrained one on the training mixture, which the mismatch "
        "theorem compares."
    )
    text = "\n\n".join([head, verdict_table(result), losses(result), bounds(result)])
    (folder / f"{scale}.md").write_text(text + "\n")
    return text


def losses(result: Row) -> str:
    lines = [
        "| public / private | alignment | setting | public | retained | forgotten | unlearned "
        "| retrained | difference | relative | retrained, on the mixture | relative to that "
        "| accuracy: unlearned / retrained |",
        "|---|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for row in result["rows"]:
        shares, second = relative(row), mixed(row)
        lines.append(
            f"| {row['pair']} | {row['alignment']} | {row['variant']} | {row['public']:,} "
            f"| {row['retained']:,} | {row['forget']:,} | {fmean(row['unlearned']):.4f} "
            f"| {fmean(row['retrained']):.4f} | {fmean(row['differences']):+.4f} +- "
            f"{_error(row['differences']):.4f} | {fmean(shares):+.2%} +- {_error(shares):.2%} "
            f"| {fmean(row['retrained_on_mixture']):.4f} | {fmean(second):+.2%} +- "
            f"{_error(second):.2%} "
            f"| {fmean(row['unlearned_accuracy']):.3f} / {fmean(row['retrained_accuracy']):.3f} |"
        )
    return "\n".join(lines)


def bounds(result: Row) -> str:
    """An estimate of D_inf went in: no certificate."""
    lines = [
        "| public / private | public | told apart | D_inf (95 %) | factor: paper's / exact "
        "| approximation: predicted / certified | bound: paper's / exact | measured |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for row in result["bounds"]:
        told, held = row["predicted"], row["certified"]
        factors = [
            None if told[name] is None else (told[name] - told["approximation"]) / told["retrained"]
            for name in ("paper", "exact")
        ]
        lines.append(
            f"| {row['pair']} | {row['public']:,} | {row['told_apart']:.1%} "
            f"| {_number(told['d_infinity'])} | {_number(factors[0])} / {_number(factors[1])} "
            f"| {told['approximation']:.3g} / {held['approximation']:.3g} "
            f"| {_number(told['paper'])} / {_number(told['exact'])} | {row['measured']:.4g} |"
        )
    return "\n".join(lines)


@styled
def draw(result: Row) -> Figure:
    """Relative differences of losses: a line of panels for each reading, one panel a setting."""
    settings = result["settings"]
    variants, pairs = settings["variants"], [pair for pair, _ in settings["pairs"]]
    figure = Figure(figsize=(3.2 * len(variants) + 0.8, 7.4), layout="constrained")
    grid = figure.subplots(len(READINGS), len(variants), squeeze=False, sharex=True, sharey="row")
    for reading, line in zip(READINGS, grid, strict=True):
        for variant, axes in zip(variants, line, strict=True):
            for place, pair in enumerate(pairs):
                rows = [r for r in result["rows"] if (r["pair"], r["variant"]) == (pair, variant)]
                _differences(axes, rows, reading, place)
            _frame(axes, pairs)
        line[0].set_ylabel(LABELS[reading])
    for variant, axes in zip(variants, grid[0], strict=True):
        axes.set_title(f"rows of {variant}")
    for name, colour in ALIGNMENTS.items():
        grid[0][0].errorbar([], [], color=colour, lw=6, label=name)
    for volume, marker in zip(settings["volumes"], MARKERS, strict=False):
        label = f"{volume:g} public rows a private"
        grid[0][0].add_line(Line2D([], [], color=SOFT, ls="none", marker=marker, label=label))
    note = "alignment as measured; below 0: the unlearned loss is the smaller; linear to 0.1"
    splits = f"means of {settings['splits']} splits, bars: standard errors over them"
    legend_below(figure, 5, f"{note}; {splits}")
    return figure


def _differences(axes: Axes, rows: list[Row], reading: str, place: int) -> None:
    """One point for each public volume of a pair."""
    for number, (row, marker) in enumerate(zip(rows, MARKERS, strict=False)):
        shares = [100 * one for one in READINGS[reading](row)]
        axes.errorbar(
            place + 0.2 * (number - 1), fmean(shares), _error(shares), marker=marker,
            color=ALIGNMENTS.get(row["alignment"], SOFT),  # a pair of one's own has none
        )  # fmt: skip


def _frame(axes: Axes, pairs: list[str]) -> None:
    axes.axhline(0, color=INK, lw=0.8)
    axes.set_yscale("symlog", linthresh=0.1)
    axes.yaxis.set_major_formatter("{x:g}")
    names = [pair.replace("_", " ").replace("/", "/\n") for pair in pairs]
    axes.set_xticks(range(len(pairs)), names, fontsize=8)
    axes.set_xlim(-0.5, len(pairs) - 0.5)
    tidy(axes, "y")


def _error(values: list[float]) -> float:
    return stdev(values) / math.sqrt(len(values))


def _number(value: float | None) -> str:
    return "infinite" if value is None else f"{value:.3g}"
