"""The pages that show what a request without a pass costs, made from benchmarks/pass_free.json.

    python -m benchmarks.pass_free_pages        table, line and figure again

A table in docs/pass_free.md, a line in README.md, and a figure of seconds against records.
"""

import json
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from benchmarks.pass_free import steadiness
from expunge.report.picture import legend_below, save, series, styled, tidy

__all__ = ["RESULTS", "draw", "line", "merge", "show", "table"]

ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).with_name("pass_free.json")
MARK, END = "<!-- benchmarks/pass_free.json -->\n", "<!-- end -->"
Row = dict[str, Any]


def merge(rows: list[Row]) -> None:
    """Put measured sizes into the results, in place of those of the same size, and show them."""
    kept = [row for row in json.loads(RESULTS.read_text()) if "records" in row]
    fresh = [row for row in rows if "records" in row]
    places = {(row["features"], row["records"]): row for row in [*kept, *fresh]}
    sizes = [places[size] for size in sorted(places)]
    RESULTS.write_text(json.dumps([*sizes, *steadiness(sizes)], indent=1) + "\n")
    show()


def show() -> None:
    """Write table, line and figure of the results there are."""
    rows = [row for row in json.loads(RESULTS.read_text()) if "records" in row]
    for name, text in (("docs/pass_free.md", table(rows)), ("README.md", line(rows))):
        page = ROOT / name
        before, _, rest = page.read_text().partition(MARK)
        page.write_text(before + MARK + text + END + rest.partition(END)[2])
    save(draw(rows), RESULTS.with_suffix(".png"))


def table(rows: list[Row]) -> str:
    lines = [
        "| records | features | `forget` | `add` of ten | refit | refit over `forget` "
        "| gradient norm, refit | gradient norm, `forget` before noise |",
        "|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for row in rows:
        seconds = row["seconds"]
        added = _milliseconds(seconds["add"]) if "add" in seconds else "-"
        lines.append(
            f"| {row['records']:,} | {row['features']} | {_milliseconds(seconds['forget'])} "
            f"| {added} | {seconds['sklearn']:.2g} s "
            f"| {seconds['sklearn'] / seconds['forget']:,.0f} "
            f"| {row['sklearn_gradient_norm']:.0e} | {row['gradient_norm']:.0e} |"
        )
    missed = [row for row in [*rows, *steadiness(rows)] if row["ratio"] > row["limit"]]
    lines += ["", "Over their limits in this run, on a machine with other work:"] if missed else []
    lines += [f"{row['name']}: {row['ratio']:.3g}, limit {row['limit']:g}." for row in missed]
    return "\n".join(lines) + "\n"


def line(rows: list[Row]) -> str:
    """What the largest size showed, as a sentence."""
    row = max(rows, key=lambda row: row["records"] * row["features"])
    seconds = row["seconds"]
    return (
        f"Measured: ten of {row['records']:,} x {row['features']} records leave in "
        f"{_milliseconds(seconds['forget'])} of processor time,\ncertificate and exact noise "
        f"included; refitting scikit-learn takes {seconds['sklearn']:.2g} s, "
        f"{seconds['sklearn'] / seconds['forget']:,.0f} times as long\n"
        "(`python -m benchmarks forget`).\n"
    )


@styled
def draw(rows: list[Row]) -> Figure:
    """Processor seconds against records: refitting hollow and dashed, forgetting filled."""
    figure = Figure(figsize=(6.4, 4), layout="constrained")
    axes = figure.subplots()
    for place, features in enumerate(dict.fromkeys(row["features"] for row in rows)):
        look = {name: series(place)[name] for name in ("color", "marker")}
        of_width = [row for row in rows if row["features"] == features]
        records = [row["records"] for row in of_width]
        refit = [row["seconds"]["sklearn"] for row in of_width]
        forget = [row["seconds"]["forget"] for row in of_width]
        slowest = [row["seconds"]["slowest"] for row in of_width]
        name = f"{features} features"
        axes.plot(records, refit, ls="--", mfc="white", label=f"refit scikit-learn, {name}", **look)
        spread = [[0.0] * len(forget), [b - a for a, b in zip(forget, slowest, strict=True)]]
        axes.errorbar(records, forget, spread, label=f"forget ten records, {name}", **look)
    axes.set(xscale="log", yscale="log", xlabel="records", ylabel="processor seconds")
    tidy(axes, "y")
    requests = min(row["requests"] for row in rows)
    legend_below(figure, 2, f"forget: median of {requests} requests, bars to the slowest")
    return figure


def _milliseconds(seconds: float) -> str:
    return f"{1000 * seconds:.2g} ms"


if __name__ == "__main__":
    show()
