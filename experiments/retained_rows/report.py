"""The series over retained rows as a figure and a table, from the JSON alone."""

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from experiments.retained_rows.run import measured, told_ratio
from experiments.tables import verdict_table
from expunge.report.picture import SOFT, legend_below, save, series, styled, tidy

__all__ = ["report"]

Row = dict[str, Any]


def report(result: Row, folder: Path) -> str:
    """Draw SCALE.png, write SCALE.md, and return it."""
    scale = result.get("scale", "run")
    save(draw(result), folder / f"{scale}.png")
    head = (
        f"Scale `{scale}` on {result['device']}, {sum(result['seconds'].values()):.0f} s. Random "
        f"forget sets of 0.35 times the retained rows, rows of norm {result['norm']:g}, zero init, "
        f"full batch, K = 1; {result['settings']['splits']} splits, intervals at 95 % over splits."
    )
    text = "\n\n".join([head, verdict_table(result), table(result)])
    (folder / f"{scale}.md").write_text(text + "\n")
    return text


def table(result: Row) -> str:
    """Measured and formula's ratios, and the extrapolation in italics."""
    lines = [
        "| pair | private rows retained | D_2: as many public rows over none | two moments |",
        "|---|---:|---:|---:|",
    ]
    for pair, _ in result["settings"]["pairs"]:
        lines += [
            f"| {pair} | {retained:,} | {seen} | {told:.3g} |"
            for retained, seen, told in measured(result, pair)
        ]
        retained = result["settings"]["paper_retained"]
        value = told_ratio(result, pair, retained)
        lines.append(f"| {pair} | *{retained:,}, the paper's* | *extrapolated* | *{value:.3g}* |")
    return "\n".join(lines)


@styled
def draw(result: Row) -> Figure:
    """Measured ratios with intervals on the formula's curve, dotted where rows end."""
    figure = Figure(figsize=(6.4, 4), layout="constrained")
    axes = figure.subplots()
    most = result["settings"]["paper_retained"]
    for place, (pair, _) in enumerate(result["settings"]["pairs"]):
        style = series(place)
        lines = measured(result, pair)
        sizes = [retained for retained, _, _ in lines]
        values = [seen.value for _, seen, _ in lines]
        below = [seen.value - max(seen.low, 0) for _, seen, _ in lines]
        above = [min(seen.high, 1e3) - seen.value for _, seen, _ in lines]
        axes.errorbar(
            sizes,
            values,
            [below, above],
            ls="none",
            color=style["color"],
            marker=style["marker"],
            label=pair,
        )
        for start, end, line in ((sizes[0], sizes[-1], "-"), (sizes[-1], most, ":")):
            grid = np.unique(np.geomspace(start, end, 60).astype(int))
            told = [told_ratio(result, pair, int(size)) for size in grid]
            axes.plot(grid, told, line, color=style["color"], lw=1.4)
    axes.axhline(1, color=SOFT, lw=0.8)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("private rows retained (dotted: extrapolated)")
    axes.set_ylabel("$D_2$ with as many public rows / with none")
    tidy(axes)
    splits = result["settings"]["splits"]
    note = f"rows of norm {result['norm']:g}; lines: the formula; points: {splits} splits, 95 %"
    legend_below(figure, 3, note)
    return figure
