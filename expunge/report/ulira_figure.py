"""U-LiRA's confidence in the right law over unlearning steps: violins with quartiles.

Paper: [fig:mia_results]. One half is guessing; below it the attack is wrong more often than right.
"""

from textwrap import fill
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from expunge.report.picture import encode, plain

__all__ = ["draw"]

WIDE = 50  # characters of a line above a panel
COLOUR = {False: "#b2182b", True: "#2166ac"}


def draw(panels: list[list[dict[str, Any]]], kind: str = "svg", unit: str = "steps") -> bytes:
    """Draw the attack's confidences over unlearning steps, in rows of panels.

    Args:
        panels: Rows of panels, each {title, with_public, verdict, attacks}; an attack is
            {unlearn_steps, confidences}.
        unit: What K counts.
    """
    rows, columns = len(panels), max(len(row) for row in panels)
    size = 4.2 * columns, 2.6 * rows
    figure = Figure(figsize=size, layout="constrained")
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    for axes_row, row in zip(grid, panels, strict=True):
        for axes, panel in zip(axes_row, row, strict=True):
            _panel(axes, panel)
        axes_row[0].set_ylabel("confidence in the right law")
    for axes in grid[-1]:
        axes.set_xlabel(f"unlearning {plain(unit)} K")
    return encode(figure, kind)


def _panel(axes: Axes, panel: dict[str, Any]) -> None:
    steps = [attack["unlearn_steps"] for attack in panel["attacks"]]
    values = [np.asarray(attack["confidences"]) for attack in panel["attacks"]]
    colour = COLOUR[panel["with_public"]]
    # A violin needs some spread to have a shape.
    spread = [part + 1e-6 * np.linspace(-1, 1, len(part)) for part in values]
    bodies = axes.violinplot(spread, steps, widths=0.85, showextrema=False)["bodies"]
    for body in bodies:  # pyright: ignore[reportGeneralTypeIssues]
        body.set(facecolor=colour, alpha=0.3)
    low, middle, high = np.quantile(np.stack(values), (0.25, 0.5, 0.75), axis=1)
    axes.vlines(steps, low, high, color=colour, lw=2.5)
    axes.plot(steps, middle, "o", color="white", mec=colour, ms=4)
    axes.axhline(0.5, color="0.5", ls=":", lw=1)
    title = plain(f"{panel['title']}: {panel['verdict']}", longest=120)
    axes.set_title(fill(title, WIDE), fontsize=9)
    axes.set_ylim(0, 1)
    axes.spines[["top", "right"]].set_visible(False)
