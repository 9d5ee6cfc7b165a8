"""The sandwich as a figure and a table, from the JSON alone."""

from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from experiments.axes import mark_below
from experiments.sandwich.run import rows_of_case
from expunge.report.picture import COLOURS, GRID, INK, SOFT, legend_below, save, styled, tidy

__all__ = ["draw", "report", "table", "verdict_table"]

Row = dict[str, Any]


def report(result: Row, folder: Path) -> str:
    """Draw SCALE.png, write SCALE.md, and return it."""
    scale = result.get("scale", "run")
    save(draw(result), folder / f"{scale}.png")
    settings, chain = result["settings"], result["settings"]["chain"]
    head = (
        f"Scale `{scale}` on {result['device']}, {sum(result['seconds'].values()):.0f} s. "
        "Forgotten class by class or at random, zero init, features of norm 1, "
        f"full batch, T = {chain['learn_steps']}, eta = {chain['step_size']:g}, "
        f"sigma = {chain['sigma']:g}; "
        f"delta = {settings['delta']:g}, every bound at {settings['level']:.0%} by itself. "
        "sketch/cartoon stands for DomainNet Quickdraw / Clipart."
    )
    text = "\n\n".join([head, verdict_table(result), table(result)])
    (folder / f"{scale}.md").write_text(text + "\n")
    return text


def verdict_table(result: Row) -> str:
    lines = ["| claim | found | verdict |", "|---|---|---|"]
    lines += [f"| {r['claim']} | {r['found']} | {r['verdict']} |" for r in result["verdicts"]]
    return "\n".join(lines)


def table(result: Row) -> str:
    """D_2 and epsilon from below, estimated, and certified."""
    lines = [
        "| pair | forgotten | public | rows | K | models | D_2 at least | estimate | predicted "
        "| certified D_2 | epsilon at least | certified epsilon | null: mu | claim of 10 sigma |",
        "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---|",
    ]
    for row in result["rows"]:
        low, high = row["estimate"]["interval"]
        false = row["false_claim"]
        told = "true here" if not false["false"] else "caught" if false["caught"] else "not caught"
        lines.append(
            f"| {row['pair']} | {row['forget_set']} | {row['public']:,} | {row['forget']:,} "
            f"| {row['unlearn_steps']} | {row['models']:,} | {row['lower']['renyi_2']:.3g} "
            f"| {row['estimate']['value']:.3g} [{low:.3g}, {high:.3g}] | {row['predicted']:.3g} "
            f"| {row['certified']['renyi_2']:.3g} | {row['lower']['epsilon']:.3g} "
            f"| {row['certified']['epsilon']:.3g} | {row['null']['mu']:.2g} | {told} |"
        )
    return "\n".join(lines)


@styled
def draw(result: Row) -> Figure:
    cases = result["settings"]["cases"]
    ks = result["settings"]["unlearn_steps"]
    figure = Figure(figsize=(2.5 * len(ks) + 0.8, 2.9 * len(cases) + 0.6), layout="constrained")
    grid = figure.subplots(len(cases), len(ks), squeeze=False, sharey=True)
    for case, line in zip(cases, grid, strict=True):
        rows = rows_of_case(result, case)
        for k, axes in zip(ks, line, strict=True):
            _squeeze(axes, [row for row in rows if row["unlearn_steps"] == k])
            axes.set_title(f"{case['pair']}, {case['forget_set']}, K = {k}")
        line[0].set_ylabel("$D_2(\\pi_R^{T+K} \\,\\|\\, \\pi_U^K)$")
    models = {row["models"] for row in result["rows"] if "models" in row}
    told = f" from {min(models):,} models" if models else ""
    note = "rows of norm 1; across: public rows for each retained private row"
    legend_below(figure, 4, f"{note}; estimates and attacks{told}, 95 %")
    return figure


def _squeeze(axes: Any, rows: list[Row]) -> None:
    volumes = [f"{row['public'] / row['retained']:.2g}" for row in rows]
    places = list(range(len(rows)))
    lower = [row["lower"]["renyi_2"] for row in rows]
    upper = [row["certified"]["renyi_2"] for row in rows]
    floor = min(v for v in [*lower, *(row["predicted"] for row in rows)] if v > 0) / 3
    axes.fill_between(places, [max(v, floor) for v in lower], upper, color=GRID, alpha=0.45, lw=0)
    axes.plot(
        places, upper, "v-", color=COLOURS["vermilion"], lw=1.6, ms=5, label="certified: at most"
    )
    values = [row["estimate"]["value"] for row in rows]
    ends = [row["estimate"]["interval"] for row in rows]
    reach = [
        [max(v - max(low, floor), 0) for v, (low, _) in zip(values, ends, strict=True)],
        [high - v for v, (_, high) in zip(values, ends, strict=True)],
    ]
    axes.errorbar(places, values, reach, fmt="o", color=INK, ms=4, lw=1, label="estimate")
    axes.plot(places, [r["predicted"] for r in rows], "--", color=SOFT, lw=1, label="predicted")
    shown = [(place, v) for place, v in zip(places, lower, strict=True) if v > 0]
    if shown:
        axes.plot(
            *zip(*shown, strict=True), "^-", color=COLOURS["blue"], lw=1.6, ms=5,
            label="attack: at least",
        )  # fmt: skip
    axes.set_yscale("log")
    axes.set_xticks(places, volumes)
    mark_below(axes, places, lower, COLOURS["blue"])
    mark_below(axes, places, values, INK)
    tidy(axes)
