"""Three pictures: every strategy, observer `all` with and without public data, and growth."""

from collections.abc import Iterable
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from expunge.report.picture import COLOURS, SOFT, legend_below, percent_of, series, styled, tidy

__all__ = ["draw_frontier", "draw_growth", "draw_public"]

Row = dict[str, Any]
GREY = SOFT
STRATEGIES = {  # (strategy, is K = 1): label, colour, marker
    ("auto", False): ("auto (takes residual)", COLOURS["green"], "o"),
    ("noise_first", False): ("noise_first, K > 1", COLOURS["blue"], "s"),
    ("langevin", False): ("langevin, K > 1", COLOURS["orange"], "^"),
    ("langevin", True): ("langevin, K = 1", COLOURS["vermilion"], "v"),
}
SHARES = {
    0.0: (COLOURS["vermilion"], "s"),
    0.5: (COLOURS["orange"], "^"),
    0.9: (COLOURS["blue"], "o"),
}
DELETIONS = {share: series(place) for place, share in enumerate((1, 0.01, 0.1, 0.5))}
HOLLOW = {"ls": "-.", "mfc": "white", "ms": 7}  # of models drawn around the public one
PUBLISHED = {"Langevin unlearning": "D", "descend-to-delete": "X"}


@styled
def draw_frontier(result: dict[str, Any]) -> Figure:
    """Observer `final`, no public data: accuracy over epsilon, one column a deletion."""
    figure, grid, tasks, deletions = _panels(result)
    for i, task in enumerate(tasks):
        for j, deletion in enumerate(deletions):
            axes = grid[i][j]
            rows = [
                row
                for row in result["cells"]
                if (row["task"], row["observer"]) == (task, "final")
                and (row["share"], row["deletion"]) == (0.0, deletion)
            ]
            (retrained,) = (row for row in rows if row["strategy"] == "retrain")
            axes.axhline(retrained["accuracy"], color=GREY, ls="--", lw=1, label="retrain")
            for (strategy, single), (label, colour, marker) in STRATEGIES.items():
                some = [
                    row
                    for row in rows
                    if row["strategy"] == strategy and (row.get("unlearn_steps") == 1) == single
                ]
                if some:
                    _line(axes, some, colour, label, marker=marker)
            if i == 0 and deletion == 1:
                _published(axes, result)
    title = "Accuracy that a certificate leaves when only the new model is seen (no public data)"
    return _finished(figure, grid, result, title)


@styled
def draw_public(result: dict[str, Any]) -> Figure:
    """Observer `all`: who also holds the old model forces noise into it; public data pays."""
    figure, grid, tasks, deletions = _panels(result)
    for i, task in enumerate(tasks):
        retrained = [
            row["accuracy"]
            for row in result["cells"]
            if (row["task"], row["strategy"]) == (task, "retrain")
        ]
        only = {
            row["share"]: row["accuracy"]
            for row in result["baselines"]
            if row["task"] == task and row["share"] is not None
        }
        for j, deletion in enumerate(deletions):
            axes = grid[i][j]
            label = "retrain: exposes the deleted"
            axes.axhline(max(retrained), color=GREY, ls="--", lw=1, label=label)
            for share, (colour, _) in SHARES.items():
                _shares(axes, result, (task, deletion, share))
                if share in only:
                    label = f"public records only ({percent_of(share)})"
                    axes.axhline(only[share], color=colour, ls=":", lw=1.2, label=label)
    title = "Accuracy that joint certificates leave to whoever holds the old model too"
    return _finished(figure, grid, result, title)


@styled
def draw_growth(result: dict[str, Any]) -> Figure:
    """Accuracy of `langevin` for a fixed private set as public records are added."""
    rows = [row for row in result["growth"] if row["observer"] == "all"]
    epsilons = list(dict.fromkeys(row["epsilon"] for row in rows))
    figure = Figure(figsize=(1 + 4.2 * len(epsilons), 5), layout="constrained")
    grid = figure.subplots(1, len(epsilons), sharey=True, squeeze=False)[0]
    counts = list(dict.fromkeys(row["public"] for row in rows))
    for axes, epsilon in zip(grid, epsilons, strict=True):
        some = [row for row in rows if row["epsilon"] == epsilon]
        first = {row["public"]: row for row in some}
        spots = range(len(counts))
        clean = [first[count]["without_noise"] for count in counts]
        axes.plot(spots, clean, "--", color=GREY, lw=1, label="langevin without noise")
        only = [first[count]["public_only"] for count in counts if count]
        axes.plot(spots[-len(only) :], only, ":", color=GREY, lw=1.5, label="public records only")
        for deletion in dict.fromkeys(row["deletion"] for row in some):
            for strategy, hollow in (("langevin", {}), ("langevin_center", HOLLOW)):
                picked = [
                    row
                    for row in some
                    if (row["deletion"], row["strategy"]) == (deletion, strategy)
                ]
                label = _growth_label(strategy, deletion)
                at = [counts.index(row["public"]) for row in picked]
                style = DELETIONS.get(deletion, series(4)) | {"ls": "-"} | hollow
                _bars(axes, at, picked, label=label, **style)
        axes.set_xticks(list(spots), [f"{count:,}" for count in counts])
        axes.set_title(f"epsilon = {epsilon:g}")
        axes.set_xlabel(f"public records beside {rows[0]['private']:,} private ones")
        tidy(axes)
    grid[0].set_ylabel("test accuracy (%)")
    runs = {row["runs"] for row in rows if "runs" in row}
    told = f" of {max(runs)} runs" if runs else ""
    legend_below(figure, 4, f"share of private records deleted; bars: two standard errors{told}")
    title = f"More public data, less noise ({_data(result)}, old model released too)"
    figure.suptitle(title)
    return figure


def _growth_label(strategy: str, deletion: int | float) -> str:
    what = "1 record" if deletion == 1 else percent_of(deletion)
    return f"langevin, {what}" if strategy == "langevin" else f"around public, {what}"


def _shares(axes: Axes, result: dict[str, Any], place: tuple[str, int | float, float]) -> None:
    colour, marker = SHARES[place[2]]
    for strategy, hollow, name in (
        ("langevin", {}, "langevin"),
        ("langevin_center", HOLLOW, "around public"),
    ):
        some = [
            row
            for row in result["cells"]
            if (row["task"], row["deletion"], row["share"]) == place
            and (row["observer"], row["strategy"]) == ("all", strategy)
        ]
        if some:
            label = f"{name}, {percent_of(place[2])} public"
            _line(axes, some, colour, label, marker=marker, **hollow)


def _published(axes: Axes, result: dict[str, Any]) -> None:
    ours = [row for row in result["comparison"] if row["rows"] == "norm 1"]
    label = f"langevin, K = 1, T = {ours[0]['learn_steps']:,}"
    _line(axes, ours, COLOURS["purple"], label, ls="none", marker="*", ms=9)
    for method, marker in PUBLISHED.items() if _data(result) == "MNIST" else ():
        rows = [row for row in result["published"] if row["method"] == method]
        axes.plot(
            [row["epsilon"] for row in rows],
            [row["accuracy"] for row in rows],
            marker,
            color="black",
            mfc="none",
            ms=6,
            label=f"published: {method}, K = 1",
        )


def _panels(result: dict[str, Any]) -> tuple[Figure, Any, list[str], list[int | float]]:
    tasks = [task["name"] for task in result["settings"]["tasks"]]
    deletions = result["settings"]["deletions"]
    figure = Figure(
        figsize=(2.5 * len(deletions) + 0.8, 2.9 * len(tasks) + 1.4), layout="constrained"
    )
    grid = figure.subplots(len(tasks), len(deletions), sharex=True, sharey=True, squeeze=False)
    for i, task in enumerate(tasks):
        grid[i][0].set_ylabel(f"{task}\ntest accuracy (%)")
    for j, deletion in enumerate(deletions):
        what = "1 record" if deletion == 1 else f"{percent_of(deletion)} of the private"
        grid[0][j].set_title(f"forget {what}")
        grid[-1][j].set_xlabel("certified epsilon")
    return figure, grid, tasks, deletions


def _finished(figure: Figure, grid: Any, result: dict[str, Any], title: str) -> Figure:
    for axes in grid.flat:
        axes.set_xscale("log")
        axes.set_xticks(result["settings"]["epsilons"])
        axes.set_xticklabels([f"{e:g}" for e in result["settings"]["epsilons"]])
        axes.minorticks_off()
        tidy(axes)
    legend_below(figure, 4, _small_print(result))
    figure.suptitle(f"{title}: {_data(result)}, delta = 1/n")
    return figure


def _small_print(result: dict[str, Any]) -> str:
    """What differs between the curves besides their strategy."""
    settings = result["settings"]
    descent = [row for row in result["cells"] if row["strategy"] == "langevin"]
    lengths = {
        row["task"]: (row["learn_steps"], max(row["unlearn_steps"], 1), row["runs"])
        for row in sorted(descent, key=lambda row: row["unlearn_steps"])
    }
    told = "; ".join(
        f"{task}: T = {steps:,}, K = {k:,}, {runs} runs"
        for task, (steps, k, runs) in lengths.items()
    )
    return (
        f"lambda = {settings['exact_ridge']:g} for auto and retrain, {settings['ridge']:g} for "
        f"descent, which reaches less without any noise;\n{told}; bars: two standard errors"
    )


def _line(axes: Axes, rows: Iterable[Row], colour: str, label: str, **style: Any) -> None:
    rows = sorted(rows, key=lambda row: row["epsilon"])
    _bars(axes, [row["epsilon"] for row in rows], rows, colour, label, **style)


def _bars(axes: Axes, at: list[Any], rows: list[Row], color: Any, label: str, **style: Any) -> None:
    """Means with two standard errors."""
    style = {"ls": "-", "marker": "o", "ms": 5, "lw": 1.5} | style
    axes.errorbar(
        at,
        [row["accuracy"] for row in rows],
        yerr=[2 * (row["standard_error"] or 0.0) for row in rows],
        color=color,
        label=label,
        **style,
    )


def _data(result: dict[str, Any]) -> str:
    return str(result["data"][0]["source"])
