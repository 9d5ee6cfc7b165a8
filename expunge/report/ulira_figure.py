"""U-LiRA's confidence in the right law over unlearning steps: violins with quartiles.

Paper: [fig:mia_results]. One half is guessing; below it the attack is wrong more often than right.
"""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from expunge.report.picture import COLOURS, SOFT, encode, plain, styled, tidy

__all__ = ["draw"]

MARK = {  # of panels without and with public data
    False: (COLOURS["vermilion"], "o"),
    True: (COLOURS["blue"], "s"),
}


@styled
def draw(panels: list[list[dict[str, Any]]], kind: str = "svg", unit: str = "steps") -> bytes:
    """Draw the attack's confidences over unlearning steps, in rows of panels.

    Args:
        panels: Rows of panels, each {title, with_public, verdict, attacks}; an attack is
            {unlearn_steps, confidences}.
        unit: What K counts.
    """
    rows, columns = len(panels), max(len(row) for row in panels)
    size = 3.8 * columns, 2.7 * rows + 0.3
    figure = Figure(figsize=size, layout="constrained")
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    for axes_row, row in zip(grid, panels, strict=True):
        for axes, panel in zip(axes_row, row, strict=True):
            _panel(axes, panel)
        axes_row[0].set_ylabel("confidence in the right law")
    for axes in grid[-1]:
        axes.set_xlabel(f"unlearning {plain(unit)} K")
    counts = sorted({len(a["confidences"]) for row in panels for p in row for a in p["attacks"]})
    told = " to ".join(f"{count:,}" for count in dict.fromkeys((counts[0], counts[-1])))
    figure.suptitle(
        f"violins of {told} test models, median and quartiles; dotted: guessing", fontsize=10
    )
    return encode(figure, kind)


def _panel(axes: Axes, panel: dict[str, Any]) -> None:
    steps = [attack["unlearn_steps"] for attack in panel["attacks"]]
    values = [np.asarray(attack["confidences"]) for attack in panel["attacks"]]
    colour, marker = MARK[panel["with_public"]]
    # A violin needs some spread to have a shape.
    spread = [part + 1e-6 * np.linspace(-1, 1, len(part)) for part in values]
    bodies = axes.violinplot(spread, steps, widths=0.85, showextrema=False)["bodies"]
    for body in bodies:  # pyright: ignore[reportGeneralTypeIssues]
        body.set(facecolor=colour, alpha=0.3)
    low, middle, high = np.quantile(np.stack(values), (0.25, 0.5, 0.75), axis=1)
    axes.vlines(steps, low, high, color=colour, lw=2.5)
    axes.plot(steps, middle, marker, color="white", mec=colour, ms=4)
    axes.axhline(0.5, color=SOFT, ls=":", lw=1)
    axes.set_title("\n".join(plain(panel[name], longest=48) for name in ("title", "verdict")))
    axes.set_ylim(0, 1)
    tidy(axes, None)
