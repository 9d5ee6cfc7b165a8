"""Gaussian composition: every step is charged by itself, and no step forgives an earlier one.

    mu^2 = sum_k (s_k / nu_k)^2

s_k is how far a step can drive the two chains apart, nu_k its noise: the composition theorem of
Gaussian differential privacy (Dong, Roth, Su 2022, arXiv:1905.02383). It is the shift bound with
a_k = s_k, which keeps z = 0 (THEORY 2.1), so it holds for an observer of every iterate and is never
below the shift bound; what it adds is an upper limit that a reader can check by hand.
"""

import math
from collections.abc import Iterator

from expunge.accounting.assumptions import Assumptions
from expunge.accounting.bounds import GDP
from expunge.accounting.history import History
from expunge.accounting.moduli import Part, Run, moduli
from expunge.errors import Refused

__all__ = ["bound"]

ROUNDING = 1 + 1e-12  # more than fsum, a quotient and a root can lose


def bound(assumptions: Assumptions, history: History) -> GDP:
    """mu of all iterates together.

    Raises:
        Refused: the chains start apart, or a step that drives them apart has no noise.
    """
    if assumptions.initial_distance > 0:
        raise Refused("needs a common initial law (initial_distance is above 0)")
    charges = []
    for stretch in moduli(assumptions, history):
        for run, repeats in _runs(stretch):
            if run.shift > 0 and run.noise_std == 0:
                raise Refused("infinite: a step that sees forgotten records has no noise")
            if run.shift > 0:
                charges.append(repeats * run.steps * (run.shift / run.noise_std) ** 2)
    return GDP(math.sqrt(math.fsum(charges)) * ROUNDING)


def _runs(parts: list[Part]) -> Iterator[tuple[Run, int]]:
    """Every run of identical steps, and how often it comes back."""
    for part in parts:
        if isinstance(part, Run):
            yield part, 1
        else:
            yield from ((run, part.repeats) for run in part.runs)
