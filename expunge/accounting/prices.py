"""What each way of honouring a request costs and leaves behind.

    langevin      noise in every step; K further steps on what remains      shift bound
    noise_first   noise-free learning, all noise in the first unlearning step,
                  then clean descent: mu = c Z_T / noise_std                THEORY 5.2
    residual      any solver to a gradient norm tol, then one draw:
                  mu = 2 tol / (m noise_std)                                THEORY 5.1
    retrain       from scratch                                              exact

The unit of work is a pass over the records: a full-batch step is one pass, and so is each gradient
or product with the Hessian that a solver takes. The denominator is what retraining costs in the
same list: T steps where retraining is descent, COLD_PASSES where it is a solver from zero.

    cost_of_retraining = passes of the strategy / passes of `retrain`

Counts and public constants decide; nothing here looks at the records' content.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

from expunge.accounting.bounds.shift import bound as shift_bound
from expunge.accounting.conversions import gdp_for_epsilon
from expunge.accounting.history import History, Phase
from expunge.accounting.moduli import Run, every_step
from expunge.accounting.setting import Setting
from expunge.accounting.target import EpsilonDelta, Observer
from expunge.errors import InvalidInput, Refused

__all__ = [
    "COLD_PASSES",
    "DISTANCE",
    "EXPOSED",
    "WARM_PASSES",
    "Price",
    "exposed_to",
    "langevin_price",
    "list_prices",
    "noise_first_price",
    "release_noise",
    "residual_price",
    "retrain_price",
]

WARM_PASSES = 16  # over the records, typical of a warm-started solve after deleting up to 10 %
COLD_PASSES = 24  # typical of a solve from zero
TOLERANCE = 1e-9
DISTANCE = 2.5e-3  # from the minimiser, for rows of norm 1: scores move by no more  (THEORY 6)
EXPOSED = (
    "its base model carries no noise: once released, the difference exposes the deleted records"
)


@dataclass(frozen=True)
class Price:
    """What a strategy would cost for one request, and what it would leave.

    `steps` is the work after the request in passes over the records, None where it is not known;
    `cost_of_retraining` the same as a share of what `retrain` costs in the same list;
    `release_noise_std` the noise left in the released model's flattest direction; `excluded` why
    the strategy cannot be taken, if it cannot.
    """

    name: str
    steps: float | None = None
    cost_of_retraining: float | None = None
    epsilon: float | None = None
    sigma: float | None = None
    release_noise_std: float | None = None
    guarantee: str = "shift"
    excluded: str | None = None


def list_prices(rows: Iterable[Price]) -> list[Price]:
    """List prices with costs as shares of what `retrain`, one of the rows, costs.

    Strategies that can be taken come first, the cheapest on top.
    """
    rows = list(rows)
    (retraining,) = (row.steps for row in rows if row.name == "retrain")
    listed = [replace(row, cost_of_retraining=_share(row.steps, retraining)) for row in rows]
    return sorted(listed, key=lambda price: (price.excluded is not None, price.steps or 0))


def _share(steps: float | None, retraining: float | None) -> float | None:
    return None if steps is None or retraining is None else steps / retraining


def retrain_price(passes: float, observer: Observer) -> Price:
    """The price of training anew: exact, and no protection against whoever holds the old model."""
    exposed = exposed_to(observer)
    return Price(
        name="retrain",
        steps=passes,
        epsilon=0.0 if exposed is None else None,
        sigma=0.0,
        release_noise_std=0.0,
        guarantee="exact",
        excluded=exposed,
    )


def exposed_to(observer: Observer) -> str | None:
    """Why this observer excludes strategies whose base model is free of noise (THEORY 2.11)."""
    return EXPOSED if observer == "all" else None


def langevin_price(
    setting: Setting,
    *,
    sigma: float | None,
    unlearn_steps: int | None,
    epsilon: float | None,
    met: bool,
) -> Price:
    """The price of further noisy steps; at least one is taken, on the records that are left.

    Args:
        sigma, unlearn_steps, epsilon: What was planned.
        met: Whether the plan meets the target.
    """
    noise = None
    unlearn_steps = None if unlearn_steps is None else max(1, unlearn_steps)
    if sigma is not None:
        noise = _remaining_noise(setting, setting.history(sigma, unlearn_steps or 0))
    can = met and unlearn_steps is not None
    return Price(
        name="langevin",
        steps=unlearn_steps,
        epsilon=epsilon,
        sigma=sigma,
        release_noise_std=noise,
        guarantee="shift",
        excluded=None if can else "the target cannot be met with this noise",
    )


def noise_first_price(setting: Setting, target: EpsilonDelta, *, unlearn_steps: int) -> Price:
    """The price with all noise in the first unlearning step; at least one step is taken."""
    steps, excluded = max(1, unlearn_steps), exposed_to(setting.observer)
    epsilon = sigma = noise = None
    if excluded is None:
        try:
            unit = shift_bound(setting.assumptions, _noise_first_history(setting, 1.0, steps))
            # mu is proportional to 1/sigma; the target's mu is rounded down.
            needed = unit.mu / gdp_for_epsilon(target.level, target.delta) * (1 + 1e-11)
            history = _noise_first_history(setting, needed, steps)
            epsilon = shift_bound(setting.assumptions, history).epsilon(target.delta)
            sigma, noise = needed, _remaining_noise(setting, history)
        except (Refused, InvalidInput) as error:
            excluded = str(error)
    return Price(
        name="noise_first",
        steps=steps,
        epsilon=epsilon,
        sigma=sigma,
        release_noise_std=noise,
        guarantee="shift",
        excluded=excluded,
    )


def residual_price(
    target: EpsilonDelta, *, release_noise_std: float | None, observer: Observer
) -> Price:
    """The price of a warm-started solve and one draw.

    Args:
        release_noise_std: The noise of that draw; None if the objective is not strongly convex.
    """
    excluded = exposed_to(observer)
    if release_noise_std is None:
        excluded = excluded or "needs a strongly convex objective"
    return Price(
        name="residual",
        steps=WARM_PASSES,
        epsilon=target.level if excluded is None else None,
        sigma=None,
        release_noise_std=release_noise_std,
        guarantee="shift",
        excluded=excluded,
    )


def release_noise(setting: Setting, target: EpsilonDelta) -> float | None:
    """The noise of a draw around a point near the minimiser, rounding left out.

    noise_std = 2 z / mu,   z = max(DISTANCE/M, tol/m); M is the rows' norm for two classes, and no
    more than sqrt 2 times it otherwise. None without strong convexity.
    """
    strong_convexity = setting.assumptions.strong_convexity
    if setting.assumptions.regime != "strongly convex" or not strong_convexity:
        return None
    steepest = setting.assumptions.lipschitz
    distance = max(TOLERANCE / strong_convexity, DISTANCE / steepest if steepest else 0.0)
    return 2 * distance / gdp_for_epsilon(target.level, target.delta)


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


def _remaining_noise(setting: Setting, history: History) -> float | None:
    """The noise std that remains after the last step in a direction that contracts by c."""
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
