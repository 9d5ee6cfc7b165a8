"""What each strategy costs, in passes over the records; a dotted line is retraining."""

from typing import Any

from matplotlib.figure import Figure

from expunge.report.picture import encode, plain

__all__ = ["draw"]


def draw(strategies: list[dict[str, Any]], taken: str, kind: str = "svg") -> bytes:
    """Draw what each strategy of a plan costs, with the one that was taken in a darker colour.

    Args:
        strategies: Of a plan, as JSON.
        taken: Name of the strategy that was taken.
    """
    able = [s for s in strategies if not s["excluded"] and s["steps"] is not None]
    figure = Figure(figsize=(5.6, 0.9 + 0.5 * max(len(able), 1)), layout="constrained")
    axes = figure.subplots()
    retraining = next((s["steps"] for s in able if s["name"] == "retrain"), None)
    for place, strategy in enumerate(reversed(able)):
        colour = "#2166ac" if strategy["name"] == taken else "#c6dbef"
        axes.barh(place, strategy["steps"], color=colour, height=0.62)
        label = f" {strategy['steps']:,} passes"
        axes.text(strategy["steps"], place, label, va="center", fontsize=8, color="0.3")
    if retraining is not None:
        axes.axvline(retraining, color="0.5", ls=":", lw=1)
    axes.set_yticks(range(len(able)), [plain(s["name"]) for s in reversed(able)], fontsize=9)
    axes.set_xlabel("passes over the records (typical for solvers)")
    axes.margins(x=0.22)
    axes.spines[["top", "right"]].set_visible(False)
    return encode(figure, kind)
