"""The paper's table of accuracies beside ours, and a figure of both, from the JSON alone."""

from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from matplotlib.figure import Figure

from experiments.flipped_labels.settings import PAPER
from experiments.flipped_labels.verdicts import LAWS
from experiments.review_reports import SIGMA, scale_run, search_table
from experiments.tables import verdict_table
from expunge.report.picture import COLOURS, SOFT, legend_below, save, styled, tidy

__all__ = ["accuracies", "draw", "report"]

MARKS = {  # colour, and marker of the paper's figures and ours
    "unlearned": (COLOURS["vermilion"], "D"),
    "retrained": (COLOURS["blue"], "o"),
}
ROWS = {"without": "no public", "with": "public", "flipped": "public, 40 % flipped"}
Row = dict[str, Any]


def report(result: Row, folder: Path) -> str:
    """Write SCALE.png and SCALE.md, and return the tables."""
    scale = result.get("scale", "run")
    save(draw(result), folder / f"{scale}.png")
    head = (
        f"{scale_run(result)} Percent of test reviews, of which {result['majority']:.1%} have the "
        "more frequent label; means over models +- standard errors, all on one draw of the data. "
        "With public data an epoch has more steps in proportion to the records: what changes is "
        "the data and also how long models learn and gather noise. A norm of "
        f"{result['settings']['models']['chain']['radius']:g} is the radius: noise fills the ball."
    )
    text = "\n\n".join([head, accuracies(result), verdict_table(result), search_table(result)])
    (folder / f"{scale}.md").write_text(text + "\n")
    return text


def accuracies(result: Row) -> str:
    lines = [
        "| sigma | public data | models | unlearned: paper | ours | retrained: paper | ours "
        "| before unlearning | norm of weights |",
        "|---|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for cell in result["cells"]:
        told = [f"{value:.2f}" for value in PAPER[cell["public"]]]
        ours = ["not yet"] * 3
        norm = ""
        if "norm" in cell:
            ours = [_mean(cell[law]) for law in (*LAWS, "learned")]
            norm = f"{cell['norm']:.3g}"
        lines.append(
            f"| {cell['sigma']:g} ({SIGMA[cell['arm']]}) | {ROWS[cell['public']]} "
            f"| {cell['models']} | {told[0]} | {ours[0]} | {told[1]} | {ours[1]} | {ours[2]} "
            f"| {norm} |"
        )
    return "\n".join(lines)


@styled
def draw(result: Row) -> Figure:
    arms = list(dict.fromkeys(cell["arm"] for cell in result["cells"]))
    figure = Figure(figsize=(4.4 * len(arms), 3.4), layout="constrained")
    grid = figure.subplots(1, len(arms), sharey=True, squeeze=False)[0]
    for arm, axes in zip(arms, grid, strict=True):
        cells = [cell for cell in result["cells"] if cell["arm"] == arm]
        for place, law in enumerate(LAWS):
            shift, (colour, marker) = 0.12 * (2 * place - 1), MARKS[law]
            axes.plot(
                [number + shift for number in range(len(ROWS))],
                [values[place] for values in PAPER.values()],
                marker, mfc="none", color=colour, label=f"{law}, paper",
            )  # fmt: skip
            found = [(n, cell[law]) for n, cell in enumerate(cells) if law in cell]
            axes.errorbar(
                [number + shift for number, _ in found],
                [100 * fmean(values) for _, values in found],
                [196 * _error(values) for _, values in found],
                fmt=marker, color=colour, label=f"{law}, ours (95 %)",
            )  # fmt: skip
        axes.axhline(100 * result["majority"], color=SOFT, ls=":", lw=1.2)
        axes.set_xticks(range(len(ROWS)), [name.replace(", ", ",\n") for name in ROWS.values()])
        axes.set_xlim(-0.5, len(ROWS) - 0.5)
        axes.set_title(f"sigma = {cells[0]['sigma']:g} ({SIGMA[arm]})")
        tidy(axes, "y")
    grid[0].set_ylabel("test accuracy, %; dotted: guessing")
    counts = {len(cell[law]) for cell in result["cells"] for law in LAWS if law in cell}
    told = " to ".join(f"{count:,}" for count in sorted({min(counts), max(counts)}))
    legend_below(figure, 2 * len(arms), f"ours: means of {told} models and 95 % intervals")
    return figure


def _mean(values: list[float]) -> str:
    return f"{100 * fmean(values):.2f} +- {100 * _error(values):.2f}"


def _error(values: list[float]) -> float:
    return stdev(values) / len(values) ** 0.5
