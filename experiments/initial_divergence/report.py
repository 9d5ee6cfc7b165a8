"""The ablation's figure and tables, from the JSON alone."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.axes import mark_below, set_volume_axis
from experiments.split_intervals import geometric
from experiments.tables import SIZE, checks, select, verdict_table
from expunge.report.picture import COLOURS, INK, SOFT, legend_below, save, styled, tidy

__all__ = ["draw", "report", "table"]

Row = dict[str, Any]
MARKS = {"base": (COLOURS["blue"], "o"), "forgotten by class": (COLOURS["vermilion"], "s")}
NAMES = {"base": "random forget set", "forgotten by class": "forgotten class by class"}


def report(result: Row, folder: Path) -> str:
    """Draw SCALE.png, write SCALE.md, and return it."""
    scale = result.get("scale", "run")
    save(draw(result), folder / f"{scale}.png")
    chain = result["settings"]["chain"]
    head = (
        f"Scale `{scale}` on {result['device']}, {sum(result['seconds'].values()):.0f} s. Zero "
        f"init, features of norm 10, full batch, T = {chain['learn_steps']}, eta = "
        f"{chain['step_size']:g}, sigma = {chain['sigma']:g}, R = {chain['radius']:g}; "
        f"{result['settings']['splits']} splits, intervals at 95 % over splits. Public rows are "
        "repeated where more are asked for than there are. sketch/cartoon stands for DomainNet "
        f"Quickdraw / Clipart. {SIZE}"
    )
    text = "\n\n".join([head, verdict_table(result), table(result), checks(result)])
    (folder / f"{scale}.md").write_text(text + "\n")
    return text


def table(result: Row) -> str:
    lines = [
        "| pair | forget set | design | public | forgotten | D_2 at K = 1 | certified |",
        "|---|---|---|---:|---:|---:|---:|",
    ]
    for row in select(result["rows"], unlearn_steps=1):
        design = "the paper's" if row["design"] == "paper" else "n_forget fixed"
        lines.append(
            f"| {row['pair']} | {NAMES[row['variant']]} | {design} | {row['public']:,} "
            f"| {row['forget']:,} | {geometric(row['values'])} | {row['certified']:.3g} |"
        )
    return "\n".join(lines)


@styled
def draw(result: Row) -> Figure:
    pairs = [pair for pair, _ in result["settings"]["pairs"]]
    figure = Figure(figsize=(9, 3.3 * len(pairs) + 0.6), layout="constrained")
    grid = figure.subplots(len(pairs), 2, squeeze=False, sharey=True)
    for pair, (left, right) in zip(pairs, grid, strict=True):
        rows = select(result["rows"], pair=pair, unlearn_steps=1)
        paper = select(rows, design="paper", variant="base")
        alone = select(rows, design="series", variant="base")
        volumes = [row["public"] / row["retained"] for row in alone]
        _curves(left, select(rows, design="paper"), list(range(len(paper))))
        _curves(right, select(rows, design="series"), volumes)
        ticks = [f"{row['public']:,} public\n{row['forget']:,} forgotten" for row in paper]
        left.set_xticks(range(len(paper)), ticks)
        left.set_xlim(-0.4, len(paper) - 0.6)
        set_volume_axis(right, volumes)
        left.set_ylabel("$D_2(\\pi_R^{T+1} \\,\\|\\, \\pi_U^1)$")
        left.set_title(f"{pair}, K = 1: the paper's points")
        right.set_title(f"{alone[0]['forget']:,} forgotten throughout")
        for axes in (left, right):
            at = (paper, range(len(paper))) if axes is left else (alone, volumes)
            _readings(axes, result, pair, *at)
    splits = result["settings"]["splits"]
    note = f"rows of norm 10; means of {splits} splits and 95 % intervals over them"
    legend_below(figure, 5, note)
    return figure


def _curves(axes: Axes, rows: list[Row], places: Sequence[float]) -> None:
    for name, (colour, marker) in MARKS.items():
        mine = select(rows, variant=name)
        found = [geometric(row["values"]) for row in mine]
        values = [one.value for one in found]
        reach = [
            [one.value - max(one.low, 0.02 * one.value) for one in found],
            [min(one.high, 50 * one.value) - one.value for one in found],
        ]
        axes.errorbar(
            places, values, reach, fmt=f"{marker}-", color=colour, ms=4, elinewidth=0.8,
            label=NAMES[name],
        )  # fmt: skip
    bounds = [row["certified"] for row in select(rows, variant="base")]
    axes.plot(places, bounds, "--", color=SOFT, lw=1.2, label="certified")
    axes.set_yscale("log")
    tidy(axes)


def _readings(axes: Axes, result: Row, pair: str, rows: list[Row], places: Sequence[float]) -> None:
    """The discriminator's, on the split that it read."""
    read = [
        (place, check["discriminator"]["held_out"])
        for place, row in zip(places, rows, strict=True)
        for check in select(result["checks"], pair=pair, public=row["public"], forget=row["forget"])
        if check["discriminator"]
    ]
    above = [(place, value) for place, value in read if value > 0]
    if above:
        told = "discriminator, held out, one split"
        axes.plot(*zip(*above, strict=True), "x", color=INK, ms=6, label=told)
    mark_below(axes, [place for place, _ in read], [value for _, value in read], INK)
