"""Shifted interpolation: the bound that is exactly tight over its class.

    T(X_N, X'_N) >= G_mu,   mu^2 = min sum_k (a_k / nu_k)^2
    subject to z_k = c_k z_{k-1} + s_k - a_k >= 0, z_0 given, z_N = 0

THEORY 2.1 and 2.2; Bok, Su, Altschuler 2024, arXiv:2403.00278v1, section 3, with a
general modulus. For T learning and K unlearning steps with c < 1 and no cap this is

    mu = (s/nu) c^K sqrt((1+c)/(1-c)) (1-c^T) / sqrt(1-c^(2(T+K)))      (THEORY 2.3)

A released model forces z = 0 at its release and mu^2 adds over the stretches (THEORY 2.7).
Exact on quadratic losses, symmetric in direction, any convexity, any mixture of phases.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from expunge.accounting.assumptions import Assumptions
from expunge.accounting.bounds.guarantee import GDP
from expunge.accounting.bounds.taut_string import pull
from expunge.accounting.history import History
from expunge.accounting.moduli import Cycle, Part, Run, moduli
from expunge.accounting.refusal import Refused

__all__ = ["bound", "gdp_of_stretch"]


def bound(assumptions: Assumptions, history: History) -> GDP:
    """mu of the model after the last phase, jointly with every model released before.

    Raises:
        Refused: noiseless steps see forgotten records after the last noise.
    """
    total, distance = 0.0, assumptions.initial_distance
    for parts in moduli(assumptions, history):
        mu = gdp_of_stretch(parts, distance, assumptions.diameter)
        if mu == math.inf:
            raise Refused("no noise after steps that depend on forgotten records")
        total = math.hypot(total, mu)
        distance = 0.0  # a release gives the position away
    return GDP(total)


def gdp_of_stretch(parts: Sequence[Part], distance: float, diameter: float) -> float:
    """mu of one stretch, rounded up; clipped smooth losses take the better piece."""
    if any(isinstance(part, Cycle) and part.runs[0].smooth for part in parts):
        parts = [run for part in parts for run in _unroll_cycle(part)]
    runs = [part for part in parts if isinstance(part, Run)]
    if any(run.smooth for run in runs):
        return _with_best_pieces(runs, distance, diameter)
    return _pull(parts, distance, diameter)


def _pull(parts: Sequence[Part], distance: float, diameter: float) -> float:
    string = pull(parts, initial_distance=distance, diameter=diameter)
    # Independent roundings of the pooled sums grow like the root of their number.
    return string.mu * (1 + 5e-14 * math.sqrt(string.operations))


def _unroll_cycle(part: Part) -> Sequence[Run]:
    if isinstance(part, Run):
        return [part]
    if len(part.runs) * part.repeats > 100_000:
        raise Refused("too many clipped mini-batch steps to choose a modulus for each")
    return part.runs * part.repeats


def _with_best_pieces(runs: Sequence[Run], distance: float, diameter: float) -> float:
    """Clipped and smooth: g(z) is the lower of two lines, one switch in each run.

    While data differ the distance grows, so the smooth line comes first; afterwards it
    shrinks, so the clipped line comes first (THEORY 2.2, concave modulus). Any switch
    is valid; each run's is improved in turn until nothing changes.
    """

    def mu(switches: Sequence[int]) -> float:
        parts: list[Run] = []
        for run, switch in zip(runs, switches, strict=True):
            parts += _switched(run, switch)
        return _pull(parts, distance, diameter)

    starts = (
        [0] * len(runs),
        [run.steps for run in runs],
        [0 if r.differs else r.steps for r in runs],
    )
    best = math.inf
    for start in starts if len(runs) <= 64 else starts[:2]:
        switches, value = list(start), mu(start)
        improving = len(runs) <= 64
        while improving:
            improving = False
            for i, run in enumerate(runs):
                found, at = _least(
                    lambda n, i=i: mu([*switches[:i], n, *switches[i + 1 :]]), run.steps
                )
                if found < value * (1 - 1e-13):
                    value, switches[i], improving = found, at, True
        best = min(best, value)
    return best


def _switched(run: Run, switch: int) -> list[Run]:
    """`switch` steps of the line that comes first, the rest of the other."""
    clipped = replace(run, smooth=None)
    if run.smooth is None:
        return [clipped]
    first, second = (run.smooth, clipped) if run.differs else (clipped, run.smooth)
    pieces = (replace(first, steps=switch), replace(second, steps=run.steps - switch))
    return [piece for piece in pieces if piece.steps]


def _least(value: Callable[[int], float], most: int) -> tuple[float, int]:
    if most <= 64:
        return min((value(n), n) for n in range(most + 1))
    low, high = 0, most
    while high - low > 24:
        third = (high - low) // 3
        left, right = low + third, high - third
        if value(left) <= value(right):
            high = right
        else:
            low = left
    return min((value(n), n) for n in {*range(low, high + 1), 0, most})
