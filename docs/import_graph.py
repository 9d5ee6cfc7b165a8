"""Draws which layer and which module of the package imports which, and refuses cycles.

    python docs/import_graph.py

It writes three files to docs/_static: import_graph.json (modules and imports, as `imports.py`
reads them), import_layers.svg (the layers, imports pointing down) and import_modules.svg (a row
and a column for each module, a mark where the row imports the column). Modules stand in an order
in which imports point back, so every mark lies below the diagonal; one above it is a cycle. With
a cycle the pictures are still drawn, the cycles are named, and the exit status is 1.

The pictures are functions of the JSON alone: no dates, no random ids.
"""

import itertools
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))
from docs.imports import Import, cycles, layer_of, layers, module_imports, modules

__all__ = ["draw_layers", "draw_modules", "graph_of", "main", "order_modules", "write"]

FOLDER = Path(__file__).parent / "_static"
INK, PALE, BOX, CYCLE = "#222222", "#b8b8b8", "#d1e5f0", "#d6604d"
MARKS = {"top": ("s", "#2166ac"), "lazy": ("D", "#f4a582"), "types": ("x", "#888888")}
MEANINGS = {
    "top": "imported with the module",
    "lazy": "imported inside a function",
    "types": "imported for type checkers",
}
COLUMNS, COLUMN, STOREY = 6, 1.6, 1.15  # of the picture of the layers
STEP = 0.115  # inches for a row of the matrix
SVG: dict[Any, str] = {
    "svg.hashsalt": "expunge",
    "svg.fonttype": "none",
    "font.family": "sans-serif",
}


def graph_of(names: Iterable[str], edges: Iterable[Import]) -> dict[str, list]:
    """The graph as it lies in the JSON: module names, and triples importer, imported, kind."""
    return {"modules": sorted(names), "imports": [list(edge) for edge in sorted(edges)]}


def heights(names: Iterable[str], edges: Sequence[Import]) -> dict[str, int]:
    """How many imports lie below a module on the longest way down; a cycle has one height."""
    below: dict[str, set[str]] = {name: set() for name in names}
    for edge in edges:
        below[edge.importer].add(edge.imported)
    group = {name: frozenset(cycle) for cycle in cycles(edges) for name in cycle}
    known: dict[str, int] = {}

    def height(name: str) -> int:
        if name not in known:
            together = group.get(name, frozenset((name,)))
            outside = {other for member in together for other in below[member]} - together
            value = 1 + max((height(other) for other in outside), default=-1)
            known.update(dict.fromkeys(together, value))
        return known[name]

    return {name: height(name) for name in below}


def order_modules(names: Iterable[str], edges: Sequence[Import]) -> list[str]:
    """Modules in an order in which imports point back: by layer, by height, by name."""
    names = list(names)
    between = layers(edges)
    storeys = heights({layer_of(name) for name in names}, between)
    inside = [edge for edge in edges if layer_of(edge.importer) == layer_of(edge.imported)]
    floors = heights(names, inside)
    return sorted(
        names, key=lambda name: (storeys[layer_of(name)], layer_of(name), floors[name], name)
    )


def draw_layers(edges: Sequence[Import]) -> Figure:
    """The layers, each above all that it imports; `errors` serves all and is left out.

    An arrow is dark where no longer way down leads to the same layer, pale where one does.
    """
    between = [edge for edge in layers(edges) if not {"errors", "expunge"} & set(edge[:2])]
    names = {edge.importer for edge in between} | {edge.imported for edge in between}
    names |= {layer_of(name) for edge in edges for name in edge[:2]} - {"errors", "expunge"}
    storeys = heights(names, between)
    rows = [
        sorted(n for n in names if storeys[n] == level) for level in sorted({*storeys.values()})
    ]
    below: dict[str, set[str]] = {name: set() for name in names}
    for edge in between:
        below[edge.importer].add(edge.imported)
    arrows = {
        pair: not any(_leads(other, pair[1], below) for other in below[pair[0]] - {pair[1]})
        for pair in sorted({edge[:2] for edge in between})
    }
    places = place_layers(rows, [pair for pair, dark in arrows.items() if dark])
    figure = Figure(figsize=(COLUMN * COLUMNS, 1.0 + 0.95 * len(rows)))
    axes = _empty_axes(figure, (0, COLUMN * COLUMNS), (-0.6, STOREY * len(rows) - 0.4))
    for (importer, imported), dark in arrows.items():
        _arrow(axes, places[importer], places[imported], dark=dark)
    for name in sorted(names):
        _box(axes, *places[name], name)
    return figure


def place_layers(
    rows: Sequence[Sequence[str]], arrows: Sequence[tuple[str, str]]
) -> dict[str, tuple[float, float]]:
    """Where the layers stand, a row above the other, so that few arrows pass behind a box.

    An arrow that passes behind one seems to begin there. Row by row the best columns are taken,
    until no row can do better; ties go to short arrows, then to the left.
    """
    places = {
        name: (COLUMN * (column + 0.5), STOREY * level)
        for level, row in enumerate(rows)
        for column, name in enumerate(row)
    }

    def cost(tried: dict[str, tuple[float, float]]) -> tuple[int, float]:
        hidden = sum(
            _passes(tried[start], tried[end], box)
            for start, end in arrows
            for name, box in tried.items()
            if name not in (start, end)
        )
        return hidden, round(sum(abs(tried[a][0] - tried[b][0]) for a, b in arrows), 6)

    least = cost(places)
    better = True
    while better:
        better = False
        for level, row in enumerate(rows):
            for columns in itertools.permutations(range(COLUMNS), len(row)):
                spots = [(COLUMN * (column + 0.5), STOREY * level) for column in columns]
                tried = places | dict(zip(row, spots, strict=True))
                if (now := cost(tried)) < least:
                    places, least, better = tried, now, True
    return places


def _passes(start: tuple[float, float], end: tuple[float, float], box: tuple[float, float]) -> bool:
    """Whether a straight arrow between two boxes comes close to a third."""
    if not end[1] < box[1] < start[1]:
        return False
    share = (start[1] - box[1]) / (start[1] - end[1])
    return abs(start[0] + share * (end[0] - start[0]) - box[0]) < 0.95


def _leads(start: str, end: str, below: dict[str, set[str]]) -> bool:
    return start == end or any(_leads(other, end, below) for other in below[start])


def _arrow(axes: Axes, start: tuple[float, float], end: tuple[float, float], *, dark: bool) -> None:
    bend = 0.0 if dark else 0.12 if end[0] <= start[0] else -0.12
    axes.add_patch(
        FancyArrowPatch(
            (start[0], start[1] - 0.24), (end[0], end[1] + 0.24), arrowstyle="-|>",
            mutation_scale=11, color=INK if dark else PALE, lw=1.2 if dark else 0.7,
            connectionstyle=f"arc3,rad={bend}", shrinkA=0, shrinkB=0, zorder=2 if dark else 1,
        )
    )  # fmt: skip


def _box(axes: Axes, x: float, y: float, text: str) -> None:
    axes.add_patch(
        FancyBboxPatch(
            (x - 0.65, y - 0.24), 1.3, 0.48, boxstyle="round,pad=0,rounding_size=0.08",
            facecolor=BOX, edgecolor=INK, linewidth=1.0, zorder=3,
        )
    )  # fmt: skip
    axes.text(x, y, text, ha="center", va="center", fontsize=11, color=INK, zorder=4)


def draw_modules(names: Iterable[str], edges: Sequence[Import]) -> Figure:
    """The matrix of imports: a row imports the columns that it has marks in."""
    order = order_modules(names, edges)
    count, places = len(order), {name: i for i, name in enumerate(order)}
    side = STEP * count
    left, bottom, width, height = 2.6, 0.3, side + 3.0, side + 1.2
    figure = Figure(figsize=(width, height))
    box = (left / width, bottom / height, side / width, side / height)
    axes = _empty_axes(figure, (-0.5, count - 0.5), (count - 0.5, -0.5), box)
    axes.plot([-0.5, count - 0.5], [-0.5, count - 0.5], color=PALE, lw=0.6)
    for row, name in enumerate(order):
        axes.plot([-0.5, row], [row, row], color="#eeeeee", lw=0.5, zorder=0)
        label = name.removeprefix("expunge.")
        axes.text(-0.9, row, label, ha="right", va="center", fontsize=6, color=INK)
    _draw_frames(axes, order)
    for kind, (marker, colour) in MARKS.items():
        spots = [(places[e.imported], places[e.importer]) for e in edges if e.kind == kind]
        for back, shade in ((True, colour), (False, CYCLE)):
            chosen = [(x, y) for x, y in spots if (x < y) == back]
            label = MEANINGS[kind] if back else None
            _plot_marks(axes, chosen, marker, shade, label)
    axes.legend(loc="upper right", fontsize=9, frameon=False)
    return figure


def _plot_marks(
    axes: Axes, spots: list[tuple[int, int]], marker: str, colour: str, label: str | None
) -> None:
    xs, ys = [x for x, _ in spots], [y for _, y in spots]
    axes.plot(xs, ys, marker, color=colour, markersize=3.2, markeredgewidth=0.8, label=label)


def _draw_frames(axes: Axes, order: Sequence[str]) -> None:
    """A frame around the imports inside each layer, with the layer's name beside it."""
    folders = [layer_of(name) for name in order]
    for folder in dict.fromkeys(folders):
        first, size = folders.index(folder) - 0.5, folders.count(folder)
        corners = [first, first + size, first + size, first, first]
        edges = [first, first, first + size, first + size, first]
        axes.plot(corners, edges, color=INK, lw=0.7)
        if size > 1:
            middle = first + size / 2
            axes.text(first + size + 0.6, middle, folder, fontsize=9, va="center", color=INK)


def _empty_axes(
    figure: Figure,
    across: tuple[float, float],
    up: tuple[float, float],
    box: tuple[float, float, float, float] = (0, 0, 1, 1),
) -> Axes:
    axes = figure.add_axes(box)
    axes.set_xlim(*across)
    axes.set_ylim(*up)
    axes.axis("off")
    return axes


def write(names: Iterable[str], edges: Sequence[Import], folder: Path = FOLDER) -> None:
    """Write the JSON and both pictures; the same graph gives the same bytes."""
    folder.mkdir(exist_ok=True)
    graph = graph_of(names, edges)
    lines = ",\n".join(f"  {json.dumps(edge)}" for edge in graph["imports"])
    listed = ",\n".join(f"  {json.dumps(name)}" for name in graph["modules"])
    text = f'{{\n "modules": [\n{listed}\n ],\n "imports": [\n{lines}\n ]\n}}\n'
    (folder / "import_graph.json").write_text(text)
    pictures = {"import_layers": draw_layers(edges), "import_modules": draw_modules(names, edges)}
    blank = {"Date": None, "Creator": None}
    with mpl.rc_context(SVG):
        for name, figure in pictures.items():
            figure.savefig(folder / f"{name}.svg", metadata=blank)


def main() -> int:
    """Draw the package as it is; 1 with the cycles named where there are any."""
    names, edges = list(modules()), module_imports()
    write(names, edges)
    for cycle in cycles(edges):
        print(f"import cycle: {', '.join(cycle)}", file=sys.stderr)
        for edge in edges:
            if edge.importer in cycle and edge.imported in cycle:
                print(f"  {edge.importer} imports {edge.imported} ({edge.kind})", file=sys.stderr)
    return 1 if cycles(edges) else 0


if __name__ == "__main__":
    sys.exit(main())
