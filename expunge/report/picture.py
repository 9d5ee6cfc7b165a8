"""The style of every figure, and a figure as the bytes of a file or as part of a page.

Colours are Okabe and Ito's (2008), which colour-blind readers tell apart, but for a darker purple.
Each series has a marker of its own as well, so that figures can be read in grey.
"""

import html
import io
import re
import warnings
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

__all__ = [
    "COLOURS",
    "GRID",
    "INK",
    "SOFT",
    "encode",
    "inline",
    "legend_below",
    "percent_of",
    "plain",
    "save",
    "series",
    "styled",
    "tidy",
]

LONGEST = 24  # characters of a label
LARGEST = 1.25  # pixels of a page for each unit of a figure, whose text is 9 or 10 units high
INK, SOFT, GRID = "#1d2733", "#566270", "#d3dae1"
COLOURS: Mapping[str, str] = MappingProxyType(
    {
        "blue": "#0072b2",
        "vermilion": "#d55e00",
        "green": "#009e73",
        "purple": "#aa4499",
        "sky": "#56b4e9",
        "orange": "#e69f00",
        "brown": "#7a4a1e",
        "grey": "#7d8894",
    }
)
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
LINES = ("-", (0, (5, 1.5)), (0, (1, 1)), "-.", (0, (3, 1, 1, 1, 1, 1)), (0, (7, 2)), "-", "--")
THEMED = {INK: "ink", SOFT: "soft", GRID: "grid"} | {
    colour: name for name, colour in COLOURS.items()
}
STYLE: Mapping[str, Any] = MappingProxyType(
    {
        "font.size": 10,
        "axes.titlesize": 10,
        "axes.labelsize": 10,
        "xtick.labelsize": 9,
        "ytick.labelsize": 9,
        "legend.fontsize": 9,
        "legend.frameon": False,
        "figure.titlesize": 12,
        "text.color": INK,
        "axes.edgecolor": SOFT,
        "axes.labelcolor": INK,
        "axes.titlecolor": INK,
        "xtick.color": INK,
        "ytick.color": INK,
        "grid.color": GRID,
        "grid.linewidth": 0.6,
        "lines.linewidth": 1.8,
        "lines.markersize": 5,
        "errorbar.capsize": 2.5,
        "svg.fonttype": "none",  # text stays text: pages set its font, and readers can find it
        "svg.hashsalt": "expunge",
    }
)

_RC: Any = dict(STYLE)
styled = matplotlib.rc_context(_RC)  # a decorator of functions that draw


def series(place: int) -> dict[str, Any]:
    """Colour, marker and line of the series at this place; eight are distinct."""
    place %= len(COLOURS)
    return {"color": list(COLOURS.values())[place], "marker": MARKERS[place], "ls": LINES[place]}


def tidy(axes: Axes, grid: str | None = "both") -> None:
    """Leave of an axes what is read: two spines, and a faint grid behind the data."""
    if grid is not None:
        axes.grid(axis=grid)  # pyright: ignore[reportArgumentType]
        axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def legend_below(figure: Figure, columns: int, note: str | None = None) -> None:
    """One legend for all panels, below them, where it covers nothing; a note goes above it."""
    labels: dict[str, Any] = {}
    for axes in figure.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            labels.setdefault(label, handle)
    legend = figure.legend(
        labels.values(),
        labels.keys(),
        loc="outside lower center",
        ncols=min(columns, max(1, len(labels))),
        title=note,
        title_fontsize=9,
    )
    legend.get_title().set_color(SOFT)


def percent_of(share: float) -> str:
    """A share as a percentage for people.

    >>> percent_of(0.1), percent_of(0.005)
    ('10 %', '0.5 %')
    """
    return f"{100 * share:.3g} %"


def plain(text: str, longest: int = LONGEST) -> str:
    """A label that is drawn as it is: no formula, nothing that cannot be printed, not too long.

    >>> plain("a" * 50) == "a" * 23 + "…", plain("tab\\there"), plain("$5")
    (True, 'tab here', '\\\\$5')
    """
    shown = "".join(letter if letter.isprintable() else " " for letter in text)
    shown = shown if len(shown) <= longest else f"{shown[: longest - 1]}…"
    return shown.replace("$", "\\$")


def encode(figure: Figure, kind: str) -> bytes:
    """Return a figure as the bytes of a file.

    Equal figures make equal files: no version and no date is written. A character that the font
    lacks is drawn as a box.

    Args:
        kind: png, svg or pdf.
    """
    buffer = io.BytesIO()
    metadata = {
        "png": {"Software": None},
        "svg": {"Date": None, "Creator": None},
        "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    }
    with warnings.catch_warnings(), matplotlib.rc_context(_RC):
        warnings.filterwarnings("ignore", message=r"Glyph|Matplotlib|constrained_layout")
        figure.savefig(
            buffer, format=kind, dpi=150, metadata=metadata[kind], transparent=kind == "svg"
        )
    return buffer.getvalue()


def save(figure: Figure, path: Path) -> None:
    """Write a figure in the format that the file's name ends with."""
    path.write_bytes(encode(figure, path.suffix[1:]))


def inline(content: bytes, name: str, label: str) -> str:
    """An SVG as an element of a page: its colours follow the page's, and it has a label.

    Args:
        content: From `encode`.
        name: Of this element alone: the page's names may not collide.
        label: What it shows, for whoever cannot see it.
    """
    text = content.decode()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", text, flags=re.DOTALL)
    head, body = text.split(">", 1)
    box = re.search(r'viewBox="([^"]*)"', head)
    assert box is not None
    body = re.sub(r'\bid="([^"]*)"', rf'id="{name}-\1"', body)
    body = re.sub(r'href="#([^"]*)"', rf'href="#{name}-\1"', body)
    body = re.sub(r"url\(#([^)]*)\)", rf"url(#{name}-\1)", body)
    for colour, variable in THEMED.items():
        body = body.replace(colour, f"var(--{variable}, {colour})")
    widest = f"{LARGEST * float(box[1].split()[2]):.0f}px"
    described = html.escape(label, quote=True)
    return (
        f'<svg viewBox="{box[1]}" style="max-width: {widest}" role="img" '
        f'aria-label="{described}">{body}'
    )
