"""The paper's route, corrected: divergence decays by log-Sobolev inequalities.

D bounds D_alpha/alpha for every alpha > 1, C is a log-Sobolev constant of the law before
the step; both start from the initial law (D = 0, C = C_0) and run through all phases:

    s > 0:  D <- (D + s^2/nu^2) / (1 + (nu^2/2)/(c^2 C + nu^2/2))
    s = 0:  D <- D / (1 + nu^2/(c^2 C))
    then    C <- c^2 C + nu^2

Paper: [theorem:learning_retraining] with eta for eta^2 and the t = 0 term (E1, E2), and
[thm:unlearning_init_bound] by the order-changing lemma at every step (E7, E12). THEORY 2.12.
With a projection C may be replaced after each step by the constant of compact support
[proposition:universal_sobolev], where that is smaller. Beyond 10^6 steps in a learning phase
C is held at max(C, nu^2/(1-c^2)); unlearning telescopes to D c^(2K) C_T/C_{T+K} for any K.
"""

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np

from expunge.accounting.assumptions import Assumptions
from expunge.accounting.bounds.guarantee import Renyi
from expunge.accounting.decimals import geometric, wide_range
from expunge.accounting.history import History
from expunge.accounting.moduli import (
    LEAST_NORMAL,
    Cycle,
    Part,
    Run,
    moduli,
    smooth_parts,
    total_steps,
)
from expunge.errors import Refused

__all__ = [
    "LogSobolev",
    "advance",
    "bound",
    "compact_constant",
    "initial_constant",
    "refuse_initial_distance",
    "refuse_uncovered",
]

MOST_STEPS = 1_000_000
FEW = 64  # steps that are looped over rather than summed as arrays
LEAST, LARGEST_DOUBLE = 5e-324, sys.float_info.max


@dataclass(frozen=True)
class LogSobolev:
    """The state of the recursion: a bound on the divergence and a log-Sobolev constant."""

    divergence: float  # bounds D_alpha / alpha for every alpha > 1
    constant: float  # of the law of either chain


def bound(assumptions: Assumptions, history: History) -> Renyi:
    """Bound the Rényi divergence by D_alpha <= alpha D, in both directions.

    Raises:
        Refused: rounding, an early release, an initial distance, clipped gradients of
            a loss not known to be smooth, or a noiseless step that sees forgotten records.
    """
    refuse_uncovered(history)
    refuse_initial_distance(assumptions)
    if any(phase.poisson for phase in history.phases):
        raise Refused("Poisson batches: the two chains contract differently")
    (parts,) = moduli(assumptions, history)
    state = LogSobolev(0.0, initial_constant(assumptions, history))
    runs = _from_any_initial_law(_runs(smooth_parts(assumptions, parts)))
    for run in runs:
        state = advance(state, run)
    if not math.isfinite(state.divergence):
        raise Refused("no noise in a step that sees forgotten records")
    # The same rounding repeats in every step of a run, so errors add up linearly.
    looped = sum(run.steps for run in runs if run.steps <= MOST_STEPS)
    return Renyi.linear(state.divergence * (1 + 5e-16 * looped + 1e-15 * len(runs) + 1e-12))


def _runs(parts: Sequence[Part]) -> list[Run]:
    runs: list[Run] = []
    for part in parts:
        if isinstance(part, Cycle) and total_steps(part) > MOST_STEPS:
            raise Refused(f"more than {MOST_STEPS} mini-batch steps")
        runs += part.runs * part.repeats if isinstance(part, Cycle) else (part,)
    return runs


def _from_any_initial_law(runs: Sequence[Run]) -> Sequence[Run]:
    """The runs with no compact constant for the first step: it may start outside the ball (E27)."""
    if not runs or runs[0].image_radius == math.inf:
        return runs
    first, *later = runs
    start = replace(first, steps=1, image_radius=math.inf)
    rest = replace(first, steps=first.steps - 1)
    return [start, rest, *later] if rest.steps else [start, *later]


def refuse_uncovered(history: History) -> None:
    """Refuse a history with a rounding budget or with models released early.

    Raises:
        Refused: what no bound but the shift bound covers (THEORY 2.8).
    """
    if any(phase.rounding for phase in history.phases):
        raise Refused("does not cover a rounding budget")
    if history.released_early:
        raise Refused("does not cover models released before the end")


def refuse_initial_distance(assumptions: Assumptions) -> None:
    """Refuse chains that do not start from one initial law.

    Raises:
        Refused: the chains start from different laws.
    """
    if assumptions.initial_distance > 0:
        raise Refused("needs a common initial law (initial_distance is above 0)")


def initial_constant(assumptions: Assumptions, history: History) -> float:
    """C_0: declared, or 2 sigma^2/m when strongly convex, or 0 for a point mass."""
    if assumptions.initial_log_sobolev is not None:
        return assumptions.initial_log_sobolev
    if assumptions.regime == "strongly convex" and assumptions.strong_convexity:
        sigma = history.phases[0].sigma
        constant = 2 * sigma**2 / assumptions.strong_convexity
        return max(constant, LEAST_NORMAL) if sigma else 0.0
    return 0.0


def compact_constant(radius: float, variance: float) -> float:
    """6 (4 R^2 + v) exp(4 R^2 / v): a law in a ball of radius R, convolved with N(0, v I).

    Paper: [lemma:sobolev_compact]; Chen, Chewi, Niles-Weed 2021, Corollary 1. Holds for v > 0.
    """
    if variance <= 0 or radius == math.inf:
        return math.inf
    exponent = 4 * radius**2 / variance
    if exponent > 700:
        return math.inf
    return 6 * (4 * radius**2 + variance) * math.exp(exponent)


def advance(state: LogSobolev, run: Run) -> LogSobolev:
    """The state after one run of identical steps.

    Raises:
        Refused: noise whose variance a double cannot hold.
    """
    c2, variance = run.contraction.c**2, run.noise_std**2
    if run.noise_std and variance < LEAST_NORMAL:
        raise Refused(f"noise of std {run.noise_std:g}: its variance is below floating point")
    cap = compact_constant(run.image_radius, variance)
    if run.shift == 0 and run.steps > 1 and cap == math.inf:
        return _telescope(state, run, variance)
    if run.steps > MOST_STEPS:
        return _long_run(state, run, c2, variance)
    if cap == math.inf and run.steps > FEW and variance and c2 <= 1:
        return _sum_run(state, run, variance)
    divergence, constant = state.divergence, state.constant
    for _ in range(run.steps):
        before = divergence, constant
        pushed = _push_forward(c2, constant)
        if run.shift > 0:
            divergence = _add_noisy_step(divergence, run, pushed, variance)
        elif divergence and variance:
            divergence = _shrink(divergence, _share_kept(pushed, variance))
        constant = min(pushed + variance, cap)
        if (divergence, constant) == before or divergence == math.inf:
            break
    return LogSobolev(divergence, constant)


def _push_forward(c2: float, constant: float) -> float:
    """c^2 C, the constant before the noise; never an exact 0 by underflow."""
    return max(c2 * constant, LEAST_NORMAL) if c2 and constant else 0.0


def _share_kept(pushed: float, variance: float) -> float:
    """The share of D that a step on equal data leaves: 1/(1 + nu^2/(c^2 C))."""
    return pushed / (pushed + variance) if pushed < math.inf else 1.0


def _sum_run(state: LogSobolev, run: Run, variance: float) -> LogSobolev:
    """The recursion of a learning run as one sum of products of its decays."""
    c = run.contraction
    before = np.arange(run.steps + 1, dtype=float)
    fading = np.exp(2 * before * c.log)  # c^(2t)
    gap = c.gap * (1 + c.c)
    grown = -np.expm1(2 * before * c.log) / gap if gap else before
    constants = fading * state.constant + variance * grown
    pushed = c.c**2 * constants[:-1]
    decays = (pushed + variance / 2) / (pushed + variance)
    products = np.cumprod(decays[::-1])  # of the last 1, 2, ... decays
    gain = max((run.shift / run.noise_std) ** 2, LEAST)
    divergence = _shrink(state.divergence, float(products[-1])) + gain * float(products.sum())
    return LogSobolev(divergence, float(constants[-1]))


@wide_range()
def _telescope(state: LogSobolev, run: Run, variance: float) -> LogSobolev:
    """The state after n steps on equal data: D <- D c^(2n) C/C', C' the new constant (THEORY 2.12).

    In decimals: c^(2n) may be far below the least double where C is far above 1.
    """
    if state.constant == math.inf:
        return state
    c = run.contraction
    power = c.wide ** (2 * run.steps)
    pushed = power * Decimal(state.constant)
    noise = Decimal(variance) * geometric(power, c.wide_gap * (1 + c.wide), run.steps)
    constant = pushed + noise
    divergence = state.divergence
    if 0 < divergence < math.inf and variance:
        kept = float(Decimal(divergence) * pushed / constant)
        divergence = max(kept, LEAST) if pushed else 0.0
    return LogSobolev(divergence, max(float(constant), LEAST_NORMAL) if constant else 0.0)


def _add_noisy_step(divergence: float, run: Run, pushed: float, variance: float) -> float:
    if variance == 0:
        return math.inf
    decay = (pushed + variance / 2) / (pushed + variance) if pushed < math.inf else 1.0
    return (divergence + max((run.shift / run.noise_std) ** 2, LEAST)) * decay


def _shrink(divergence: float, factor: float) -> float:
    """The product of divergence and factor; an underflow is not an exact 0."""
    product = divergence * factor
    return LEAST if product == 0 < min(divergence, factor) else product


def _long_run(state: LogSobolev, run: Run, c2: float, variance: float) -> LogSobolev:
    gap = run.contraction.gap * (1 + run.contraction.c)  # 1 - c^2
    if gap <= 0:
        raise Refused(f"more than {MOST_STEPS} steps without contraction")
    constant = max(state.constant, variance / gap)
    pushed = _push_forward(c2, constant)
    if run.shift == 0:
        log_kept = -math.inf
        if pushed:
            log_kept = -run.steps * math.log1p(min(variance / pushed, LARGEST_DOUBLE))
        return LogSobolev(_fade(state.divergence, log_kept), constant)
    if variance == 0:
        return LogSobolev(math.inf, constant)
    rate = (variance / 2) / (pushed + variance)  # 1 - h
    log_kept = run.steps * math.log1p(-rate)
    gain = max((run.shift / run.noise_std) ** 2, LEAST)
    gained = gain * (1 - rate) * -math.expm1(log_kept) / rate
    return LogSobolev(_fade(state.divergence, log_kept) + gained, constant)


def _fade(divergence: float, log_factor: float) -> float:
    """D e^x, where e^x alone may underflow; exactly 0 only for x = -infinity."""
    if not divergence or log_factor == -math.inf:
        return 0.0
    if log_factor > -700:
        return _shrink(divergence, math.exp(log_factor))
    return max(math.exp(math.log(divergence) + log_factor), LEAST)
