"""Confusion matrices side by side: what each model takes for what."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from expunge.report.picture import encode, plain

__all__ = ["draw"]

MOST_NUMBERS = 12  # classes up to which cells carry their count


def draw(evaluations: list[dict[str, Any]], kind: str = "svg") -> bytes:
    """Draw the confusion matrix of each evaluation, side by side.

    Args:
        evaluations: Each with `name`, `labels`, `confusion` and `accuracy`.
    """
    count = len(evaluations)
    figure = Figure(figsize=(3.9 * count, 3.9), layout="constrained")
    for axes, evaluation in zip(
        figure.subplots(1, count, squeeze=False)[0], evaluations, strict=True
    ):
        matrix = np.asarray(evaluation["confusion"], dtype=float)
        shares = matrix / np.maximum(matrix.sum(1, keepdims=True), 1)
        axes.imshow(shares, cmap="Blues", vmin=0, vmax=1)
        axes.set_title(f"{plain(evaluation['name'])}: {evaluation['accuracy']:.1%}", fontsize=11)
        axes.set_xlabel("predicted")
        places, few = np.arange(len(matrix)), len(matrix) <= MOST_NUMBERS
        labels = [plain(label) for label in evaluation["labels"]]
        axes.set_xticks(places if few else [], labels if few else [], fontsize=8)
        axes.set_yticks(places if few else [], labels if few else [], fontsize=8)
        if few:
            for (row, column), value in np.ndenumerate(matrix):
                if value:
                    colour = "white" if shares[row, column] > 0.5 else "0.25"
                    axes.text(
                        column, row, f"{value:.0f}", ha="center", va="center", color=colour,
                        fontsize=7,
                    )  # fmt: skip
        if axes.get_subplotspec().is_first_col():  # pyright: ignore[reportOptionalMemberAccess]
            axes.set_ylabel("actual")
    return encode(figure, kind)
