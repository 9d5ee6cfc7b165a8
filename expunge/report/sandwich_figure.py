"""An audit on one axis: what the attack proves, what is estimated, what is certified."""

import math
from typing import Any

from matplotlib.figure import Figure

from expunge.accounting.conversions import epsilon_from_gdp
from expunge.report.picture import encode

__all__ = ["draw"]

COLOURS = {"attack": "#b2182b", "estimate": "0.35", "certificate": "#2166ac"}


def draw(audit: dict[str, Any], kind: str = "svg") -> bytes:
    """Draw an audit on one axis: what the attack proves, what is estimated, what is certified.

    Args:
        audit: The document of `audit.sandwich`.
    """
    delta, certified = audit["delta"], audit["certified"]["epsilon"]
    estimate = audit["estimate"]
    figure = Figure(figsize=(5.6, 2.4), layout="constrained")
    axes = figure.subplots()
    axes.axvspan(0, certified, color=COLOURS["certificate"], alpha=0.12, lw=0)
    axes.axvline(certified, color=COLOURS["certificate"], lw=2)
    axes.plot(audit["lower_bound"]["value"], 0, ">", color=COLOURS["attack"], ms=9)
    low, high = (_epsilon(value, delta) for value in estimate["interval"])
    axes.plot([low, high], [1, 1], color=COLOURS["estimate"], lw=2)
    axes.plot(_epsilon(estimate["value"], delta), 1, "o", color=COLOURS["estimate"])
    axes.plot(audit["positive_control"]["epsilon"], 2, "x", color=COLOURS["attack"], ms=8)
    level = f"{audit['lower_bound']['level']:.0%}"
    rows = [f"attack: at least, {level}", "estimate", f"control with a fault, {level}"]
    axes.set_yticks(range(3), rows, fontsize=9)
    axes.set_ylim(-0.6, 2.6)
    axes.invert_yaxis()
    scale, top = max(certified, 1e-3), max(certified, high, audit["positive_control"]["epsilon"])
    axes.set_xscale("symlog", linthresh=scale)
    axes.set_xlim(-0.05 * scale, 1.5 * max(top, audit["lower_bound"]["value"]))
    powers = range(math.ceil(math.log10(scale)), math.ceil(math.log10(max(top, scale))) + 1)
    axes.set_xticks([0, *(10.0**k for k in powers)], ["0", *(f"{10.0**k:g}" for k in powers)])
    axes.set_xticks([], minor=True)
    axes.set_xlabel(f"epsilon at delta = {delta:g}\nshaded: what the certificate allows")
    axes.spines[["top", "right", "left"]].set_visible(False)
    return encode(figure, kind)


def _epsilon(renyi_2: float, delta: float) -> float:
    """Epsilon of a Gaussian shift with this D_2 = mu^2; 0 for what is consistent with 0."""
    return epsilon_from_gdp(renyi_2**0.5, delta) if renyi_2 > 0 else 0.0
