"""A plan's trade-off as a figure: required sigma over the forget fraction, K over epsilon.

Draws from the JSON of `expunge.accounting.trade_offs`; knows no model and computes nothing.
"""

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from expunge.report.picture import encode

__all__ = ["draw"]

COLOURS = ("#b2182b", "#ef8a62", "#67a9cf", "#2166ac", "#053061")


def draw(curves: dict[str, Any], kind: str = "png") -> bytes:
    """Draw the required sigma over the forget fraction, and the price over epsilon.

    Args:
        kind: png, svg or pdf.
    """
    figure = Figure(figsize=(10, 4.2), layout="constrained")
    noise, price = figure.subplots(1, 2)
    shares = [100 * fraction for fraction in curves["fractions"]]
    for colour, curve in zip(COLOURS, curves["curves"], strict=False):
        label = f"{curve['public']:,} public records"
        noise.plot(shares, _gaps(curve["sigma"]), color=colour, label=label, lw=2)
        price.semilogx(curves["epsilons"], _gaps(curve["price"]), color=colour, lw=2)
    for axes, name in ((noise, "sigma"), (price, "price")):
        if any(value for curve in curves["curves"] for value in curve[name] if value):
            axes.set_yscale("log")
    noise.set_xlabel("private records to forget (%)")
    noise.set_ylabel("required noise sigma")
    noise.set_title(
        f"epsilon = {curves['epsilon']:g}, delta = {curves['delta']:g}, "
        f"{curves['unlearn_steps']:,} unlearning steps",
        fontsize=10,
    )
    noise.legend(frameon=False, fontsize=9)
    price.set_xlabel("epsilon")
    forget = f"forget {curves['forget']:,} of {curves['private']:,}"
    if curves["price"] == "unlearn_steps":
        _retraining_line(price, curves["learn_steps"])
        price.set_ylabel("unlearning steps K")
        price.set_title(f"{forget}, sigma = {curves['sigma']:.3g}", fontsize=10)
    else:
        price.set_ylabel("required noise sigma")
        price.set_title(f"{forget}, learned model released", fontsize=10)
    for axes in (noise, price):
        axes.grid(alpha=0.25, which="both", lw=0.5)
        axes.spines[["top", "right"]].set_visible(False)
    return encode(figure, kind)


def _retraining_line(axes: Axes, learn_steps: int) -> None:
    axes.axhline(learn_steps, color="0.6", ls=":", lw=1)
    axes.text(
        0.01,
        learn_steps,
        "retraining",
        transform=axes.get_yaxis_transform(),
        color="0.4",
        fontsize=8,
        va="top",
        ha="left",
    )
    axes.set_yscale("symlog", linthresh=1)
    axes.set_ylim(bottom=0)


def _gaps(values: list[float | None]) -> list[float]:
    return [float("nan") if value is None else value for value in values]
