"""The paper's table with signs and errors, the bound and a figure, from the JSON alone."""

import math
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from experiments.alignment_utility.verdicts import PAPER, mixed, relative
from experiments.tables import verdict_table
from expunge.report.picture import COLOURS, INK, SOFT, legend_below, save, styled, tidy

__all__ = ["bounds", "draw", "losses", "report"]

Row = dict[str, Any]
ALIGNMENTS = {"aligned": COLOURS["blue"], "misaligned": COLOURS["vermilion"]}
MARKERS = ("o", "s", "^")  # of public volumes


def report(result: Row, folder: Path) -> str:
    """Draw SCALE.png, write SCALE.md, and return it."""
    scale = result.get("scale", "run")
    save(draw(result), folder / f"{scale}.png")
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


@styled
def draw(result: Row) -> Figure:
    variants = result["settings"]["variants"]
    pairs = [pair for pair, _ in result["settings"]["pairs"]]
    volumes = result["settings"]["volumes"]
    figure = Figure(figsize=(3.2 * len(variants) + 0.8, 4.4), layout="constrained")
    grid = figure.subplots(1, len(variants), squeeze=False, sharey=True)[0]
    for variant, axes in zip(variants, grid, strict=True):
        for place, pair in enumerate(pairs):
            rows = [r for r in result["rows"] if (r["pair"], r["variant"]) == (pair, variant)]
            for number, (row, marker) in enumerate(zip(rows, MARKERS, strict=False)):
                shares = [100 * one for one in relative(row)]
                axes.errorbar(
                    place + 0.2 * (number - 1), fmean(shares), _error(shares), marker=marker,
                    color=ALIGNMENTS.get(row["alignment"], SOFT),  # a pair of one's own has none
                )  # fmt: skip
        axes.axhline(0, color=INK, lw=0.8)
        axes.set_yscale("symlog", linthresh=0.1)
        axes.yaxis.set_major_formatter("{x:g}")
        names = [pair.replace("_", " ").replace("/", "/\n") for pair in pairs]
        axes.set_xticks(range(len(pairs)), names, fontsize=8)
        axes.set_xlim(-0.5, len(pairs) - 0.5)
        axes.set_title(variant)
        tidy(axes, "y")
    grid[0].set_ylabel(
        "unlearned - retrained, % of the retrained loss\n(below 0: unlearned better; linear to 0.1)"
    )
    for name, colour in ALIGNMENTS.items():
        grid[0].errorbar([], [], color=colour, lw=6, label=name)
    for volume, marker in zip(volumes, MARKERS, strict=False):
        label = f"{volume:g} public rows a private"
        grid[0].add_line(Line2D([], [], color=SOFT, ls="none", marker=marker, label=label))
    splits = result["settings"]["splits"]
    legend_below(figure, 5, f"means of {splits} splits; bars: standard errors over them")
    return figure


def _error(values: list[float]) -> float:
    return stdev(values) / math.sqrt(len(values))


def _number(value: float | None) -> str:
    return "infinite" if value is None else f"{value:.3g}"
