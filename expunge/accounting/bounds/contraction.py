"""Hockey-stick contraction, and its hybrid with the shift bound: any loss, a projection.

Before the noise, both chains lie in a set of diameter Dm = min(2 c R, 2 |1 - eta lam| R + 2 eta M).
A noisy step on equal data shrinks the hockey-stick divergence e at a fixed epsilon by

    e <- e * delta_GDP(Dm/nu, log(1 + (e^epsilon - 1)/e))

(Balle, Barthe, Gaboardi, Geumlek 2019, Theorem 1(2); Asoodeh et al. 2020 for the plain
power theta^K with theta = delta_GDP(Dm/nu, epsilon)). THEORY 2.4.

Hybrid: at every trailing step e may also be replaced by the shift bound's delta there. The
recursion is monotone in e, so taking the smaller at each step is the best switch of all.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from expunge.accounting.assumptions import Assumptions
from expunge.accounting.bounds.guarantee import HockeyStick
from expunge.accounting.bounds.shift import gdp_of_stretch
from expunge.accounting.conversions import gdp_log_delta
from expunge.accounting.history import History
from expunge.accounting.moduli import LEAST_NORMAL, Part, Run, moduli, resize, split_trailing
from expunge.errors import Refused

__all__ = ["bound", "contract"]

MOST_STEPS = 2_000  # trailing steps that are contracted; earlier ones are left to the shift bound
MOST_SHIFTS = 64  # of these, how many also ask the shift bound
NEGLIGIBLE = -750.0  # log of a delta below anything that can be asked for
ROUNDING = 1e-14  # of one step: a few ulps of what it adds to log delta, and of 1
HOPELESS = 16.0  # Dm/nu beyond which a step contracts by less than 1e-15


@dataclass(frozen=True)
class _Step:
    diameter_in_noise: float  # Dm / nu
    mu: float = math.inf  # of the shift bound before this step


def bound(assumptions: Assumptions, history: History) -> HockeyStick:
    """Bound the hockey-stick divergence by contraction and, where it is smaller, the shift bound.

    Raises:
        Refused: no projection, an early release, or no noisy step on what remains.
    """
    if assumptions.radius is None:
        raise Refused("needs a projection (radius)")
    if history.released_early:
        raise Refused("does not cover models released before the end")
    (parts,) = moduli(assumptions, history)
    before, trailing = split_trailing(parts, lambda run: run.differs)
    if not before:  # the initial law need not lie in the ball; after one step both chains do
        before, trailing = _take(trailing, 1), _drop(trailing, 1)
    if not any(run.noise_std > 0 for run in trailing):
        raise Refused("needs noisy unlearning steps at the end")
    rounding = {phase.rounding for phase in history.phases}
    steps, end = _steps(assumptions, before, trailing, max(rounding))
    return HockeyStick(lambda epsilon: _log_delta(epsilon, steps, end))


def contract(log_delta: float, epsilon: float, diameter_in_noise: float) -> float:
    """log delta after one noisy step: log of e * delta_GDP(Dm/nu, log(1 + (e^epsilon - 1)/e))."""
    if epsilon == 0 or log_delta == -math.inf:
        return log_delta + gdp_log_delta(diameter_in_noise, epsilon)
    x = epsilon + math.log(-math.expm1(-epsilon)) - log_delta  # log((e^eps - 1)/e)
    raised = x + math.log1p(math.exp(-x)) if x > 0 else math.log1p(math.exp(x))
    return log_delta + min(0.0, gdp_log_delta(diameter_in_noise, raised))


def _log_delta(epsilon: float, steps: Sequence[_Step], end: float) -> float:
    """log delta after the last step: contract, or start again from the shift bound."""
    log_delta = 0.0
    for step in steps:
        if step.mu < math.inf:
            log_delta = min(log_delta, gdp_log_delta(step.mu, epsilon))
        log_delta = contract(log_delta, epsilon, step.diameter_in_noise)
        if log_delta < NEGLIGIBLE:
            break
    if log_delta > -math.inf:
        log_delta += ROUNDING * (len(steps) - log_delta)
    return min(log_delta, gdp_log_delta(end, epsilon)) if end < math.inf else log_delta


def _steps(
    assumptions: Assumptions, before: Sequence[Part], trailing: Sequence[Run], rounding: float
) -> tuple[list[_Step], float]:
    def mu(kept: Sequence[Run]) -> float:
        return gdp_of_stretch([*before, *kept], assumptions.initial_distance, assumptions.diameter)

    ratios: list[float] = []
    for run in trailing:
        ratio = _diameter(assumptions, run, rounding) / run.noise_std if run.noise_std else math.inf
        ratios += [ratio] * min(run.steps, MOST_STEPS + 1)
    total = sum(run.steps for run in trailing)
    ratios = ratios[-MOST_STEPS:]
    first = total - len(ratios)  # trailing steps that only the shift bound sees
    asked = 2 if any(run.smooth for run in trailing) else MOST_SHIFTS  # two lines: costly
    ask = {round(i * (len(ratios) - 1) / (asked - 1)) for i in range(asked)}
    steps = [
        _Step(ratio, mu=mu(_take(trailing, first + i)) if i in ask else math.inf)
        for i, ratio in enumerate(ratios)
        if ratio < HOPELESS or i in ask
    ]
    steps = [step for step in steps if step.diameter_in_noise < HOPELESS]
    return steps, mu(trailing)


def _diameter(assumptions: Assumptions, run: Run, rounding: float) -> float:
    lipschitz = run if run.smooth is None else run.smooth
    by_radius = 2 * run.image_radius
    if assumptions.clip is not None and run.smooth is None:
        return by_radius + 2 * rounding
    c = lipschitz.contraction.c
    by_contraction = max(c * assumptions.diameter, LEAST_NORMAL) if c else 0.0
    return min(by_contraction, by_radius) + 2 * rounding


def _take(runs: Sequence[Run], steps: int) -> list[Run]:
    """The first `steps` steps of these runs."""
    taken = []
    for run in runs:
        if steps <= 0:
            break
        taken.append(resize(run, min(run.steps, steps)))
        steps -= run.steps
    return taken


def _drop(runs: Sequence[Run], steps: int) -> list[Run]:
    """All but the first `steps` steps of these runs."""
    left = []
    for run in runs:
        dropped = min(run.steps, steps)
        steps -= dropped
        if run.steps > dropped:
            left.append(resize(run, run.steps - dropped))
    return left
