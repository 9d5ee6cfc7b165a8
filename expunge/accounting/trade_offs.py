"""The curves behind a plan: how public data moves the noise and the steps that are needed."""

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from expunge.accounting.calibration import smallest_sigma, smallest_unlearn_steps
from expunge.accounting.setting import Setting
from expunge.accounting.target import EpsilonDelta
from expunge.errors import Refused

__all__ = ["trade_offs"]


def trade_offs(
    setting: Setting,
    target: EpsilonDelta,
    *,
    unlearn_steps: int,
    sigma: float,
    public_counts: Sequence[int],
) -> dict[str, object]:
    """For each amount of public data: sigma over the forget fraction, and the price of epsilon.

    That price is the unlearning steps at the given sigma; against observer `all`, for whom
    further steps change nothing, it is sigma. None stands where no value meets the target.
    """
    fractions = [i / 20 for i in range(1, 21)]
    epsilons = [0.1 * 10 ** (i / 8) for i in range(17)]
    curves = []
    for public in public_counts:
        here = replace(setting, public=public, forget=min(setting.forget, setting.private - 1))
        curves.append(
            {
                "public": public,
                "sigma": [_sigma(here, target, unlearn_steps, share) for share in fractions],
                "price": [_price(here, replace(target, level=e), sigma) for e in epsilons],
            }
        )
    return {
        "fractions": fractions,
        "epsilons": epsilons,
        "curves": curves,
        "price": "unlearn_steps" if setting.observer == "final" else "sigma",
        "sigma": sigma,
        "unlearn_steps": unlearn_steps,
        "learn_steps": setting.learn_steps,
        "epsilon": target.level,
        "delta": target.delta,
        "forget": setting.forget,
        "private": setting.private,
    }


def _sigma(setting: Setting, target: EpsilonDelta, steps: int, share: float) -> float | None:
    forget = math.ceil(Fraction(str(share)) * setting.private)  # the share as printed
    if forget == setting.private + setting.public:
        return None  # nothing would be retained
    return smallest_sigma(replace(setting, forget=forget), target, unlearn_steps=steps)


def _price(setting: Setting, target: EpsilonDelta, sigma: float) -> float | int | None:
    if setting.observer == "all":
        return smallest_sigma(setting, target, unlearn_steps=0)
    try:
        return smallest_unlearn_steps(setting, target, sigma=sigma)
    except Refused:
        return None
