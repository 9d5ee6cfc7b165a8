"""The figure and the tables, from the JSON alone."""

from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.tables import select, verdict_table
from expunge.report.picture import INK, SOFT, legend_below, save, series, styled, tidy

__all__ = ["report"]

Row = dict[str, Any]
ARMS = ("symmetric", "asymmetric", "pre-trained", "public reference")


def report(result: Row, folder: Path) -> str:
    """Draw SCALE.png, write SCALE.md, and return it."""
    scale = result.get("scale", "run")
    save(draw(result), folder / f"{scale}.png")
    text = "\n\n".join([header(result), verdict_table(result), table(result)])
    (folder / f"{scale}.md").write_text(text + "\n")
    return text


def header(result: Row) -> str:
    """What was run, in words."""
    settings = result["settings"]
    arms = "; ".join(
        f"{name}: ridge {arm['ridge']:g}, T = {arm['learn_steps']}"
        for name, arm in result["arms"].items()
    )
    sizes = ", ".join(
        f"{pair} {row['public']:,} public, {row['private']:,} private"
        for pair, _ in settings["pairs"]
        for row in select(result["rows"], pair=pair)[:1]
    )
    return (
        f"Scale `{result.get('scale', 'run')}` on {result['device']}, "
        f"{sum(result['seconds'].values()):.0f} s. Features of norm 1, full batch, eta = 1/L, "
        f"delta = 1/n, shift bound; {settings['runs']} runs a cell; K = "
        f"{settings['unlearn_steps']} for observer `final`, 1 for `all`. {arms}. {sizes}. "
        "Accuracy in percent on private test rows; noise is seeded float32, an experiment."
    )


def table(result: Row) -> str:
    """Accuracy by pair, observer, deletion and epsilon, yardsticks on the left."""
    lines = [
        "| pair | observer | deleted | epsilon | public only | retrained | auto, no public data | "
        + " | ".join(ARMS)
        + " |",
        "|---|---|---:|---:|" + "---:|" * (3 + len(ARMS)),
    ]
    for row in result["rows"]:
        if row["arm"] != "symmetric":
            continue
        spot = {name: row[name] for name in ("pair", "deletion")}
        (public,) = select(result["rows"], pair=row["pair"], arm="public only")
        (again,) = select(_placed(result, "retrain"), **spot)
        exact = "-"
        if row["observer"] == "final":
            sought = spot | {"epsilon": row["epsilon"]}
            exact = (
                f"{select(_placed(result, 'auto, no public data'), **sought)[0]['accuracy']:.1f}"
            )
        cells = [_told(_cell(result, arm, row)) for arm in ARMS]
        lines.append(
            f"| {row['pair']} ({row['alignment']}) | {row['observer']} | {row['deletion']:.0%} "
            f"| {row['epsilon']:g} | {public['accuracy']:.1f} | {again['accuracy']:.1f} | {exact} "
            + "".join(f"| {cell} " for cell in cells)
            + "|"
        )
    return "\n".join(lines)


def _placed(result: Row, arm: str) -> list[Row]:
    return [row for row in result["rows"] if row["arm"] == arm]


def _cell(result: Row, arm: str, like: Row) -> Row:
    names = ("pair", "observer", "deletion", "epsilon")
    (row,) = select(_placed(result, arm), **{name: like[name] for name in names})
    return row


def _told(row: Row) -> str:
    return f"{row['accuracy']:.1f} +- {row['standard_error']:.1f}"


@styled
def draw(result: Row) -> Figure:
    """Accuracy over the share deleted, a panel for each pair and observer."""
    pairs = result["settings"]["pairs"]
    figure = Figure(figsize=(2.7 * len(pairs) + 0.6, 5.8), layout="constrained")
    grid = figure.subplots(2, len(pairs), squeeze=False, sharex=True, sharey="col")
    for line, observer in zip(grid, ("final", "all"), strict=True):
        for axes, (pair, alignment) in zip(line, pairs, strict=True):
            _panel(axes, result, pair, observer)
            axes.set_title(f"{pair}\n({alignment}), observer {observer}")
        line[0].set_ylabel("test accuracy (%)")
    for axes in grid[-1]:
        axes.set_xlabel("private records deleted (%)")
    least = min(result["settings"]["epsilons"])
    figure.suptitle(f"Accuracy after a certified deletion, epsilon = {least:g}")
    legend_below(figure, 6, f"bars: two standard errors of {result['settings']['runs']} runs")
    return figure


def _panel(axes: Axes, result: Row, pair: str, observer: str) -> None:
    least = min(result["settings"]["epsilons"])
    for place, arm in enumerate(ARMS):
        style: dict[str, Any] = series(place) | {"ls": "-", "ms": 4}
        rows = select(_placed(result, arm), pair=pair, observer=observer, epsilon=least)
        axes.errorbar(
            [100 * row["deletion"] for row in rows],
            [row["accuracy"] for row in rows],
            [2 * row["standard_error"] for row in rows],
            label=arm,
            **style,
        )
    (public,) = select(result["rows"], pair=pair, arm="public only")
    axes.axhline(public["accuracy"], color=SOFT, ls="--", lw=1.2, label="public only")
    again = select(_placed(result, "retrain"), pair=pair)
    axes.plot(
        [100 * row["deletion"] for row in again],
        [row["accuracy"] for row in again],
        ":", color=INK, lw=1.4, label="retrained",
    )  # fmt: skip
    axes.set_xscale("log")
    shares = [100 * share for share in result["settings"]["deletions"]]
    axes.set_xticks(shares, [f"{share:g}" for share in shares])
    axes.set_xticks([], minor=True)
    tidy(axes)
