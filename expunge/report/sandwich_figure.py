"""An audit on one axis: what the attack proves, what is estimated, what is certified.

All three are read on one scale of epsilon, on which what is certified is one: so an estimate of a
Rényi divergence beyond the certificate is seen as such, and `beyond` says what it means.
"""

import math
from typing import Any

from matplotlib.figure import Figure

from expunge.accounting.conversions import epsilon_from_gdp
from expunge.report.picture import COLOURS, INK, encode, styled, tidy

__all__ = ["beyond", "draw"]


def beyond(audit: dict[str, Any]) -> str | None:
    """What it means that an estimate, or its interval, reaches beyond the certificate, if it does.

    An estimate decides nothing: only the attack's bound does, and the verdict is made of it.
    """
    certified = audit["certified"]["epsilon"]
    point, _, high = _estimated(audit)
    if high <= certified:
        return None
    what = "The estimate" if point > certified else "The end of the estimate's interval"
    models = f"{audit['models']:,} models of each law"
    return (
        f"{what} lies beyond what is certified, and that is no contradiction: from {models} it is "
        "only known as closely as its interval says, and it supposes that both laws are Gaussian. "
        "Only the attack's lower bound, which supposes nothing, can contradict."
    )


@styled
def draw(audit: dict[str, Any], kind: str = "svg", *, narrow: bool = False) -> bytes:
    """Draw an audit on one axis: what the attack proves, what is estimated, what is certified.

    Args:
        audit: The document of `audit.sandwich`.
        narrow: For a telephone.
    """
    certified, control = audit["certified"]["epsilon"], audit["positive_control"]["epsilon"]
    lower, (point, low, high) = audit["lower_bound"]["value"], _estimated(audit)
    figure = Figure(figsize=(4.2, 3.1) if narrow else (6.6, 2.7), layout="constrained")
    axes = figure.subplots()
    axes.axvspan(0, certified, color=COLOURS["blue"], alpha=0.15, lw=0)
    axes.axvline(certified, color=COLOURS["blue"], lw=2)
    axes.plot(lower, 0, ">", color=COLOURS["vermilion"], ms=9)
    axes.plot([low, high], [1, 1], color=INK, lw=2)
    axes.plot(point, 1, "o", color=INK)
    axes.plot(control, 2, "X", color=COLOURS["purple"], ms=9)
    level = f"{audit['lower_bound']['level']:.0%}"
    rows = [f"attack:\nat least, {level}", "estimate,\n95%", f"planted fault:\nat least, {level}"]
    axes.set_yticks(range(3), rows)
    axes.set_ylim(-0.6, 2.6)
    axes.invert_yaxis()
    scale, top = max(certified, 1e-3), max(certified, high, control, lower)
    axes.set_xscale("symlog", linthresh=scale)
    axes.set_xlim(-0.05 * scale, 1.5 * top)
    powers = range(math.ceil(math.log10(scale)), math.ceil(math.log10(max(top, scale))) + 1)
    ticks = [10.0**power for power in powers if 10.0**power <= 1.5 * top]
    axes.set_xticks([0, *ticks], ["0", *(f"{tick:g}" for tick in ticks)])
    axes.set_xticks([], minor=True)
    axes.set_xlabel(f"epsilon at delta = {audit['delta']:g}\nshaded: what the certificate allows")
    tidy(axes, "x")
    axes.spines["left"].set_visible(False)
    return encode(figure, kind)


def _estimated(audit: dict[str, Any]) -> tuple[float, float, float]:
    """The estimate and the ends of its interval, as epsilon."""
    estimate, delta = audit["estimate"], audit["delta"]
    low, high = (_epsilon(value, delta) for value in estimate["interval"])
    return _epsilon(estimate["value"], delta), low, high


def _epsilon(renyi_2: float, delta: float) -> float:
    """Epsilon of a Gaussian shift with this D_2 = mu^2; 0 for what is consistent with 0."""
    return epsilon_from_gdp(renyi_2**0.5, delta) if renyi_2 > 0 else 0.0
