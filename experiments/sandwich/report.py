"""The sandwich as a figure and a table, from the JSON alone."""

from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from experiments.sandwich.run import rows_of_case

__all__ = ["draw", "report", "table", "verdict_table"]

Row = dict[str, Any]


def report(result: Row, folder: Path) -> str:
    """Draw SCALE.png, write SCALE.md, and return it."""
    scale = result.get("scale", "run")
    draw(result).savefig(folder / f"{scale}.png", dpi=150, metadata={"Software": None})
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


def draw(result: Row) -> Figure:
    cases = result["settings"]["cases"]
    ks = result["settings"]["unlearn_steps"]
    figure = Figure(figsize=(3.3 * len(ks) + 1.2, 3.1 * len(cases)), layout="constrained")
    grid = figure.subplots(len(cases), len(ks), squeeze=False, sharey="row")
    for case, line in zip(cases, grid, strict=True):
        rows = rows_of_case(result, case)
        for k, axes in zip(ks, line, strict=True):
            _squeeze(axes, [row for row in rows if row["unlearn_steps"] == k])
            axes.set_title(f"{case['pair']}, {case['forget_set']}, K = {k}", fontsize=9)
        line[0].set_ylabel("$D_2(\\pi_R^{T+K} \\,\\|\\, \\pi_U^K)$")
    for axes in grid[-1]:
        axes.set_xlabel("public rows for each retained private row", fontsize=8)
    grid[0][0].legend(frameon=False, fontsize=7, loc="lower left")
    return figure


def _squeeze(axes: Any, rows: list[Row]) -> None:
    volumes = [f"{row['public'] / row['retained']:.2g}" for row in rows]
    places = list(range(len(rows)))
    lower = [row["lower"]["renyi_2"] for row in rows]
    upper = [row["certified"]["renyi_2"] for row in rows]
    floor = min(v for v in [*lower, *(row["predicted"] for row in rows)] if v > 0) / 3
    axes.fill_between(places, [max(v, floor) for v in lower], upper, color="0.92", lw=0)
    axes.plot(places, upper, "v-", color="#b2182b", lw=1.6, ms=5, label="certified: at most")
    values = [row["estimate"]["value"] for row in rows]
    ends = [row["estimate"]["interval"] for row in rows]
    reach = [
        [max(v - max(low, floor), 0) for v, (low, _) in zip(values, ends, strict=True)],
        [high - v for v, (_, high) in zip(values, ends, strict=True)],
    ]
    axes.errorbar(
        places, values, reach, fmt="o", color="black", ms=4, capsize=2, lw=1, label="estimate, 95 %"
    )
    axes.plot(places, [r["predicted"] for r in rows], "-", color="0.5", lw=1, label="predicted")
    shown = [(place, v) for place, v in zip(places, lower, strict=True) if v > 0]
    if shown:
        axes.plot(
            *zip(*shown, strict=True), "^-", color="#2166ac", lw=1.6, ms=5,
            label="attack: at least, 95 %",
        )  # fmt: skip
    axes.set_yscale("log")
    axes.set_ylim(bottom=floor)
    axes.set_xticks(places, volumes)
    axes.grid(alpha=0.25, lw=0.5)
    axes.spines[["top", "right"]].set_visible(False)
