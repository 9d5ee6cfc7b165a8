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
from functools import partial

from expunge.accounting.assumptions import Assumptions
from expunge.accounting.bounds.guarantee import GDP
from expunge.accounting.bounds.taut_string import pull
from expunge.accounting.history import History
from expunge.accounting.moduli import Cycle, Part, Run, moduli
from expunge.accounting.refusal import Refused
from expunge.accounting.search import least_of_valley

__all__ = ["bound", "gdp_of_stretch"]

MOST_SWITCHES = 64  # runs of a clipped smooth loss whose switches are optimised


def bound(assumptions: Assumptions, history: History) -> GDP:
    """mu of the model after the last phase, jointly with every model released before.

    Raises:
        Refused: noiseless steps see forgotten records after the last noise.
    """
    total, distance = 0.0, assumptions.initial_distance
    for parts in moduli(assumptions, history):
        mu = gdp_of_stretch(parts, distance, assumptions.diameter)
        if mu == math.inf:
            raise Refused(
                "infinite: no noise follows the last step that depends on forgotten records, "
                "or their influence grows beyond floating point"
            )
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
    """The shifts and noises were rounded a few times each; the string itself to 20 digits."""
    return pull(parts, initial_distance=distance, diameter=diameter) * (1 + 2e-15)


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

    all_clipped_last = [0 if run.differs else run.steps for run in runs]
    best = math.inf
    starts = ([0] * len(runs), [run.steps for run in runs], all_clipped_last)
    for start in starts if diameter == math.inf else starts[2:]:  # a cap makes each one costly
        best = min(best, _improved(mu, start, [run.steps for run in runs]))
    return best


def _improved(
    mu: Callable[[Sequence[int]], float], start: Sequence[int], most: Sequence[int]
) -> float:
    """mu after improving one switch at a time; long lists of runs are left as they are."""
    switches, value = list(start), mu(start)
    improving = len(start) <= MOST_SWITCHES
    while improving:
        improving = False
        for i, steps in enumerate(most):
            before, after = switches[:i], switches[i + 1 :]
            found, at = least_of_valley(partial(_with_switch, mu, before, after), steps)
            if found < value * (1 - 1e-13):
                value, switches[i], improving = found, at, True
    return value


def _with_switch(
    mu: Callable[[Sequence[int]], float], before: list[int], after: list[int], switch: int
) -> float:
    return mu([*before, switch, *after])


def _switched(run: Run, switch: int) -> list[Run]:
    """`switch` steps of the line that comes first, the rest of the other."""
    clipped = replace(run, smooth=None)
    if run.smooth is None:
        return [clipped]
    first, second = (run.smooth, clipped) if run.differs else (clipped, run.smooth)
    pieces = (replace(first, steps=switch), replace(second, steps=run.steps - switch))
    return [piece for piece in pieces if piece.steps]
