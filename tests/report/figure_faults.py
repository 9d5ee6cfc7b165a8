"""What is wrong with a figure: text on text, data outside of its panel, series that look alike."""

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text

SLACK = 2.0  # pixels


def faults(figure: Figure) -> list[str]:
    """Everything that is wrong with a figure, in words."""
    drawn, plain = [], Text.draw

    def draw(text, renderer):
        drawn.append(text)
        plain(text, renderer)

    canvas = FigureCanvasAgg(figure)
    canvas.draw()  # the layout settles
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Text, "draw", draw)  # labels of ticks out of sight are there, but not drawn
        canvas.draw()
    renderer = canvas.get_renderer()
    return [
        *_faults_of_text(figure, list(dict.fromkeys(drawn)), renderer),
        *(fault for axes in figure.axes for fault in _faults_of_data(axes, renderer)),
        *(fault for axes in figure.axes for fault in _faults_of_series(axes)),
    ]


def _faults_of_text(figure, drawn, renderer):
    texts = [
        (text, text.get_window_extent(renderer))
        for text in drawn
        if text.get_visible() and text.get_text().strip()
    ]
    whole = figure.bbox
    for place, (text, box) in enumerate(texts):
        if (
            box.x0 < whole.x0 - SLACK or box.x1 > whole.x1 + SLACK
            or box.y0 < whole.y0 - SLACK or box.y1 > whole.y1 + SLACK
        ):  # fmt: skip
            yield f"{text.get_text()!r} leaves the figure"
        for other, their in texts[place + 1 :]:
            if _overlap(box, their):
                yield f"{text.get_text()!r} lies on {other.get_text()!r}"


def _overlap(box, other) -> bool:
    wide = min(box.x1, other.x1) - max(box.x0, other.x0)
    high = min(box.y1, other.y1) - max(box.y0, other.y0)
    return wide > SLACK and high > SLACK


def _faults_of_data(axes: Axes, renderer):
    (left, right), (low, high) = sorted(axes.get_xlim()), sorted(axes.get_ylim())
    legend = axes.get_legend()
    frame = None if legend is None else legend.get_window_extent(renderer)
    for line in axes.lines:
        if line.get_transform() is not axes.transData or not len(line.get_xdata()):
            continue
        points = np.column_stack([line.get_xdata(), line.get_ydata()]).astype(float)
        points = points[np.isfinite(points).all(1)]
        x, y = points.T
        wide, tall = 1e-9 * (1 + abs(right)), 1e-9 * (1 + abs(high))
        if (x < left - wide).any() or (x > right + wide).any():
            yield f"{axes.get_title()}: {line.get_label()} leaves its panel sideways"
        if (y < low - tall).any() or (y > high + tall).any():
            yield f"{axes.get_title()}: {line.get_label()} leaves its panel"
        if axes.get_yscale() == "log" and (y <= 0).any():
            yield f"{axes.get_title()}: {line.get_label()} is not above 0 on a logarithmic axis"
        if frame is not None and any(
            frame.contains(*at) for at in axes.transData.transform(points)
        ):
            yield f"{axes.get_title()}: {line.get_label()} lies under the legend"


def _faults_of_series(axes: Axes):
    """Two entries of a legend that cannot be told apart by line, marker and colour."""
    seen: dict[object, str] = {}
    for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
        line = handle if isinstance(handle, Line2D) else getattr(handle, "lines", (None,))[0]
        if not isinstance(line, Line2D):
            continue
        look = (
            to_rgba(line.get_color()), line.get_marker(), line.get_linestyle(),
            to_rgba(line.get_markerfacecolor()),
        )  # fmt: skip
        if seen.setdefault(look, label) != label:
            yield f"{axes.get_title()}: {label} looks like {seen[look]}"
