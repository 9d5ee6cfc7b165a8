"""What each strategy costs, in passes over the records; a dotted line is retraining."""

from typing import Any

from matplotlib.figure import Figure

from expunge.report.picture import COLOURS, SOFT, encode, plain, styled, tidy

__all__ = ["draw", "possible"]


def possible(strategies: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The strategies of a plan that can be taken, and whose cost is known: what is drawn."""
    return [s for s in strategies if not s["excluded"] and s["steps"] is not None]


@styled
def draw(
    strategies: list[dict[str, Any]], taken: str, kind: str = "svg", *, narrow: bool = False
) -> bytes:
    """Draw what each strategy of a plan costs; the one that was taken is full.

    Args:
        strategies: Of a plan, as JSON.
        taken: Name of the strategy that was taken.
        narrow: For a telephone.
    """
    able = possible(strategies)
    size = (4.2 if narrow else 6.4, 0.9 + 0.45 * max(len(able), 1))
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots()
    retraining = next((s["steps"] for s in able if s["name"] == "retrain"), None)
    for place, strategy in enumerate(reversed(able)):
        full = strategy["name"] == taken
        axes.barh(
            place, strategy["steps"], height=0.62, edgecolor=COLOURS["blue"], linewidth=1.2,
            color=COLOURS["blue"] if full else "none",
        )  # fmt: skip
        at = (strategy["steps"], place)
        axes.annotate(f"{strategy['steps']:,}", at, (5, 0), textcoords="offset points", va="center")
    if retraining is not None:
        axes.axvline(retraining, color=SOFT, ls=":", lw=1.2, zorder=0)
    names = [plain(s["name"]) + ("\n(taken)" if s["name"] == taken else "") for s in able]
    axes.set_yticks(range(len(able)), names[::-1])
    axes.set_xlabel("passes over the records, typical of solvers\n(dotted: retraining)")
    axes.set_xlim(0, 1.2 * max((s["steps"] for s in able), default=1) or 1)
    tidy(axes, "x")
    return encode(figure, kind)
