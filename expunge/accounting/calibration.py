"""The least of each resource that meets a target: noise, steps, public data.

A `Setting` fixes the learning problem; what is left open is solved for. The returned value
always meets the target, and rounds outward: sigma up, K up, public records up.
Every function takes the bound it should trust, `shift` unless told otherwise.
"""

import math
from dataclasses import replace

from scipy.optimize import brentq

from expunge.accounting.bounds import BOUNDS, GDP, shift
from expunge.accounting.conversions import gdp_for_epsilon
from expunge.accounting.history import History, Phase
from expunge.accounting.proofs import prove
from expunge.accounting.search import least_where
from expunge.accounting.setting import Setting
from expunge.accounting.target import EpsilonDelta, Target
from expunge.errors import Refused

__all__ = [
    "achieved",
    "reported",
    "sigma_for_requests",
    "smallest_public",
    "smallest_sigma",
    "smallest_unlearn_steps",
]


def achieved(
    setting: Setting, target: Target, *, sigma: float, unlearn_steps: int, bound: str = "shift"
) -> float:
    """The target's quantity (epsilon, or D_alpha) at this sigma and K.

    Raises:
        Refused: the bound does not cover this setting.
    """
    if setting.forget == 0 and setting.assumptions.initial_distance == 0:
        return target.value(GDP(0.0))
    history = setting.history(sigma, unlearn_steps)
    return target.value(BOUNDS[bound](setting.assumptions, history))


def reported(
    setting: Setting, target: Target, *, sigma: float, unlearn_steps: int, bound: str = "shift"
) -> float:
    """The same as it is printed: proven by the checker where that is possible, never above it.

    Raises:
        Refused: the bound does not cover this setting.
    """
    history = setting.history(sigma, unlearn_steps)
    nothing = setting.forget == 0 and setting.assumptions.initial_distance == 0
    if bound != "shift" or nothing:
        return achieved(setting, target, sigma=sigma, unlearn_steps=unlearn_steps, bound=bound)
    shifted = shift.bound(setting.assumptions, history)
    return target.value(prove(setting.assumptions, history, shifted).guarantee)


def smallest_sigma(
    setting: Setting, target: Target, *, unlearn_steps: int, bound: str = "shift"
) -> float:
    """The least noise that meets the target after K steps; 0 when nothing is forgotten.

    It falls like n_priv/(n_priv + n_pub) as public records are added, a sufficient condition.
    Paper: [cor:non_vacuous_divergence], corrected (E1, E2, E5).

    Below 1e-290, where any noise at all meets the target, the search stops.

    Raises:
        Refused: the bound does not cover this setting, or no noise suffices.
    """

    def value(sigma: float) -> float:
        try:
            return achieved(setting, target, sigma=sigma, unlearn_steps=unlearn_steps, bound=bound)
        except (Refused, ArithmeticError):
            if sigma > 1e-130:
                raise
            return math.inf  # squares vanish there: not shown to meet it

    if setting.forget == 0:
        return 0.0

    def excess(log_sigma: float) -> float:
        reached = value(math.exp(log_sigma))
        return max(-60.0, min(60.0, math.log(reached / target.level))) if reached > 0 else -60.0

    low = high = 0.0
    while excess(low) <= 0:
        low -= 4.0
        if low < -670:
            return math.exp(low)
    high = low
    while excess(high) > 0:
        high += 4.0
        if high > 200:
            raise Refused("no noise suffices")
    sigma = math.exp(brentq(excess, low, high, xtol=1e-13, rtol=1e-14))  # pyright: ignore
    bump = 1e-14
    while value(sigma) > target.level:
        sigma, bump = sigma * (1 + bump), 2 * bump
    return sigma


def sigma_for_requests(setting: Setting, target: EpsilonDelta, *, requests: int) -> float:
    """The noise for learning and so many requests that may depend on released models.

    Every model is handed out, and each request is one step with all of `forget` still to come:

        mu(sigma)^2 = (mu_learn^2 + requests * mu_step^2) / sigma^2           (THEORY 8 b)

    Raises:
        Refused: the bound does not cover this setting.
    """
    step = Phase(1, setting.step_size, 1.0, setting.private + setting.public, setting.forget)
    learned = BOUNDS["shift"](setting.assumptions, setting.history(1.0, 0))
    stepped = BOUNDS["shift"](setting.assumptions, History((step,), setting.normaliser))
    assert isinstance(learned, GDP)
    assert isinstance(stepped, GDP)
    whole = math.hypot(learned.mu, math.sqrt(requests) * stepped.mu)
    return whole / gdp_for_epsilon(target.level, target.delta) * (1 + 1e-9)


def smallest_unlearn_steps(
    setting: Setting, target: Target, *, sigma: float, bound: str = "shift"
) -> int:
    """The fewest unlearning steps K that meet the target.

    Raises:
        Refused: no number of steps suffices, or the bound does not cover this setting.
    """

    def met(steps: int) -> bool:
        try:
            value = achieved(setting, target, sigma=sigma, unlearn_steps=steps, bound=bound)
        except Refused:
            if steps == 0:
                return False  # some bounds are infinite without unlearning
            raise
        return value <= target.level

    return least_where(met, "no number of unlearning steps suffices")


def smallest_public(
    setting: Setting, target: Target, *, sigma: float, unlearn_steps: int, bound: str = "shift"
) -> int:
    """The fewest public records that meet the target at this sigma and K."""
    floor = 1 if setting.forget == setting.private else 0

    def met(extra: int) -> bool:
        more = replace(setting, public=floor + extra)
        try:
            value = achieved(more, target, sigma=sigma, unlearn_steps=unlearn_steps, bound=bound)
        except Refused:
            return False  # with too little data a bound may be infinite
        return value <= target.level

    return floor + least_where(met, "no amount of public data suffices")
