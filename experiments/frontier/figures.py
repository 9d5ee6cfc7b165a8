"""Three pictures: every strategy, observer `all` with and without public data, and growth."""

from collections.abc import Iterable
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

__all__ = ["draw_frontier", "draw_growth", "draw_public"]

Row = dict[str, Any]
GREY = "#555555"
STRATEGIES = {  # (strategy, is K = 1): label, colour, marker
    ("auto", False): ("auto (takes residual)", "#1b7837", "o"),
    ("noise_first", False): ("noise_first, K = {k}", "#4393c3", "s"),
    ("langevin", False): ("langevin, K = {k}", "#f4a582", "^"),
    ("langevin", True): ("langevin, K = 1", "#b2182b", "v"),
}
SHARES = {0.0: "#b2182b", 0.5: "#ef8a62", 0.9: "#2166ac"}
DELETIONS = {1: "#1b7837", 0.01: "#762a83", 0.1: "#e08214", 0.5: "#b2182b"}
PUBLISHED = {"Langevin unlearning": "D", "descend-to-delete": "X"}


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
                    name = label.format(k=some[0].get("unlearn_steps"))
                    _line(axes, some, colour, name, marker=marker)
            if i == 0 and deletion == 1:
                _published(axes, result)
    title = "Accuracy that a certificate leaves when only the new model is seen (no public data)"
    return _finished(figure, grid, result, title)


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
            for share, colour in SHARES.items():
                _shares(axes, result, (task, deletion, share), colour)
                if share in only:
                    label = f"public records only ({share:.0%})"
                    axes.axhline(only[share], color=colour, ls=":", lw=1.2, label=label)
    title = "Accuracy that joint certificates leave when the old model is out there too"
    return _finished(figure, grid, result, title)


def draw_growth(result: dict[str, Any]) -> Figure:
    """Accuracy of `langevin` for a fixed private set as public records are added."""
    rows = [row for row in result["growth"] if row["observer"] == "all"]
    epsilons = list(dict.fromkeys(row["epsilon"] for row in rows))
    figure = Figure(figsize=(4 + 4 * len(epsilons), 4.8), layout="constrained")
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
            for strategy, style in (("langevin", "-"), ("langevin_center", "-.")):
                picked = [
                    row
                    for row in some
                    if (row["deletion"], row["strategy"]) == (deletion, strategy)
                ]
                label = _growth_label(strategy, deletion)
                at = [counts.index(row["public"]) for row in picked]
                _bars(axes, at, picked, DELETIONS.get(deletion), label, ls=style)
        axes.set_xticks(list(spots), [f"{count:,}" for count in counts])
        axes.set_title(f"epsilon = {epsilon:g}", fontsize=10)
        axes.set_xlabel(f"public records beside {rows[0]['private']:,} private ones")
        _plain(axes)
    grid[0].set_ylabel("test accuracy (%)")
    figure.legend(
        *grid[0].get_legend_handles_labels(),
        loc="outside lower center",
        ncols=4,
        frameon=False,
        fontsize=8,
    )
    title = f"More public data, less noise ({_data(result)}, old model released too)"
    figure.suptitle(title, fontsize=12)
    return figure


def _growth_label(strategy: str, deletion: int | float) -> str:
    what = "1 record" if deletion == 1 else f"{deletion:.0%}"
    return f"langevin, {what}" if strategy == "langevin" else f"around public, {what}"


def _shares(
    axes: Axes, result: dict[str, Any], place: tuple[str, int | float, float], colour: str
) -> None:
    for strategy, style, name in (
        ("langevin", "-", "langevin"),
        ("langevin_center", "-.", "around public"),
    ):
        some = [
            row
            for row in result["cells"]
            if (row["task"], row["deletion"], row["share"]) == place
            and (row["observer"], row["strategy"]) == ("all", strategy)
        ]
        if some:
            _line(axes, some, colour, f"{name}, {place[2]:.0%} public", ls=style)


def _published(axes: Axes, result: dict[str, Any]) -> None:
    ours = [row for row in result["comparison"] if row["rows"] == "norm 1"]
    label = f"langevin, K = 1, T = {ours[0]['learn_steps']:,}"
    _line(axes, ours, "#67001f", label, ls="none", marker="*", ms=8)
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
    figure = Figure(figsize=(3.1 * len(deletions), 3.0 * len(tasks) + 1.2), layout="constrained")
    grid = figure.subplots(len(tasks), len(deletions), sharex=True, sharey="row", squeeze=False)
    for i, task in enumerate(tasks):
        grid[i][0].set_ylabel(f"{task}\ntest accuracy (%)")
    for j, deletion in enumerate(deletions):
        what = "1 record" if deletion == 1 else f"{deletion:.0%} of the private records"
        grid[0][j].set_title(f"forget {what}", fontsize=10)
        grid[-1][j].set_xlabel("certified epsilon")
    return figure, grid, tasks, deletions


def _finished(figure: Figure, grid: Any, result: dict[str, Any], title: str) -> Figure:
    labels: dict[str, Any] = {}
    for axes in grid.flat:
        axes.set_xscale("log")
        axes.set_xticks(result["settings"]["epsilons"])
        axes.set_xticklabels([f"{e:g}" for e in result["settings"]["epsilons"]], fontsize=8)
        axes.minorticks_off()
        _plain(axes)
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            labels.setdefault(label, handle)
    figure.legend(
        labels.values(),
        labels.keys(),
        loc="outside lower center",
        ncols=4,
        frameon=False,
        fontsize=8,
    )
    figure.suptitle(f"{title}: {_data(result)}, delta = 1/n", fontsize=12)
    figure.supxlabel(_small_print(result), fontsize=8, color=GREY)
    return figure


def _small_print(result: dict[str, Any]) -> str:
    """What differs between the curves besides their strategy."""
    settings = result["settings"]
    descent = [row for row in result["cells"] if row["strategy"] == "langevin"]
    lengths = {row["task"]: (row["learn_steps"], row["runs"]) for row in descent}
    told = "; ".join(
        f"{task}: T = {steps:,}, {runs} runs" for task, (steps, runs) in lengths.items()
    )
    return (
        f"lambda = {settings['exact_ridge']:g} for auto and retrain, {settings['ridge']:g} for "
        f"descent, which reaches less without any noise; {told}; bars: two standard errors"
    )


def _line(axes: Axes, rows: Iterable[Row], colour: str, label: str, **style: Any) -> None:
    rows = sorted(rows, key=lambda row: row["epsilon"])
    _bars(axes, [row["epsilon"] for row in rows], rows, colour, label, **style)


def _bars(
    axes: Axes, at: list[Any], rows: list[Row], colour: str | None, label: str, **style: Any
) -> None:
    """Means with two standard errors."""
    style = {"ls": "-", "marker": "o", "ms": 4, "lw": 1.5} | style
    axes.errorbar(
        at,
        [row["accuracy"] for row in rows],
        yerr=[2 * (row["standard_error"] or 0.0) for row in rows],
        color=colour,
        label=label,
        capsize=2,
        **style,
    )


def _plain(axes: Axes) -> None:
    axes.grid(alpha=0.25, lw=0.5)
    axes.spines[["top", "right"]].set_visible(False)


def _data(result: dict[str, Any]) -> str:
    return str(result["data"][0]["source"])
