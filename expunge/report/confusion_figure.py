"""Confusion matrices side by side, or below each other: what each model takes for what."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from expunge.report.picture import encode, plain, styled

__all__ = ["draw"]

MOST_NUMBERS = 12  # classes up to which cells carry their count
MOST_COLUMNS = 3
ON_PALE, ON_DARK = "#222222", "white"  # of numbers in cells, whose colours no page changes


@styled
def draw(evaluations: list[dict[str, Any]], kind: str = "svg", *, narrow: bool = False) -> bytes:
    """Draw the confusion matrix of each evaluation.

    Args:
        evaluations: Each with `name`, `labels`, `confusion` and `accuracy`.
        narrow: For a telephone: below each other.
    """
    count = len(evaluations)
    columns = 1 if narrow else min(count, MOST_COLUMNS)
    rows = -(-count // columns)
    size = (4.2, 4.3 * rows) if narrow else (2.9 * max(columns, 1.6), 3.2 * rows)
    figure = Figure(figsize=size, layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False).flat
    for axes in grid[count:]:
        axes.remove()
    for axes, evaluation in zip(grid, evaluations, strict=False):
        matrix = np.asarray(evaluation["confusion"], dtype=float)
        shares = matrix / np.maximum(matrix.sum(1, keepdims=True), 1)
        few = len(matrix) <= MOST_NUMBERS
        if few:  # cells as shapes, which stay sharp; many of them are one picture
            axes.pcolormesh(shares, cmap="Blues", vmin=0, vmax=1)
            places = np.arange(len(matrix)) + 0.5
            axes.invert_yaxis()
        else:
            axes.imshow(shares, cmap="Blues", vmin=0, vmax=1, aspect="auto")
            places = []
        axes.set_box_aspect(1)
        axes.set_title(f"{plain(evaluation['name'])}: {100 * evaluation['accuracy']:.1f} % right")
        axes.set_xlabel("predicted")
        labels = [plain(label, 8) for label in evaluation["labels"]] if few else []
        crowded = sum(map(len, labels)) > 24
        axes.set_xticks(places, labels, rotation=90 if crowded else 0)
        axes.set_yticks(places, labels)
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        if few:
            for (row, column), value in np.ndenumerate(matrix):
                if value:
                    colour = ON_DARK if shares[row, column] > 0.5 else ON_PALE
                    axes.text(
                        column + 0.5, row + 0.5, f"{value:,.0f}", ha="center", va="center",
                        color=colour, fontsize=8,
                    )  # fmt: skip
        if axes.get_subplotspec().is_first_col():  # pyright: ignore[reportOptionalMemberAccess]
            axes.set_ylabel("actual")
    return encode(figure, kind)
