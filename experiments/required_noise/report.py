"""The required-noise figure and the tables that the README shows, from the JSON alone."""

from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

__all__ = ["noise_table", "report", "steps_table"]

COLOURS = {0: "#b2182b", 3000: "#ef8a62", 30_000: "#2166ac"}
STYLES = {"paper": ":", "shift": "-"}


def report(result: dict[str, Any], folder: Path) -> str:
    """Draw required_noise.png, write both tables as Markdown, and return them."""
    draw(result).savefig(folder / "required_noise.png", dpi=150, metadata={"Software": None})
    (folder / "steps.md").write_text(steps_table(result) + "\n")
    (folder / "noise.md").write_text(noise_table(result) + "\n")
    return f"{steps_table(result)}\n\n{noise_table(result)}"


def draw(result: dict[str, Any]) -> Figure:
    settings = result["settings"]
    panels = [0, *settings["unlearn_steps"]]
    figure = Figure(figsize=(3.4 * len(panels), 3.6), layout="constrained")
    grid = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for axes, steps in zip(grid, panels, strict=True):
        _panel(axes, result, steps)
    grid[0].set_ylabel("required noise sigma")
    grid[0].legend(frameon=False, fontsize=7.5)
    figure.suptitle(
        f"Public data shrinks the noise (n_priv = {settings['private']:,}, "
        f"T = {settings['learn_steps']:,}); dotted: the paper's bound, solid: ours",
        fontsize=11,
    )
    return figure


def _panel(axes: Axes, result: dict[str, Any], steps: int) -> None:
    settings = result["settings"]
    for public in settings["public"]:
        rows = [r for r in result["noise"] if (r["public"], r["unlearn_steps"]) == (public, steps)]
        shares = [100 * row["fraction"] for row in rows]
        for name, style in STYLES.items():
            label = f"{public:,} public" if name == "shift" else None
            sigmas = [row["sigma"][name] for row in rows]
            axes.semilogy(shares, sigmas, style, color=COLOURS.get(public), lw=1.8, label=label)
    pair = f"epsilon = {settings['epsilon']:g}, delta = {settings['delta']:g}, K = {steps}"
    axes.set_title(pair if steps else f"D_2 <= {settings['level']:g}, K = 0", fontsize=9)
    axes.set_xlabel("private records forgotten (%)")
    axes.grid(alpha=0.25, lw=0.5, which="both")
    axes.spines[["top", "right"]].set_visible(False)


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
