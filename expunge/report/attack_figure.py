"""What the claim leaves an attacker: true alarms against false alarms, as a figure."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from expunge.accounting import attack_power
from expunge.report.picture import COLOURS, SOFT, encode, styled, tidy

__all__ = ["draw", "power"]


def power(claim: dict[str, Any], alarms: np.ndarray) -> np.ndarray:
    """The most that a test with these rates of false alarms can detect."""
    figures = {name: claim[name] for name in ("epsilon", "delta", "mu")}
    return attack_power.power(alarms, **figures)


@styled
def draw(claim: dict[str, Any], kind: str = "svg", *, narrow: bool = False) -> bytes:
    """Draw the most power that the claim leaves any test, over its false alarms.

    Args:
        claim: Of a certificate, as JSON.
        narrow: For a telephone.
    """
    alarms = np.linspace(0, 1, 201)
    best = power(claim, alarms)
    figure = Figure(figsize=(4.2, 4.1) if narrow else (5.2, 4.6), layout="constrained")
    axes = figure.subplots()
    axes.fill_between(alarms, alarms, best, color=COLOURS["blue"], alpha=0.2, lw=0)
    axes.plot(alarms, best, color=COLOURS["blue"], label="the most this certificate leaves")
    axes.plot([0, 1], [0, 1], color=SOFT, ls=":", label="guessing")
    at = attack_power.ALARMS
    axes.plot(
        at, power(claim, np.array([at]))[0], "o", color=COLOURS["vermilion"],
        label="the sentence above", clip_on=False,
    )  # fmt: skip
    shares = np.linspace(0, 1, 5)
    axes.set_xticks(shares, [f"{100 * share:.0f} %" for share in shares])
    axes.set_yticks(shares, [f"{100 * share:.0f} %" for share in shares])
    axes.set_xlabel("wrong about innocent models")
    axes.set_ylabel("recognises this model")
    axes.legend(loc="lower right")
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
    axes.set_aspect("equal")
    tidy(axes)
    return encode(figure, kind)
