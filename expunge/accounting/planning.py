"""Before anything is run: what a deletion will cost, by every bound and every strategy.

Against observer `all`, who holds the learned model too, the learned model itself must carry
the noise: mu is its K = 0 value, further steps buy nothing, and neither retraining nor a
noise-free base model protects anyone (THEORY 2.11).
"""

from dataclasses import asdict, dataclass, replace
from typing import Literal

from expunge.accounting.bounds import BOUNDS
from expunge.accounting.calibration import (
    achieved,
    reported,
    smallest_public,
    smallest_sigma,
    smallest_unlearn_steps,
)
from expunge.accounting.number_checks import check_count, check_positive
from expunge.accounting.prices import (
    Price,
    langevin_price,
    list_prices,
    noise_first_price,
    release_noise,
    residual_price,
    retrain_price,
)
from expunge.accounting.setting import Setting
from expunge.accounting.target import EpsilonDelta
from expunge.errors import InvalidInput, Refused

__all__ = ["Figures", "Plan", "Verdict", "plan"]

Verdict = Literal["unlearn", "retrain", "none"]


@dataclass(frozen=True)
class Figures:
    """The five figures of a plan, by one bound.

    `sigma_needed` is what would suffice where the given sigma does not (observer `all`).
    """

    sigma: float | None = None
    unlearn_steps: int | None = None
    epsilon: float | None = None
    public_needed: int | None = None
    verdict: Verdict = "none"
    sigma_needed: float | None = None
    refused: str | None = None

    def document(self) -> dict[str, object]:
        """The figures as `expunge plan` prints them."""
        if self.refused is not None:
            return {"refused": self.refused}
        document = asdict(self)
        del document["refused"]
        if self.sigma_needed is None:
            del document["sigma_needed"]
        return document


@dataclass(frozen=True)
class Plan:
    """What a deletion costs by every bound and every strategy, as `expunge plan` prints it."""

    figures: Figures
    bounds: dict[str, Figures]
    strategies: list[Price]
    frontier: list[dict[str, float | int]]
    setting: Setting
    target: EpsilonDelta

    def document(self) -> dict[str, object]:
        """The plan as `expunge plan` prints it."""
        return {
            **self.figures.document(),
            "strategies": [asdict(price) for price in self.strategies],
            "bounds": {name: figures.document() for name, figures in self.bounds.items()},
            "frontier": self.frontier,
            "forget": self.setting.forget,
            "step_size": self.setting.step_size,
            "observer": self.setting.observer,
            "comparator": "retraining for as many steps on the records without the forgotten ones",
            "target": {"epsilon": self.target.level, "delta": self.target.delta},
            "vacuous": max(self.target.level, self.figures.epsilon or 0.0) > 20
            or self.target.delta * self.setting.private > 1,
        }


def plan(
    setting: Setting,
    target: EpsilonDelta,
    *,
    unlearn_steps: int | None = None,
    sigma: float | None = None,
) -> Plan:
    """Price a deletion by every bound and every strategy.

    With `unlearn_steps` sigma is solved for, with `sigma` the steps; with neither, the
    smallest sigma that needs fewer steps than retraining (K = T - 1).
    """
    if unlearn_steps is not None and sigma is not None:
        raise InvalidInput("sigma", "give the unlearning steps or sigma, not both")
    if unlearn_steps is not None:
        unlearn_steps = check_count("unlearn_steps", unlearn_steps)
    sigma = None if sigma is None else check_positive("sigma", sigma)
    bounds = {name: _figures(setting, target, unlearn_steps, sigma, name) for name in BOUNDS}
    figures = bounds["shift"]
    return Plan(
        figures=figures,
        bounds=bounds,
        strategies=_price_strategies(setting, target, figures),
        frontier=_frontier(setting, target),
        setting=setting,
        target=target,
    )


def _price_strategies(setting: Setting, target: EpsilonDelta, figures: Figures) -> list[Price]:
    """The price of every strategy, beside retraining by T steps."""
    steps, observer = figures.unlearn_steps, setting.observer
    langevin = langevin_price(
        setting,
        sigma=figures.sigma,
        unlearn_steps=steps,
        epsilon=figures.epsilon,
        met=figures.verdict != "none",
    )
    most = setting.learn_steps - 1
    noise_first = noise_first_price(setting, target, unlearn_steps=most if steps is None else steps)
    noise_std = release_noise(setting, target)
    residual = residual_price(target, release_noise_std=noise_std, observer=observer)
    retrain = retrain_price(setting.learn_steps, observer)
    return list_prices((langevin, noise_first, residual, retrain))


def _figures(
    setting: Setting,
    target: EpsilonDelta,
    unlearn_steps: int | None,
    sigma: float | None,
    bound: str,
) -> Figures:
    try:
        if sigma is not None:
            return _figures_for_sigma(setting, target, sigma, bound)
        steps = setting.learn_steps - 1 if unlearn_steps is None else unlearn_steps
        return _figures_for_steps(setting, target, steps, bound)
    except Refused as refusal:
        return Figures(refused=str(refusal))
    except ArithmeticError:
        return Figures(refused="the bound leaves the range of floating point")


def _figures_for_steps(setting: Setting, target: EpsilonDelta, steps: int, bound: str) -> Figures:
    if setting.observer == "all":
        setting, steps = _before_unlearning(setting), 0
    sigma = smallest_sigma(setting, target, unlearn_steps=steps, bound=bound)
    return Figures(
        sigma=sigma,
        unlearn_steps=steps,
        epsilon=reported(setting, target, sigma=sigma, unlearn_steps=steps, bound=bound),
        public_needed=smallest_public(
            setting, target, sigma=sigma, unlearn_steps=steps, bound=bound
        ),
        verdict="unlearn" if steps < setting.learn_steps else "retrain",
    )


def _figures_for_sigma(setting: Setting, target: EpsilonDelta, sigma: float, bound: str) -> Figures:
    if setting.observer == "all":
        return _figures_of_learned_model(_before_unlearning(setting), target, sigma, bound)
    steps = epsilon = public = None
    try:
        steps = smallest_unlearn_steps(setting, target, sigma=sigma, bound=bound)
        epsilon = reported(setting, target, sigma=sigma, unlearn_steps=steps, bound=bound)
    except Refused:
        achieved(setting, target, sigma=sigma, unlearn_steps=1, bound=bound)  # refuses and says why
    last = setting.learn_steps - 1
    try:
        public = smallest_public(setting, target, sigma=sigma, unlearn_steps=last, bound=bound)
    except Refused:
        public = None
    faster = steps is not None and steps < setting.learn_steps
    return Figures(sigma, steps, epsilon, public, "unlearn" if faster else "retrain")


def _figures_of_learned_model(
    setting: Setting, target: EpsilonDelta, sigma: float, bound: str
) -> Figures:
    epsilon = reported(setting, target, sigma=sigma, unlearn_steps=0, bound=bound)
    public = smallest_public(setting, target, sigma=sigma, unlearn_steps=0, bound=bound)
    if achieved(setting, target, sigma=sigma, unlearn_steps=0, bound=bound) <= target.level:
        return Figures(sigma, 0, epsilon, public, "unlearn")
    needed = smallest_sigma(setting, target, unlearn_steps=0, bound=bound)
    return Figures(sigma, None, epsilon, public, "none", sigma_needed=needed)


def _before_unlearning(setting: Setting) -> Setting:
    """The learned model alone: all that counts against an observer who holds it."""
    return replace(setting, observer="final")


def _frontier(setting: Setting, target: EpsilonDelta) -> list[dict[str, float | int]]:
    """Smallest sigma for a few numbers of unlearning steps below T."""
    if setting.observer == "all":
        return []
    most = setting.learn_steps - 1
    spread = {round(most ** (i / 8)) for i in range(9)} if most > 1 else {most}
    points: list[dict[str, float | int]] = []
    for steps in sorted({0, most, *(s for s in spread if 0 < s <= most)}):
        try:
            sigma = smallest_sigma(setting, target, unlearn_steps=steps)
        except Refused:
            continue
        points.append({"unlearn_steps": steps, "sigma": sigma})
    return points
