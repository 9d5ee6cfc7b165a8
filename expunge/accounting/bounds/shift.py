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
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from expunge.accounting.assumptions import Assumptions
from expunge.accounting.bounds.corners import touching_points
from expunge.accounting.bounds.guarantee import GDP
from expunge.accounting.bounds.pieces import least_over_pieces
from expunge.accounting.bounds.taut_string import String, pull_string
from expunge.accounting.history import History
from expunge.accounting.moduli import Cycle, Part, Run, moduli, steps_before_parting
from expunge.accounting.witness import Witness
from expunge.errors import Refused

__all__ = ["Shifted", "bound", "gdp_of_stretch", "nothing_forgotten", "pull_stretch"]

# Runs of a clipped smooth loss that are pulled in the search for its best pieces.
MOST_PULLED = 100_000
MOST_CAPPED = 1_500  # under a cap, which makes each pull costly


class Pulled(NamedTuple):
    """One stretch: its steps, the string that was pulled over them, and the lines they use."""

    parts: Sequence[Part]
    string: String
    lines: Sequence[tuple[int, int]] = ()
    before: int = 0  # steps before the chains part


@dataclass(frozen=True)
class Shifted(GDP):
    """mu-GDP by shifts that are known: whoever doubts it can have the witness."""

    stretches: tuple[Pulled, ...] = field(default=(), compare=False, repr=False)

    @property
    def witness(self) -> Witness:
        """Where the strings touch: what `checker` proves the bound from (THEORY 7)."""
        return Witness(
            tuple(
                touching_points(pulled.string, pulled.parts, pulled.lines, pulled.before)
                for pulled in self.stretches
            )
        )


def bound(assumptions: Assumptions, history: History) -> Shifted:
    """mu of the model after the last phase, jointly with every model released before.

    Raises:
        Refused: noiseless steps see forgotten records after the last noise.
    """
    distance = assumptions.initial_distance
    stretches = []
    before = steps_before_parting(assumptions, history)
    for i, parts in enumerate(moduli(assumptions, history)):
        pulled = pull_stretch(parts, distance, assumptions.diameter)
        if pulled.string.mu == math.inf:
            raise Refused(
                "infinite: no noise follows the last step that depends on forgotten records, "
                "or their influence grows beyond floating point"
            )
        stretches.append(pulled._replace(before=before[i]))
        distance = 0.0  # a release gives the position away
    mus = [pulled.string.mu for pulled in stretches if pulled.string.mu]
    mu = math.hypot(*mus) * (1 + 1e-15) if len(mus) > 1 else sum(mus)
    return Shifted(mu, tuple(stretches))


def nothing_forgotten(history: History) -> Shifted:
    """mu = 0 for chains that never part: no step of theirs counts."""
    stretches = 1 + sum(phase.released for phase in history.phases[:-1])
    return Shifted(0.0, (Pulled((), String(0.0, None, None)),) * stretches)


def gdp_of_stretch(parts: Sequence[Part], distance: float, diameter: float) -> float:
    """mu of one stretch, rounded up."""
    return pull_stretch(parts, distance, diameter).string.mu


def pull_stretch(parts: Sequence[Part], distance: float, diameter: float) -> Pulled:
    """The string over one stretch; over the better line of a clipped smooth loss at each step."""
    every = parts
    if any(isinstance(part, Cycle) and part.runs[0].smooth for part in parts):
        every = [run for part in parts for run in _unroll_cycle(part)]
    runs = [part for part in every if isinstance(part, Run)]
    if not any(run.smooth for run in runs):
        return Pulled(parts, _pull(parts, distance, diameter))
    best = least_over_pieces(
        runs,
        lambda chosen: _pull(chosen, distance, diameter).mu,
        most_runs=MOST_PULLED if diameter == math.inf else MOST_CAPPED,
    )
    return Pulled(parts, _pull(best.runs, distance, diameter), best.lines)


def _pull(parts: Sequence[Part], distance: float, diameter: float) -> String:
    """The string over the runs, its mu with the margin for rounding.

    The string is right to about 20 digits, its shifts and noises were rounded a few times each:
    2e-15 would do. The margin is the one that certificates have carried from the beginning, so
    that they still verify.
    """
    pieces = sum(
        1 if isinstance(part, Run) else min(len(part.runs) * part.repeats, 2 * len(part.runs) + 1)
        for part in parts
    )
    string = pull_string(parts, initial_distance=distance, diameter=diameter)
    return string._replace(mu=string.mu * (1 + 5e-14 * math.sqrt(8 * pieces + 32)))


def _unroll_cycle(part: Part) -> Sequence[Run]:
    if isinstance(part, Run):
        return [part]
    if len(part.runs) * part.repeats > 100_000:
        raise Refused("too many clipped mini-batch steps to choose a modulus for each")
    return part.runs * part.repeats
