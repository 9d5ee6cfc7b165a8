"""Draws docs/_static/pipeline.png: learning, unlearning and retraining beside each other.

    python docs/pipeline.py

Paper: [fig:unlearning-pipeline], whose picture this is in our words.
"""

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

__all__ = ["draw"]

PUBLIC, PRIVATE, FORGET, INK = "#92c5de", "#fddbc7", "#d6604d", "#222222"
TOP, BOTTOM = 3.1, 0.55  # heights of the two rows


def draw() -> Figure:
    figure = Figure(figsize=(10.4, 4.1), layout="constrained")
    axes = figure.subplots()
    axes.set_xlim(0, 13.2)
    axes.set_ylim(-0.6, 4.5)
    axes.axis("off")
    _box(axes, 0.1, 1.75, 1.9, "initial law\n$\\pi_0$", "white")
    _data(axes, 2.75, TOP + 0.1, forgotten=True)
    _data(axes, 2.75, BOTTOM + 0.1, forgotten=False)
    _box(axes, 6.1, TOP, 2.0, "learned\n$\\pi_L^T$", "#f7f7f7")
    _box(axes, 10.9, TOP, 2.1, "unlearned\n$\\pi_U^K$", "#f7f7f7")
    _box(axes, 6.1, BOTTOM, 2.0, "retrained\n$\\pi_R^T$", "#f7f7f7")
    _box(axes, 10.9, BOTTOM, 2.1, "retrained\n$\\pi_R^{T+K}$", "#f7f7f7")
    _arrow(axes, (2.0, 2.5), (2.7, TOP + 0.5))
    _arrow(axes, (2.0, 2.1), (2.7, BOTTOM + 0.5))
    _arrow(axes, (5.05, TOP + 0.5), (6.05, TOP + 0.5), "T steps")
    _arrow(axes, (4.55, BOTTOM + 0.5), (6.05, BOTTOM + 0.5), "T steps")
    _arrow(axes, (8.15, TOP + 0.5), (10.85, TOP + 0.5), "K steps on\npublic + retained")
    _arrow(axes, (8.15, BOTTOM + 0.5), (10.85, BOTTOM + 0.5), "K steps on\npublic + retained")
    _gap(axes, 7.1, "$D_\\alpha(\\pi_R^T\\,\\|\\,\\pi_L^T)$\nshrinks with public data")
    _gap(axes, 11.95, "$D_\\alpha(\\pi_R^{T+K}\\,\\|\\,\\pi_U^K)$\nis certified", left=True)
    axes.text(
        6.6, -0.42,
        "A step: $\\theta \\leftarrow \\Pi_\\Theta[\\,\\theta - \\eta\\,\\nabla L(\\theta)"
        " + \\sqrt{2\\eta}\\,\\sigma\\,\\xi\\,]$, the same everywhere; only the records differ.",
        ha="center", fontsize=10, color=INK,
    )  # fmt: skip
    return figure


def _data(axes: Axes, x: float, y: float, *, forgotten: bool) -> None:
    """The records behind a row, as one bar: public, retained, forgotten."""
    parts = [(0.95, PUBLIC, "public"), (0.8, PRIVATE, "retained")]
    parts += [(0.5, FORGET, "forget")] if forgotten else []
    left = x
    for width, colour, name in parts:
        axes.add_patch(
            FancyBboxPatch(
                (left, y), width, 0.8, boxstyle="square,pad=0", facecolor=colour, edgecolor=INK
            )
        )
        ink = "white" if name == "forget" else INK
        size = 7 if name == "forget" else 8.5
        axes.text(
            left + width / 2, y + 0.4, name, ha="center", va="center", fontsize=size, color=ink
        )
        left += width
    title = "all records $D$" if forgotten else "$D \\setminus D_{\\mathrm{forget}}$"
    axes.text(x, y + 0.92, title, fontsize=9, color=INK)


def _box(axes: Axes, x: float, y: float, width: float, text: str, colour: str) -> None:
    axes.add_patch(
        FancyBboxPatch(
            (x, y), width, 1.0, boxstyle="round,pad=0,rounding_size=0.15",
            facecolor=colour, edgecolor=INK, linewidth=1.2,
        )
    )  # fmt: skip
    axes.text(x + width / 2, y + 0.5, text, ha="center", va="center", fontsize=11, color=INK)


def _arrow(
    axes: Axes, start: tuple[float, float], end: tuple[float, float], text: str = ""
) -> None:
    axes.add_patch(
        FancyArrowPatch(start, end, arrowstyle="-|>", mutation_scale=13, color=INK, lw=1.2,
                        shrinkA=0, shrinkB=0)
    )  # fmt: skip
    middle = (start[0] + end[0]) / 2
    axes.text(middle, max(start[1], end[1]) + 0.1, text, ha="center", fontsize=9, color=INK)


def _gap(axes: Axes, x: float, text: str, *, left: bool = False) -> None:
    axes.add_patch(
        FancyArrowPatch(
            (x, BOTTOM + 1.02), (x, TOP - 0.02), arrowstyle="<|-|>", mutation_scale=12,
            color="#2166ac", lw=1.4, shrinkA=0, shrinkB=0,
        )
    )  # fmt: skip
    middle, side = (BOTTOM + 1 + TOP) / 2, -0.15 if left else 0.15
    axes.text(
        x + side, middle, text, ha="right" if left else "left", va="center", fontsize=9.5,
        color="#2166ac",
    )  # fmt: skip


if __name__ == "__main__":
    target = Path(__file__).parent / "_static" / "pipeline.png"
    target.parent.mkdir(exist_ok=True)
    draw().savefig(target, dpi=150, metadata={"Software": None})
