"""Tables and one figure on requests without a pass, from the JSON alone."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from statistics import fmean
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from experiments.tables import select
from expunge.report.picture import SOFT, save, series, styled, tidy

__all__ = [
    "choice_table",
    "draw",
    "guide_table",
    "in_a_row_lines",
    "passes_table",
    "report",
    "until_pass",
]

SHOWN = 1e-4  # the ridge of the figure's panels over data sets
Row = dict[str, Any]


def report(result: Row, folder: Path) -> str:
    """Write SCALE.png and SCALE.md, and return the tables."""
    scale = result.get("scale", "run")
    save(draw(result), folder / f"{scale}.png")
    tables = [passes_table(result), choice_table(result), in_a_row_lines(result)]
    text = "\n\n".join(table for table in tables if table)
    (folder / f"{scale}.md").write_text(text + "\n")
    return text


def until_pass(points: list[Row], limit: float) -> tuple[int, bool]:
    """Records that may leave before the bound passes the limit, and whether it ever did.

    Rounded down to a point of the curve.
    """
    last = 0
    for point in points:
        if point["bound"] is None or point["bound"] > limit:
            return last, True
        last = point["gone"]
    return last, False


def passes_table(result: Row) -> str:
    """Records and requests until the next pass at the default, and how close the bound is."""
    settings = result["settings"]
    limit, sizes = settings["default"], settings["requests"]
    lines = [
        "| data | records | weights | l2 | records until the next pass, random (least to most) "
        "| most influential first | "
        + " | ".join(f"requests of {k}" for k in sizes)
        + " | bound over truth | accuracy released - retrained, points |",
        "|---|---:|---:|---:|---:|---:|" + "---:|" * len(sizes) + "---:|---:|",
    ]
    for cell in _cells(result):
        found = [until_pass(row["points"], limit) for row in _random(cell)]
        (worst,) = (until_pass(row["points"], limit) for row in cell if row not in _random(cell))
        counts = [count for count, _ in found]
        ratios = [p["bound"] / p["truth"] for p in _compared(cell) if p["truth"] > 0]
        gaps = [100 * (p["released"] - p["retrained"]) for p in _compared(cell)]
        lines.append(
            f"| {cell[0]['data']} | {cell[0]['records']:,} | {cell[0]['weights']:,} "
            f"| {cell[0]['l2']:g} | {_told(fmean(counts), all(end for _, end in found))} "
            f"({min(counts):,} to {max(counts):,}) | {_told(*worst)} | "
            + " | ".join(f"{int(fmean(counts)) // size:,}" for size in sizes)
            + f" | {_range(ratios, '.3g')} | {_range(gaps, '+.2f')} |"
        )
    return "\n".join(lines)


def guide_table(result: Row) -> str:
    """Records of the made set of two classes until the next pass, by size and ridge."""
    settings = result["settings"]
    cells = {
        (cell[0]["records"], cell[0]["l2"]): cell
        for cell in _cells(result)
        if _is_binary_made(cell)
    }
    ridges = settings["ridges"]
    lines = [
        "| records | " + " | ".join(f"`l2 = {l2:g}`" for l2 in ridges) + " |",
        "|---:|" + "---:|" * len(ridges),
    ]
    for records in sorted({records for records, _ in cells}):
        told = []
        for l2 in ridges:
            cell = cells[records, l2]
            found = [until_pass(row["points"], settings["default"]) for row in cell]
            mean = fmean(count for count, _ in found[:-1])
            told.append(f"{_told(mean, all(end for _, end in found[:-1]))}; {_told(*found[-1])}")
        lines.append(f"| {records:,} | " + " | ".join(told) + " |")
    return "\n".join(lines)


def choice_table(result: Row) -> str:
    """What each `distance` costs in accuracy, and how many records may leave for it."""
    lines = [
        "| distance | accuracy lost to noise, points: median over data and ridges | largest, where "
        "| records until the next pass over those at the default, median | cells where not one "
        "may leave |",
        "|---:|---:|---:|---:|---:|",
    ]
    settings = result["settings"]
    curves = [row for row in result["curves"] if row["order"].startswith("random")]
    for distance in settings["distances"]:
        rows = select(result["accuracies"], distance=distance)
        lost = sorted((100 * (r["without_noise"] - r["accuracy"]), _where(r)) for r in rows)
        gains, none = [], 0
        for curve in curves:
            usual, _ = until_pass(curve["points"], settings["default"])
            count, _ = until_pass(curve["points"], distance)
            none += count == 0
            if usual:
                gains.append(count / usual)
        gain = f"{sorted(gains)[len(gains) // 2]:.2g}" if gains else "-"
        default = " (the default)" if distance == settings["default"] else ""
        lines.append(
            f"| {distance:g}{default} | {lost[len(lost) // 2][0]:.2f} | {lost[-1][0]:.2f}, "
            f"{lost[-1][1]} | {gain} | {none} of {len(curves)} |"
        )
    return "\n".join(lines)


def in_a_row_lines(result: Row) -> str:
    """What came of many requests in a row."""
    row = result["in_a_row"]
    if row is None:
        return ""
    return (
        f"{row['requests']:,} requests for one record each in a row, of {row['records']:,} x "
        f"{row['features']} records at l2 = {row['l2']:g}: {row['certificates_verified']:,} "
        f"certificates verified, {row['requests_with_passes']} requests with a pass, "
        f"{1000 * row['median_seconds']:.2g} ms of processor time each (median); at "
        f"{len(row['checkpoints'])} checkpoints the accuracy is within "
        f"{row['largest_gap_in_points']:.3f} points of retraining."
    )


@styled
def draw(result: Row) -> Figure:
    """Bound against truth, and what distance, ridge and size cost and buy."""
    figure = Figure(figsize=(9.6, 7.2), layout="constrained")
    grid = figure.subplots(2, 2)
    ridge = min(result["settings"]["ridges"], key=lambda l2: abs(l2 - SHOWN))
    largest = [cell for cell in _largest(result) if cell[0]["l2"] == ridge]
    _draw_bounds(grid[0, 0], largest, result["settings"])
    _draw_passes(grid[0, 1], result)
    _draw_costs(grid[1, 0], result, largest)
    _draw_choice(grid[1, 1], result, largest)
    for axes in grid.flat:
        tidy(axes)
    handles = [
        Line2D([], [], label=_name(cell), **series(place)) for place, cell in enumerate(largest)
    ]
    told = f"first panel and lower row: l2 = {ridge:g}, the largest size of each set"
    legend = figure.legend(
        handles=handles, ncols=3, loc="outside lower center", title=told, title_fontsize=9
    )
    legend.get_title().set_color(SOFT)
    return figure


def _part(place: int, name: str) -> Row:
    """Of how the data set or ridge at this place looks: its colour, and its line or marker."""
    look = series(place)
    return {"color": look["color"], name: look[name]}


def _draw_bounds(axes: Axes, cells: list[list[Row]], settings: Row) -> None:
    """Proven distances as lines, true ones as markers, of the first random order."""
    for place, cell in enumerate(cells):
        points = _random(cell)[0]["points"]
        known = [p for p in points if p["bound"] is not None]
        axes.plot([p["gone"] for p in known], [p["bound"] for p in known], **_part(place, "ls"))
        true = [p for p in points if p.get("truth")]
        axes.plot([p["gone"] for p in true], [p["truth"] for p in true], lw=0,
                  **_part(place, "marker"))  # fmt: skip
    axes.axhline(settings["default"], color=SOFT, ls=":", lw=1)
    axes.set(xscale="log", yscale="log", xlabel="records gone",
             ylabel="distance from the retrained minimiser")  # fmt: skip
    axes.set_title("proven (lines) and true (markers); level line: default")


def _draw_passes(axes: Axes, result: Row) -> None:
    """Records until the next pass against the number of records, by ridge."""
    settings = result["settings"]
    for place, l2 in enumerate(settings["ridges"]):
        cells = [c for c in _cells(result) if c[0]["l2"] == l2 and _is_binary_made(c)]
        found = [
            [max(0.7, until_pass(row["points"], settings["default"])[0]) for row in _random(cell)]
            for cell in cells
        ]
        sizes = [cell[0]["records"] for cell in cells]
        means = [fmean(counts) for counts in found]
        spread = [
            [max(0.0, mean - min(counts)) for mean, counts in zip(means, found, strict=True)],
            [max(0.0, max(counts) - mean) for mean, counts in zip(means, found, strict=True)],
        ]
        axes.errorbar(sizes, means, spread, label=f"l2 = {l2:g}, random", **_part(place, "marker"))
        worst = [
            max(0.7, until_pass(row["points"], settings["default"])[0])
            for cell in cells
            for row in cell
            if row not in _random(cell)
        ]
        axes.plot(sizes, worst, mfc="white", ls="--", label=f"l2 = {l2:g}, influential first",
                  **_part(place, "marker"))  # fmt: skip
    axes.set(xscale="log", yscale="log", xlabel="records",
             ylabel="records until the next pass")  # fmt: skip
    orders = max(len(_random(cell)) for cell in _cells(result))
    axes.set_title(f"made, 2 classes; bars: range of up to {orders} orders")
    axes.axhline(settings["most"], color=SOFT, ls=":", lw=1)  # no curve goes further
    axes.set_ylim(0.5, axes.get_ylim()[1] * 100)  # room for the legend
    axes.legend(fontsize=8, loc="upper left", ncols=2, columnspacing=1.0)


def _draw_costs(axes: Axes, result: Row, cells: list[list[Row]]) -> None:
    """Accuracy that noise costs, by distance."""
    for place, cell in enumerate(cells):
        rows = _same(result["accuracies"], cell[0])
        lost = [100 * (row["without_noise"] - row["accuracy"]) for row in rows]
        axes.errorbar([row["distance"] for row in rows], lost,
                      [196 * row["error"] for row in rows], **series(place))  # fmt: skip
    axes.axvline(result["settings"]["default"], color=SOFT, ls=":", lw=1)
    axes.axhline(0, color=SOFT, lw=0.6)
    axes.set(xscale="log", xlabel="distance",
             ylabel="accuracy lost to noise, points\n(below 0: gained; linear to 0.1)")  # fmt: skip
    axes.set_yscale("symlog", linthresh=0.1)
    axes.set_title(f"95 % intervals over {result['settings']['draws']} draws; upright: default")


def _draw_choice(axes: Axes, result: Row, cells: list[list[Row]]) -> None:
    """Records until the next pass, by distance."""
    settings = result["settings"]
    for place, cell in enumerate(cells):
        counts = [
            [max(0.7, until_pass(row["points"], limit)[0]) for row in _random(cell)]
            for limit in settings["distances"]
        ]
        means = [fmean(each) for each in counts]
        spread = [
            [max(0.0, mean - min(each)) for mean, each in zip(means, counts, strict=True)],
            [max(0.0, max(each) - mean) for mean, each in zip(means, counts, strict=True)],
        ]
        axes.errorbar(settings["distances"], means, spread, **series(place))
    axes.axvline(settings["default"], color=SOFT, ls=":", lw=1)
    axes.set(xscale="log", yscale="log", xlabel="distance",
             ylabel="records until the next pass")  # fmt: skip
    axes.set_title("random orders, bars: their range; at the bottom: none")


def _cells(result: Row) -> Iterator[list[Row]]:
    """The curves of each data set, size and ridge."""
    cells: dict[tuple[Any, ...], list[Row]] = {}
    for row in result["curves"]:
        cells.setdefault((row["data"], row["records"], row["l2"]), []).append(row)
    yield from cells.values()


def _largest(result: Row) -> list[list[Row]]:
    """Of every data set, the cells of its largest size."""
    cells = list(_cells(result))
    sizes: dict[str, int] = {}
    for cell in cells:
        sizes[cell[0]["data"]] = max(sizes.get(cell[0]["data"], 0), cell[0]["records"])
    return [cell for cell in cells if cell[0]["records"] == sizes[cell[0]["data"]]]


def _same(rows: Iterable[Row], like: Row) -> list[Row]:
    return select(list(rows), data=like["data"], records=like["records"], l2=like["l2"])


def _random(cell: list[Row]) -> list[Row]:
    return [row for row in cell if row["order"].startswith("random")]


def _compared(cell: list[Row]) -> list[Row]:
    return [point for row in cell for point in row["points"] if "truth" in point]


def _is_binary_made(cell: list[Row]) -> bool:
    return cell[0]["data"] == "made, 2 classes"


def _name(cell: list[Row]) -> str:
    return f"{cell[0]['data']}, n = {cell[0]['records']:,}"


def _where(row: Row) -> str:
    return f"{row['data']} ({row['records']:,}), l2 = {row['l2']:g}"


def _told(count: float, ended: bool) -> str:
    return f"{count:,.0f}" if ended else f"at least {count:,.0f}"


def _range(values: list[float], form: str) -> str:
    return f"{min(values):{form}} to {max(values):{form}}" if values else "-"
