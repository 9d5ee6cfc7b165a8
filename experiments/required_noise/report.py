"""The required-noise figure and the tables that the README shows, from the JSON alone."""

from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from expunge.report.picture import COLOURS, INK, legend_below, save, styled, tidy

__all__ = ["noise_table", "report", "steps_table"]

MARKS = (  # from no public records to many
    (COLOURS["vermilion"], "s"),
    (COLOURS["orange"], "^"),
    (COLOURS["blue"], "o"),
)
STYLES = {"paper": (":", "the paper's bound"), "shift": ("-", "our bound")}


def report(result: dict[str, Any], folder: Path) -> str:
    """Draw required_noise.png, write both tables as Markdown, and return them."""
    save(draw(result), folder / "required_noise.png")
    (folder / "steps.md").write_text(steps_table(result) + "\n")
    (folder / "noise.md").write_text(noise_table(result) + "\n")
    return f"{steps_table(result)}\n\n{noise_table(result)}"


@styled
def draw(result: dict[str, Any]) -> Figure:
    settings = result["settings"]
    panels = [0, *settings["unlearn_steps"]]
    rows = -(-len(panels) // 2)
    figure = Figure(figsize=(9, 3 * rows + 1), layout="constrained")
    grid = figure.subplots(rows, 2, sharex=True, sharey=True, squeeze=False)
    for axes, steps in zip(grid.flat, panels, strict=False):
        _panel(axes, result, steps)
    for axes in grid.flat[len(panels) :]:
        axes.remove()
    for line in grid:
        line[0].set_ylabel("required noise sigma")
    for axes in grid[-1]:
        axes.set_xlabel("private records forgotten (%)")
    for style, name in STYLES.values():
        grid[0][0].add_line(Line2D([], [], color=INK, ls=style, label=name))
    figure.suptitle(
        f"Public data shrinks the noise ({settings['private']:,} private records, "
        f"{settings['learn_steps']:,} learning steps)"
    )
    legend_below(figure, 5, "computed, not measured")
    return figure


def _panel(axes: Axes, result: dict[str, Any], steps: int) -> None:
    settings = result["settings"]
    for (colour, marker), public in zip(MARKS, settings["public"], strict=False):
        rows = [r for r in result["noise"] if (r["public"], r["unlearn_steps"]) == (public, steps)]
        shares = [100 * row["fraction"] for row in rows]
        for name, (line, _) in STYLES.items():
            label = f"{public:,} public" if name == "shift" else None
            sigmas = [float("nan") if s is None else s for s in (r["sigma"][name] for r in rows)]
            axes.semilogy(
                shares, sigmas, ls=line, color=colour, marker=marker, ms=4, markevery=4,
                label=label,
            )  # fmt: skip
    pair = f"epsilon = {settings['epsilon']:g}, delta = {settings['delta']:g}, K = {steps}"
    axes.set_title(pair if steps else f"D_2 <= {settings['level']:g}, K = 0")
    tidy(axes)


def steps_table(result: dict[str, Any]) -> str:
    """Unlearning steps K that each bound asks for, at given sigma."""
    lines = [
        "| public | forgotten | sigma | K, paper | K, paper repaired | K, iteration | **K, shift** "
        "| paper / shift |",
        "|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for row in result["steps"]:
        k = row["steps"]
        ratio = f"{k['paper'] / k['shift']:.0f}x" if k["shift"] > 10 else "-"
        lines.append(
            f"| {row['public']:,} | {row['forgotten']:,} | {row['sigma']:g} | {k['paper']:,} "
            f"| {k['log_sobolev']:,} | {k['iteration']:,} | **{k['shift']:,}** | {ratio} |"
        )
    return "\n".join(lines)


def noise_table(result: dict[str, Any]) -> str:
    """Noise that each bound asks for, 10 % of the private records forgotten."""
    lines = [
        "| public | K | sigma, paper | sigma, paper repaired | sigma, iteration | **sigma, shift** "
        "| paper / shift |",
        "|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for row in result["noise"]:
        if row["fraction"] == 0.1 and row["unlearn_steps"]:
            s = row["sigma"]
            lines.append(
                f"| {row['public']:,} | {row['unlearn_steps']} | {s['paper']:.3g} "
                f"| {s['log_sobolev']:.3g} | {s['iteration']:.3g} | **{s['shift']:.3g}** "
                f"| {s['paper'] / s['shift']:.3g}x |"
            )
    return "\n".join(lines)
