"""What the claim leaves an attacker: true alarms against false alarms, as a figure."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from expunge.accounting import attack_power
from expunge.report.picture import encode

__all__ = ["draw", "power"]


def power(claim: dict[str, Any], alarms: np.ndarray) -> np.ndarray:
    """The most that a test with these rates of false alarms can detect."""
    figures = {name: claim[name] for name in ("epsilon", "delta", "mu")}
    return attack_power.power(alarms, **figures)


def draw(claim: dict[str, Any], kind: str = "svg") -> bytes:
    """Draw the most power that the claim leaves any test, over its false alarms.

    Args:
        claim: Of a certificate, as JSON.
    """
    alarms = np.linspace(0, 1, 401)
    best = power(claim, alarms)
    figure = Figure(figsize=(4.6, 4.2), layout="constrained")
    axes = figure.subplots()
    axes.fill_between(alarms, alarms, best, color="#2166ac", alpha=0.18, lw=0)
    axes.plot(alarms, best, color="#2166ac", lw=2.2, label="certified limit of any test")
    axes.plot([0, 1], [0, 1], color="0.5", ls=":", lw=1.2, label="guessing")
    axes.set_xlabel("false alarms")
    axes.set_ylabel("forgotten records noticed")
    axes.set_title("What an attacker can achieve at most", fontsize=10)
    axes.legend(frameon=False, fontsize=9, loc="lower right")
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
    axes.set_aspect("equal")
    axes.grid(alpha=0.25, lw=0.5)
    axes.spines[["top", "right"]].set_visible(False)
    return encode(figure, kind)
