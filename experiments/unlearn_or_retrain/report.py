"""Crossings, laws and verdicts as tables, and one figure, from the JSON alone."""

from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from expunge.report.picture import COLOURS, SOFT, save, series, styled, tidy

__all__ = ["crossings", "laws", "limits", "report", "runs", "verdicts"]

NAMES = {"log_sobolev_paper": "paper's bound", "log_sobolev": "log-Sobolev", "shift": "shift"}


def report(result: dict[str, Any], folder: Path) -> str:
    """Draw unlearn_or_retrain.png, write every table as Markdown, and return them."""
    save(draw(result), folder / "unlearn_or_retrain.png")
    tables = {
        "verdicts": verdicts(result),
        "crossings": crossings(result),
        "laws": laws(result),
        "limits": limits(result),
        "runs": runs(result),
    }
    for name, table in tables.items():
        (folder / f"{name}.md").write_text(table + "\n")
    return "\n\n".join(tables.values())


def verdicts(result: dict[str, Any]) -> str:
    lines = ["| the paper says | found | verdict |", "|---|---|---|"]
    lines += [f"| {r['claim']} | {r['found']} | {r['verdict']} |" for r in result["verdicts"]]
    return "\n".join(lines)


def crossings(result: dict[str, Any]) -> str:
    """The stretch of T in which retraining is cheaper, for D_2 <= level."""
    settings = result["settings"]
    heads = [f"K > T: {name}" for name in NAMES.values()]
    lines = [
        "| sigma | n_f/n_priv | D_2 <= | n_pub/n_priv | " + " | ".join(heads)
        + " | K, converged: paper's | shift |",
        "|---:|---:|---:|---:" + "|---:" * 5 + "|",
    ]  # fmt: skip
    found = {
        (r["sigma"], r["fraction"], r["level"], r["ratio"], r["bound"]): r
        for r in result["costs"]
        if r["target"] == "renyi"
    }
    for sigma in settings["sigmas"]:
        for fraction in settings["fractions"]:
            for level in settings["levels"]:
                for ratio in settings["ratios"]:
                    rows = [found[sigma, fraction, level, ratio, bound] for bound in NAMES]
                    stretches = " | ".join(_stretch(row["dearer"]) for row in rows)
                    lines.append(
                        f"| {sigma:g} | {fraction:g} | {level:g} | {ratio:g} | {stretches} "
                        f"| {rows[0]['steps'][-1]:,} | {rows[-1]['steps'][-1]:,} |"
                    )
    return "\n".join(lines)


def laws(result: dict[str, Any]) -> str:
    """Exponents of n_pub/n_priv + 1 with K <= T."""
    settings = result["settings"]
    rate = settings["ridge"] / (0.25 + settings["ridge"]) / (2 * settings["order"])
    printed = {
        "T, small": f"{rate * settings['slow_step']:.1g}",
        "T, middle": f"{rate:.1g}",
        "epsilon, of D_2": "-0.5",
        "epsilon, at delta": "-0.5",
        "n_f/n_priv": "1",
    }
    lines = [
        "| bound | factor | from | to | printed | fitted | between neighbours |",
        "|---|---|---:|---:|---:|---:|---:|",
    ]
    for row in result["exponents"]:
        low, high = row["range"]
        lines.append(
            f"| {NAMES[row['bound']]} | {row['of']} | {row['from']:g} | {row['to']:g} "
            f"| {printed[row['of']]} | {row['exponent']:.3f} | {low:.3f} to {high:.3f} |"
        )
    return "\n".join(lines)


def limits(result: dict[str, Any]) -> str:
    """K of a converged model against n."""
    totals = result["settings"]["totals"]
    lines = [
        "| fixed | bound | " + " | ".join(f"n = {total:,}" for total in totals) + " |",
        "|---|---|" + "---:|" * len(totals),
    ]
    found: dict[tuple[str, str], list[int]] = {}
    for row in result["limits"]:
        found.setdefault((row["fixed"], row["bound"]), []).append(row["steps"])
    for (fixed, bound), steps in found.items():
        lines.append(f"| {fixed} | {NAMES[bound]} | " + " | ".join(f"{k:,}" for k in steps) + " |")
    return "\n".join(lines)


def runs(result: dict[str, Any]) -> str:
    """What the paper's own runs would need to be certified to D_2 <= 1."""
    lines = [
        "| public | forgotten | T | D_2 at K = 15 | K for D_2 <= 1 | public records for K <= T |",
        "|---:|---:|---:|---:|---:|---:|",
    ]
    for row in result["runs"]:
        lines.append(
            f"| {row['public']:,} | {row['forgotten']:,} | {row['learn_steps']} "
            f"| {row['divergence']:.3g} | {row['steps']:,} | {row['public_needed']:,} |"
        )
    return "\n".join(lines)


def _stretch(dearer: list[int] | None) -> str:
    return "never" if dearer is None else f"{dearer[0]:,} to {dearer[1]:,}"


@styled
def draw(result: dict[str, Any]) -> Figure:
    figure = Figure(figsize=(11.5, 5), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    _costs(left, result)
    _ratios(middle, result)
    _limits(right, result)
    for axes in (left, middle, right):
        tidy(axes)
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16))
    return figure


def _costs(axes: Axes, result: dict[str, Any]) -> None:
    settings = result["settings"]
    t = settings["learn_steps"]
    fraction = 0.1 if 0.1 in settings["fractions"] else settings["fractions"][0]
    sigma = settings["sigmas"][0]
    axes.plot(t, t, color=SOFT, lw=1, label="K = T: retraining")
    for place, ratio in enumerate(settings["ratios"]):
        for bound, style in (("log_sobolev_paper", ":"), ("shift", "-")):
            (row,) = [
                r
                for r in result["costs"]
                if (r["sigma"], r["fraction"], r["ratio"]) == (sigma, fraction, ratio)
                and (r["target"], r["level"], r["bound"]) == ("renyi", 1.0, bound)
            ]
            line = series(place) | {"ls": style, "markevery": 5, "ms": 4}
            label = f"{ratio:g} public for each private" if style == "-" else None
            if label and not any(row["steps"]):
                label += ": K = 0"
            axes.plot(t, row["steps"], label=label, **line)
    axes.set_xscale("log")
    axes.set_yscale("symlog", linthresh=1)
    axes.set_ylim(bottom=-0.1)
    axes.set_title(
        f"Steps for D_2 <= 1, {fraction:.0%} forgotten, sigma = {sigma:g}\n"
        "dotted: the paper's bound, solid: ours"
    )
    axes.set_xlabel("learning steps T")
    axes.set_ylabel("unlearning steps K")


def _ratios(axes: Axes, result: dict[str, Any]) -> None:
    settings = result["settings"]
    rows = [r for r in result["ratios"] if r["sigma"] == settings["law_sigma"]]
    t = [row["learn_steps"] for row in rows]
    curves = {
        "printed": ("as printed, T^b", SOFT, "--", ""),
        "small": ("corrected, T^(1/2)", COLOURS["green"], ":", ""),
        "log_sobolev_paper": ("paper's bound", COLOURS["vermilion"], "-", "s"),
        "log_sobolev": ("log-Sobolev", COLOURS["orange"], "-", "^"),
        "shift": ("shift, exact on quadratics", COLOURS["blue"], "-", "o"),
    }
    for key, (label, colour, style, marker) in curves.items():
        line = {"ls": style, "color": colour, "marker": marker, "ms": 4, "markevery": 4}
        axes.loglog(t, [1 + row[key] for row in rows], label=label, **line)
    axes.set_title(
        f"Public data that makes K <= T, {settings['law_fraction']:.0%} forgotten,\n"
        f"sigma = {settings['law_sigma']:g}"
    )
    axes.set_xlabel("learning steps T")
    axes.set_ylabel("n_pub / n_priv + 1")


def _limits(axes: Axes, result: dict[str, Any]) -> None:
    totals = result["settings"]["totals"]
    curves = {
        "from scratch": ("from scratch, D_2", SOFT, "x"),
        "n_f/n, delta = 1/n": ("n_f/n fixed, (1, 1/n)", COLOURS["orange"], "^"),
        "n_f/n": ("n_f/n fixed, D_2", COLOURS["vermilion"], "s"),
        "n_f": ("n_f fixed, D_2", COLOURS["blue"], "o"),
    }
    for fixed, (label, colour, marker) in curves.items():
        steps = [
            r["steps"] for r in result["limits"] if (r["fixed"], r["bound"]) == (fixed, "shift")
        ]
        axes.semilogx(totals, steps, marker=marker, ms=4, color=colour, label=label)
    axes.set_ylim(bottom=0)
    sigma = result["settings"]["limit_sigma"]
    axes.set_title(f"Converged models, our bound, sigma = {sigma:g}")
    axes.set_xlabel("records n")
    axes.set_ylabel("unlearning steps K")
