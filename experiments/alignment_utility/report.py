"""The paper's table with signs and errors, the bound and a figure, from the JSON alone."""

import math
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from matplotlib.figure import Figure
from matplotlib.patches import Patch

from experiments.alignment_utility.verdicts import PAPER, mixed, relative
from experiments.tables import verdict_table

__all__ = ["bounds", "draw", "losses", "report"]

Row = dict[str, Any]
COLOURS = {"aligned": "#2166ac", "misaligned": "#b2182b"}


def report(result: Row, folder: Path) -> str:
    """Draw SCALE.png, write SCALE.md, and return it."""
    scale = result.get("scale", "run")
    draw(result).savefig(folder / f"{scale}.png", dpi=150, metadata={"Software": None})
    settings, chain = result["settings"], result["settings"]["chain"]
    stands = [
        f"{pair} stands for {of}"
        + (f", which the paper calls {PAPER[of][0]}" if of in PAPER else "")
        for pair, of in result["stands_for"].items()
        if of
    ]
    head = (
        f"Scale `{scale}` on {result['device']}, {sum(result['seconds'].values()):.0f} s. Half of "
        f"the private rows forgotten at random, K = {settings['unlearn_steps']}, T = "
        f"{chain['learn_steps']}, eta = {chain['step_size']:g}, sigma = {chain['sigma']:g}, R = "
        f"{chain['radius']:g}, full batch; {settings['splits']} splits of {settings['models']} "
        "pairs of models that share their noise; errors are standard errors over splits. "
        f"Alignment as measured here. {'; '.join(stands)}. Two readings of a relative difference: "
        "both models on private test rows, or the unlearned model on them and the retrained one on "
        "the training mixture, which the mismatch theorem compares."
    )
    text = "\n\n".join([head, verdict_table(result), losses(result), bounds(result)])
    (folder / f"{scale}.md").write_text(text + "\n")
    return text


def losses(result: Row) -> str:
    lines = [
        "| public / private | alignment | setting | public | retained | forgotten | unlearned "
        "| retrained | difference | relative | retrained, on the mixture | relative to that "
        "| accuracy: unlearned / retrained |",
        "|---|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for row in result["rows"]:
        shares, second = relative(row), mixed(row)
        lines.append(
            f"| {row['pair']} | {row['alignment']} | {row['variant']} | {row['public']:,} "
            f"| {row['retained']:,} | {row['forget']:,} | {fmean(row['unlearned']):.4f} "
            f"| {fmean(row['retrained']):.4f} | {fmean(row['differences']):+.4f} +- "
            f"{_error(row['differences']):.4f} | {fmean(shares):+.2%} +- {_error(shares):.2%} "
            f"| {fmean(row['retrained_on_mixture']):.4f} | {fmean(second):+.2%} +- "
            f"{_error(second):.2%} "
            f"| {fmean(row['unlearned_accuracy']):.3f} / {fmean(row['retrained_accuracy']):.3f} |"
        )
    return "\n".join(lines)


def bounds(result: Row) -> str:
    """An estimate of D_inf went in: no certificate."""
    lines = [
        "| public / private | public | told apart | D_inf (95 %) | factor: paper's / exact "
        "| approximation: predicted / certified | bound: paper's / exact | measured |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for row in result["bounds"]:
        told, held = row["predicted"], row["certified"]
        factors = [
            None if told[name] is None else (told[name] - told["approximation"]) / told["retrained"]
            for name in ("paper", "exact")
        ]
        lines.append(
            f"| {row['pair']} | {row['public']:,} | {row['told_apart']:.1%} "
            f"| {_number(told['d_infinity'])} | {_number(factors[0])} / {_number(factors[1])} "
            f"| {told['approximation']:.3g} / {held['approximation']:.3g} "
            f"| {_number(told['paper'])} / {_number(told['exact'])} | {row['measured']:.4g} |"
        )
    return "\n".join(lines)


def draw(result: Row) -> Figure:
    variants = result["settings"]["variants"]
    pairs = [pair for pair, _ in result["settings"]["pairs"]]
    figure = Figure(figsize=(3.9 * len(variants) + 2, 3.8), layout="constrained")
    grid = figure.subplots(1, len(variants), squeeze=False)[0]
    for variant, axes in zip(variants, grid, strict=True):
        place, ticks = 0.0, []
        for pair in pairs:
            rows = [r for r in result["rows"] if (r["pair"], r["variant"]) == (pair, variant)]
            for row, alpha in zip(rows, (0.4, 0.7, 1.0), strict=False):
                shares = [100 * one for one in relative(row)]
                colour = COLOURS.get(row["alignment"], "0.4")  # a pair of one's own has none
                axes.bar(
                    place, fmean(shares), yerr=_error(shares), color=colour,
                    alpha=alpha, width=0.85, capsize=2, error_kw={"lw": 1},
                )  # fmt: skip
                place += 1
            ticks.append((place - 1 - (len(rows) - 1) / 2, pair.replace("/", "/\n")))
            place += 0.8
        axes.axhline(0, color="0.3", lw=0.8)
        axes.set_xticks([at for at, _ in ticks], [name for _, name in ticks], fontsize=7.5)
        axes.set_title(variant, fontsize=9)
        axes.grid(alpha=0.25, lw=0.5, axis="y")
        axes.spines[["top", "right"]].set_visible(False)
    grid[0].set_ylabel(
        "unlearned - retrained, % of the retrained loss\n(below 0: unlearned better)"
    )
    handles = [Patch(color=colour, label=name) for name, colour in COLOURS.items()]
    volumes = "\n".join(
        f"{volume:g} public rows a private" for volume in result["settings"]["volumes"]
    )
    figure.legend(
        handles=handles, frameon=False, fontsize=8, loc="outside right center",
        title=f"measured alignment;\npale to dark:\n{volumes}", title_fontsize=7.5,
    )  # fmt: skip
    return figure


def _error(values: list[float]) -> float:
    return stdev(values) / math.sqrt(len(values))


def _number(value: float | None) -> str:
    return "infinite" if value is None else f"{value:.3g}"
