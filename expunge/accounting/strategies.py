"""What each way of honouring a request costs and leaves behind.

langevin      noise in every step; K further steps on what remains      shift bound
noise_first   noise-free learning, all noise in the first unlearning step,
              then clean descent: mu = c Z_T / noise_std                THEORY 5.2
residual      any solver to a gradient norm tol, then one draw:
              mu = 2 tol / (m noise_std)                                THEORY 5.1
retrain       T steps from scratch                                      exact
"""

import math
from dataclasses import dataclass

from expunge.accounting.bounds.shift import bound as shift_bound
from expunge.accounting.conversions import gdp_for_epsilon
from expunge.accounting.history import History, Phase
from expunge.accounting.moduli import Run, every_step
from expunge.accounting.setting import Setting
from expunge.accounting.target import EpsilonDelta
from expunge.errors import InvalidInput, Refused

__all__ = ["WARM_PASSES", "Strategy", "priced"]

WARM_PASSES = 16  # over the records, typical of a warm-started solve after deleting up to 10 %
TOLERANCE = 1e-9


@dataclass(frozen=True)
class Strategy:
    """One way to honour the request, priced.

    `steps` is the work after the request, `release_noise_std` the noise left in the released
    model's flattest direction, and `excluded` why the strategy cannot be taken, if it cannot.
    """

    name: str
    steps: int | None
    cost_of_retraining: float | None
    epsilon: float | None
    sigma: float | None
    release_noise_std: float | None
    guarantee: str
    excluded: str | None = None


def priced(
    setting: Setting,
    target: EpsilonDelta,
    *,
    sigma: float | None,
    unlearn_steps: int | None,
    epsilon: float | None,
    met: bool,
) -> list[Strategy]:
    """Every strategy: those that can be taken first, the cheapest of them on top.

    Args:
        sigma, unlearn_steps, epsilon, met: What the plan found for `langevin`.
    """
    learn_steps, exposed = setting.learn_steps, _exposes_the_base_model(setting)
    candidates = [
        _langevin(setting, sigma, unlearn_steps, epsilon, met),
        _noise_first(setting, target, learn_steps - 1 if unlearn_steps is None else unlearn_steps),
        _residual(setting, target, exposed),
        Strategy(
            name="retrain",
            steps=learn_steps,
            cost_of_retraining=1.0,
            epsilon=0.0 if exposed is None else None,
            sigma=0.0,
            release_noise_std=0.0,
            guarantee="exact",
            excluded=exposed,
        ),
    ]
    return sorted(candidates, key=lambda s: (s.excluded is not None, s.steps or 0))


def _langevin(
    setting: Setting, sigma: float | None, steps: int | None, epsilon: float | None, met: bool
) -> Strategy:
    noise = None
    if sigma is not None:
        noise = _left_noise(setting, setting.history(sigma, steps or 0))
    return Strategy(
        name="langevin",
        steps=steps,
        cost_of_retraining=None if steps is None else steps / setting.learn_steps,
        epsilon=epsilon,
        sigma=sigma,
        release_noise_std=noise,
        guarantee="shift",
        excluded=None if met and steps is not None else "the target cannot be met with this noise",
    )


def _noise_first(setting: Setting, target: EpsilonDelta, steps: int) -> Strategy:
    """All noise in the first of `steps` unlearning steps, at least one."""
    steps, excluded = max(1, steps), _exposes_the_base_model(setting)
    epsilon = sigma = noise = None
    if excluded is None:
        try:
            unit = shift_bound(setting.assumptions, _noise_first_history(setting, 1.0, steps))
            # mu is proportional to 1/sigma; the target's mu is rounded down.
            needed = unit.mu / gdp_for_epsilon(target.level, target.delta) * (1 + 1e-11)
            history = _noise_first_history(setting, needed, steps)
            epsilon = shift_bound(setting.assumptions, history).epsilon(target.delta)
            sigma, noise = needed, _left_noise(setting, history)
        except (Refused, InvalidInput) as error:
            excluded = str(error)
    return Strategy(
        name="noise_first",
        steps=steps,
        cost_of_retraining=steps / setting.learn_steps,
        epsilon=epsilon,
        sigma=sigma,
        release_noise_std=noise,
        guarantee="shift",
        excluded=excluded,
    )


def _residual(setting: Setting, target: EpsilonDelta, exposed: str | None) -> Strategy:
    """One draw around a point whose gradient is at most the tolerance, rounding left out."""
    strong_convexity = setting.assumptions.strong_convexity
    excluded, noise = exposed, None
    if setting.assumptions.regime != "strongly convex" or not strong_convexity:
        excluded = excluded or "needs a strongly convex objective"
    else:
        noise = 2 * TOLERANCE / (strong_convexity * gdp_for_epsilon(target.level, target.delta))
    return Strategy(
        name="residual",
        steps=WARM_PASSES,
        cost_of_retraining=WARM_PASSES / setting.learn_steps,
        epsilon=target.level if excluded is None else None,
        sigma=None,
        release_noise_std=noise,
        guarantee="shift",
        excluded=excluded,
    )


def _noise_first_history(setting: Setting, sigma: float, steps: int) -> History:
    samples, kept = (
        setting.private + setting.public,
        setting.private + setting.public - setting.forget,
    )
    phases = [
        Phase(setting.learn_steps, setting.step_size, 0.0, samples, setting.forget),
        Phase(1, setting.step_size, sigma, kept),
    ]
    if steps > 1:
        phases.append(Phase(steps - 1, setting.step_size, 0.0, kept))
    return History(tuple(phases), setting.normaliser)


def _exposes_the_base_model(setting: Setting) -> str | None:
    if setting.observer == "final":
        return None
    return "its noise-free base model was released: the difference exposes the deleted records"


def _left_noise(setting: Setting, history: History) -> float | None:
    """Noise std left after the last step in a direction that contracts by c."""
    variance = 0.0
    for part in every_step(setting.assumptions, history):
        assert isinstance(part, Run)
        c = part.contraction
        if 2 * part.steps * c.log > 600:
            return None  # expanding: the noise is bounded by the projection only
        gap = c.gap * (1 + c.c)
        grown = -math.expm1(2 * part.steps * c.log) / gap if gap else float(part.steps)
        variance = variance * math.exp(2 * part.steps * c.log) + part.noise_std**2 * grown
    return math.sqrt(variance)
