"""Theorems turned into numbers: one file each, upper bounds only.

    shift               exactly tight over its class; any history
    log_sobolev         the paper's theorems, corrected and in their best form
    log_sobolev_paper   the paper's closed form, corrected: the yardstick
    iteration           privacy amplification by iteration
    contraction         hockey-stick contraction under a projection, with the shift hybrid

Each has `bound(assumptions, history)`, which returns a `Guarantee` or raises `Refused`.
"""

from collections.abc import Callable
from types import MappingProxyType

from expunge.accounting.assumptions import Assumptions
from expunge.accounting.bounds import (
    contraction,
    iteration,
    log_sobolev,
    log_sobolev_paper,
    shift,
)
from expunge.accounting.bounds.guarantee import GDP, Guarantee, HockeyStick, Renyi
from expunge.accounting.history import History

__all__ = ["BOUNDS", "GDP", "Bound", "Guarantee", "HockeyStick", "Renyi"]

Bound = Callable[[Assumptions, History], Guarantee]

BOUNDS: MappingProxyType[str, Bound] = MappingProxyType(
    {
        "shift": shift.bound,
        "log_sobolev": log_sobolev.bound,
        "log_sobolev_paper": log_sobolev_paper.bound,
        "iteration": iteration.bound,
        "contraction": contraction.bound,
    }
)
