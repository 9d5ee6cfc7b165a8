"""The figure and the table of networks, from the JSON alone."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from expunge.report.picture import COLOURS, INK, SOFT, legend_below, save, styled, tidy

__all__ = [
    "Mean",
    "cell",
    "chosen",
    "costs",
    "counted",
    "decision",
    "gains",
    "report",
    "table",
    "verdict",
]

CERTIFIED = (
    "head",
    "head, public layer",
    "head+finetune",
    "langevin",
    "gradient clipping",
    "model clipping",
    "hybrid",
)
MARKS = {  # colour and marker
    "scratch": (INK, "x"),
    "warm start": (COLOURS["green"], "+"),
    "head": (COLOURS["vermilion"], "o"),
    "head, public layer": (COLOURS["brown"], "s"),
    "head+finetune": (COLOURS["blue"], "D"),
    "langevin": (COLOURS["orange"], "^"),
    "gradient clipping": (COLOURS["purple"], "v"),
    "model clipping": (COLOURS["sky"], "P"),
    "hybrid": (COLOURS["grey"], "p"),
}
ROWS = {
    "head": "`head`",
    "head, public layer": "`head` on the public start's hidden layer",
    "head+finetune": "`head+finetune`",
    "warm start": "`retrain`, public start",
    "scratch": "`retrain`, scratch",
    "gradient clipping": "`clipped`, gradient clipping",
    "model clipping": "`clipped`, model clipping",
    "hybrid": "`clipped`, hybrid",
}
NAMES = {
    "mnist/mnist": "MNIST 784-64-10 (public: other MNIST)",
    "amazon/imdb": "IMDB, MiniLM 384-256-2 (public: Amazon)",
    "photo/art_painting": "PACS art_painting, EfficientNet 384-256-7 (public: photo)",
}


@dataclass(frozen=True)
class Mean:
    """The mean of a number over seeds.

    Args:
        error: Standard error; None for a single seed.
    """

    value: float
    error: float | None
    count: int

    @classmethod
    def of(cls, values: Sequence[float]) -> "Mean":
        error = stdev(values) / math.sqrt(len(values)) if len(values) > 1 else None
        return cls(fmean(values), error, len(values))

    def __str__(self) -> str:
        error = "" if self.error is None else f" ({self.error:.4f})"
        return f"{self.value:.4f}{error}"


def report(result: dict[str, Any], folder: Path) -> str:
    """Draw networks.png, write networks.md and decision.md, and return both."""
    save(draw(result), folder / "networks.png")
    written = "\n\n".join([*(table(result, share) for share in _shares(result)), verdict(result)])
    (folder / "networks.md").write_text(written + "\n")
    (folder / "decision.md").write_text(decision(result) + "\n")
    return f"{written}\n\n{decision(result)}"


def decision(result: dict[str, Any]) -> str:
    """Accuracy at the first share, its placebo's in brackets: what the documentation shows."""
    pairs, share = result["settings"]["pairs"], _shares(result)[0]
    lines = [
        f"| {100 * share:g} % deleted | {' | '.join(NAMES.get(str(p), str(p)) for p in pairs)} |",
        "|---|" + "---:|" * len(pairs),
    ]
    full = [
        f"{_mean(result, p, share, 'scratch', 1.0, 'exact')} ({chosen(result, p)['epochs']} epochs)"
        for p in pairs
    ]
    lines.append(f"| retrained in full, from scratch | {' | '.join(full)} |")
    for strategy in CERTIFIED[:2]:
        told = " | ".join(_within(result, p, share, strategy) for p in pairs)
        lines.append(f"| {ROWS[strategy]} | {told} |")
    for budget in result["settings"]["budgets"]:
        for strategy in ("head+finetune", "warm start", "scratch", *CERTIFIED[4:]):
            told = " | ".join(_told(result, p, share, strategy, budget) for p in pairs)
            lines.append(f"| {ROWS[strategy]}, {100 * budget:g} % | {told} |")
        told = " | ".join(_within(result, p, share, "langevin", budget) for p in pairs)
        lines.append(f"| `langevin`, at most {100 * budget:g} % | {told} |")
    return "\n".join(lines)


def _within(
    result: dict[str, Any], pair: str, share: float, strategy: str, budget: float = math.inf
) -> str:
    """At the largest cost that was run and is no larger, and what was really spent."""
    found = [cost for cost in costs(result, pair, share, strategy) if cost <= budget * (1 + 1e-6)]
    if not found:
        return "-"
    spent = counted(result, pair, share, strategy, found[-1])
    return f"{_told(result, pair, share, strategy, found[-1])} at {100 * spent:.2g} %"


def counted(result: dict[str, Any], pair: str, share: float, strategy: str, cost: float) -> float:
    """What certified requests of this budget spent, the mean over seeds."""
    rows = _certified(result, pair, share, strategy, cost)
    return fmean(row["counted"] for row in rows)


def _told(result: dict[str, Any], pair: str, share: float, strategy: str, cost: float) -> str:
    if strategy not in CERTIFIED:
        return _mean(result, pair, share, strategy, cost, "exact")
    arms = [_mean(result, pair, share, strategy, cost, arm) for arm in ("certified", "placebo")]
    return "-" if "-" in arms else f"{arms[0]} [{arms[1]}]"


def _mean(
    result: dict[str, Any], pair: str, share: float, strategy: str, cost: float, arm: str
) -> str:
    found = cell(result, pair, share, strategy, cost, arm)
    return f"{fmean(found.values()):.4f}" if found else "-"


def chosen(result: dict[str, Any], pair: str) -> dict[str, Any]:
    """Epochs of retraining in full, as public records chose them."""
    rows = [row for row in result["full"] if row["pair"] == pair]
    return max(rows, key=lambda row: row["accuracy"])


def cell(
    result: dict[str, Any], pair: str, share: float, strategy: str, cost: float, arm: str
) -> dict[int, float]:
    """Accuracy by seed; empty where there is none at this cost."""
    return {
        row["seed"]: row["accuracy"]
        for row in result["rows"]
        if (row["pair"], row["share"], row["strategy"], row["arm"]) == (pair, share, strategy, arm)
        and math.isclose(row["cost"], cost, rel_tol=1e-6)
    }


def costs(result: dict[str, Any], pair: str, share: float, strategy: str) -> list[float]:
    found = {
        round(row["cost"], 9)
        for row in result["rows"]
        if (row["pair"], row["share"], row["strategy"]) == (pair, share, strategy)
    }
    return sorted(found)


def table(result: dict[str, Any], share: float) -> str:
    """Accuracies after one share's deletion; standard errors over seeds in brackets."""
    lines = [
        f"**{100 * share:g} % of the private records deleted**",
        "",
        "| data | strategy | epsilon | spent, % of retraining | budget, % | accuracy | placebo "
        "| over its placebo | warm start, same budget | scratch, same budget | seeds |",
        "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for pair in result["settings"]["pairs"]:
        full = Mean.of(list(cell(result, pair, share, "scratch", 1.0, "exact").values()))
        name = NAMES.get(str(pair), str(pair))
        how = chosen(result, pair)
        lines.append(
            f"| {name} | retrained in full ({how['epochs']} epochs) | 0 | 100 | 100 "
            f"| {full} | - | - | - | - | {full.count} |"
        )
        for strategy in CERTIFIED:
            for cost in costs(result, pair, share, strategy):
                lines.append(_line(result, name, pair, share, strategy, cost))
    return "\n".join(lines)


def _line(
    result: dict[str, Any], name: str, pair: str, share: float, strategy: str, cost: float
) -> str:
    ours = cell(result, pair, share, strategy, cost, "certified")
    placebo = cell(result, pair, share, strategy, cost, "placebo")
    gain = Mean.of([ours[seed] - placebo[seed] for seed in ours])
    others = []
    for exact in ("warm start", "scratch"):
        found = list(cell(result, pair, share, exact, cost, "exact").values())
        others.append(str(Mean.of(found)) if found else "-")
    return (
        f"| {name} | {strategy} | {_epsilon(result, pair, share, strategy, cost)} "
        f"| {100 * counted(result, pair, share, strategy, cost):.2g} | {100 * cost:.2g} "
        f"| {Mean.of(list(ours.values()))} "
        f"| {Mean.of(list(placebo.values()))} | {_signed(gain)} | {' | '.join(others)} "
        f"| {gain.count} |"
    )


def _epsilon(result: dict[str, Any], pair: str, share: float, strategy: str, cost: float) -> str:
    found = [row["epsilon"] for row in _certified(result, pair, share, strategy, cost)]
    return "vacuous" if None in found else f"{max(found):.2f}"


def _certified(
    result: dict[str, Any], pair: str, share: float, strategy: str, cost: float
) -> list[dict[str, Any]]:
    wanted = pair, share, strategy, "certified"
    return [
        row
        for row in result["rows"]
        if (row["pair"], row["share"], row["strategy"], row["arm"]) == wanted
        and math.isclose(row["cost"], cost, rel_tol=1e-6)
    ]


def _signed(gain: Mean) -> str:
    error = "" if gain.error is None else f" ({gain.error:.4f})"
    return f"{gain.value:+.4f}{error}"


def verdict(result: dict[str, Any]) -> str:
    """What certificates bought over exact deletions of the same cost, all settings together."""
    lines = [
        "| strategy | over its placebo | paired settings "
        "| over the better of warm start and scratch at the same cost | paired settings |",
        "|---|---:|---:|---:|---:|",
    ]
    for strategy in CERTIFIED:
        over_placebo, over_exact = gains(result, strategy)
        told = [
            f"{_signed(Mean.of(found))} | {len(found)}" if found else "- | 0"
            for found in (over_placebo, over_exact)
        ]
        lines.append(f"| {strategy} | {' | '.join(told)} |")
    return "\n".join(lines)


def gains(result: dict[str, Any], strategy: str) -> tuple[list[float], list[float]]:
    """In accuracy, of every certified network over its placebo, and over exact training."""
    over_placebo, over_exact = [], []
    for row in result["rows"]:
        if (row["strategy"], row["arm"]) == (strategy, "certified"):
            place = result, row["pair"], row["share"]
            placebo = cell(*place, strategy, row["cost"], "placebo")[row["seed"]]
            over_placebo.append(row["accuracy"] - placebo)
            exact = [
                cell(*place, name, row["cost"], "exact").get(row["seed"])
                for name in ("warm start", "scratch")
            ]
            known = [value for value in exact if value is not None]
            if known:
                over_exact.append(row["accuracy"] - max(known))
    return over_placebo, over_exact


@styled
def draw(result: dict[str, Any]) -> Figure:
    pairs = result["settings"]["pairs"]
    figure = Figure(figsize=(3.4 * len(pairs) + 0.5, 4.6), layout="constrained")
    grid = figure.subplots(1, len(pairs), squeeze=False, sharex=True)[0]
    share = _shares(result)[0]
    for axes, pair in zip(grid, pairs, strict=True):
        _panel(axes, result, pair, share)
    grid[0].set_ylabel("accuracy on held-out private records")
    seeds = len({row["seed"] for row in result["rows"]})
    legend_below(figure, 5, f"means of {seeds} seeds at most; bars: standard errors over them")
    figure.suptitle(
        f"{100 * share:g} % deleted, epsilon = {result['settings']['epsilon']:g}: "
        "filled certified, hollow its placebo (epsilon = 0)"
    )
    return figure


def _panel(axes: Axes, result: dict[str, Any], pair: str, share: float) -> None:
    full = Mean.of(list(cell(result, pair, share, "scratch", 1.0, "exact").values()))
    axes.axhline(full.value, color=SOFT, lw=1, ls=":", label="retrained in full")
    for strategy, (colour, marker) in MARKS.items():
        exact = strategy not in CERTIFIED
        for arm in ("exact",) if exact else ("certified", "placebo"):
            points = [
                (100 * cost, Mean.of(list(found.values())))
                for cost in costs(result, pair, share, strategy)
                if (found := cell(result, pair, share, strategy, cost, arm))
            ]
            if points:
                axes.errorbar(
                    [cost for cost, _ in points],
                    [mean.value for _, mean in points],
                    yerr=[mean.error or 0.0 for _, mean in points],
                    color=colour,
                    marker=marker,
                    ms=9 if arm == "placebo" else 5,
                    mfc="none" if arm == "placebo" else colour,
                    ls="--" if exact else ("none" if arm == "placebo" else "-"),
                    lw=1.2,
                    label=None if arm == "placebo" else strategy,
                )
    axes.set_xscale("log")
    axes.set_xlabel("budget (% of retraining in full)")
    axes.set_title(NAMES.get(pair, pair).replace(" (", "\n("))
    ticks = [1, 3, 10, 30, 100]
    axes.set_xticks(ticks, [str(tick) for tick in ticks])
    axes.set_xticks([], minor=True)
    tidy(axes)


def _shares(result: dict[str, Any]) -> list[float]:
    return list(result["settings"]["shares"])
