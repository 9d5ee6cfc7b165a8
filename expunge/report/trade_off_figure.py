"""A plan's trade-off as a figure: required sigma over the forget fraction, K over epsilon.

Draws from the JSON of `expunge.accounting.trade_offs`; knows no model and computes nothing.
"""

import math
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from expunge.report.picture import SOFT, encode, legend_below, series, styled, tidy

__all__ = ["draw"]


@styled
def draw(curves: dict[str, Any], kind: str = "png", *, narrow: bool = False) -> bytes:
    """Draw the required sigma over the forget fraction, and the price over epsilon.

    Args:
        kind: png, svg or pdf.
        narrow: For a telephone: below each other.
    """
    figure = Figure(figsize=(4.2, 7.4) if narrow else (8, 4.1), layout="constrained")
    noise, price = figure.subplots(*((2, 1) if narrow else (1, 2)))
    shares = [100 * fraction for fraction in curves["fractions"]]
    for place, curve in enumerate(curves["curves"]):
        style = series(place) | {"markevery": 4, "ms": 4}
        label = f"{curve['public']:,} public records"
        noise.plot(shares, _gaps(curve["sigma"]), label=label, **style)
        price.semilogx(curves["epsilons"], _gaps(curve["price"]), **style)
    for axes, name in ((noise, "sigma"), (price, "price")):
        if any(value for curve in curves["curves"] for value in curve[name] if value):
            axes.set_yscale("log")
    noise.set_xlabel("private records to forget (%)")
    noise.set_ylabel("required noise sigma")
    noise.set_title(
        f"epsilon = {curves['epsilon']:g}, delta = {curves['delta']:g},\n"
        f"{curves['unlearn_steps']:,} unlearning steps"
    )
    price.set_xlabel("epsilon")
    low, high = min(curves["epsilons"]), max(curves["epsilons"])
    ticks = [e for e in (0.01, 0.1, 1, 10) if low <= e * (1 + 1e-9) and e <= high * (1 + 1e-9)]
    price.set_xticks(ticks, [f"{e:g}" for e in ticks])
    price.set_xticks([], minor=True)
    forget = f"forget {curves['forget']:,} of {curves['private']:,},"
    if curves["price"] == "unlearn_steps":
        _retraining_line(price, curves["learn_steps"], curves)
        price.set_ylabel("unlearning steps K")
        price.set_title(f"{forget}\nsigma = {curves['sigma']:.3g}")
    else:
        price.set_ylabel("required noise sigma")
        price.set_title(f"{forget}\nlearned model released")
    for axes, name in ((noise, "sigma"), (price, "price")):
        tidy(axes)
        if all(value is None for curve in curves["curves"] for value in curve[name]):
            nothing = "nothing reaches these targets"
            axes.text(0.5, 0.5, nothing, ha="center", transform=axes.transAxes, color=SOFT)
    legend_below(figure, 1 if narrow else 3)
    return encode(figure, kind)


def _retraining_line(axes: Axes, learn_steps: int, curves: dict[str, Any]) -> None:
    axes.axhline(learn_steps, color=SOFT, ls=":", lw=1.2)
    axes.annotate(
        "retraining",
        (0.99, learn_steps),  # where epsilon is large, few steps are needed
        (0, 3),
        xycoords=axes.get_yaxis_transform(),
        textcoords="offset points",
        color=SOFT,
        fontsize=9,
        va="bottom",
        ha="right",
    )
    axes.set_yscale("symlog", linthresh=1)
    most = max(
        (value for curve in curves["curves"] for value in curve["price"] if value),
        default=learn_steps,
    )
    top = max(most, learn_steps)
    axes.set_ylim(-0.1, 3 * top)
    powers = range(math.ceil(math.log10(3 * top)))
    axes.set_yticks([0, *(10**power for power in powers)])
    axes.set_yticklabels(["0", *(f"{10**power:,}" for power in powers)])


def _gaps(values: list[float | None]) -> list[float]:
    return [float("nan") if value is None else value for value in values]
