"""The two laws of [app:retrain_cost], fitted: public ratio against T, epsilon and c; K against n.

    small T   n_pub/n_priv + 1 = constant * T^a * epsilon^b * c^g; printed a = sigma^2 eta/(C alpha)
              with b = -1/2 and g = 1; corrected a = 1/2 (E15)
    large T   K against log n

An exponent is the least-squares slope in logarithms; its range is that of the slopes between
neighbouring points.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import log, sqrt
from typing import Any

import numpy as np

from experiments.printed import printed_public_ratio
from experiments.unlearn_or_retrain.cost import BOUNDS, public_ratio, setting, unlearn_steps
from experiments.unlearn_or_retrain.settings import Settings
from expunge.accounting.target import EpsilonDelta, RenyiWithin, Target

__all__ = ["exponents", "fitted", "limits", "ratios", "slope", "small_t_ratio"]

CONVERGED = 20_000  # T at which (1 - eta m)^T is 0 in float64


def ratios(settings: Settings) -> Iterator[dict[str, Any]]:
    """n_pub/n_priv with K <= T: as printed, by the corrected small-T law, and by each bound."""
    target = RenyiWithin(settings.law_level, settings.order)
    for sigma in (settings.law_sigma, *settings.sigmas):
        for steps in settings.learn_steps:
            needed = {
                bound: public_ratio(
                    settings, steps, settings.law_fraction, target, sigma=sigma, bound=bound
                )
                for bound in BOUNDS
            }
            yield {
                "sigma": sigma,
                "learn_steps": steps,
                "printed": max(0.0, _printed(settings, steps, sigma)),
                "small": max(0.0, small_t_ratio(settings, steps, sigma)),
                **needed,
            }


def exponents(settings: Settings) -> list[dict[str, Any]]:
    """One factor varied at a time from (T = 1, law_level, law_fraction, law_sigma)."""
    rows = []
    for bound in BOUNDS:
        for name, (values, needed) in _series(settings, bound).items():
            rows.append({"bound": bound, "of": name, **fitted(values, [1 + r for r in needed])})
    return rows


def limits(settings: Settings) -> Iterator[dict[str, Any]]:
    """K of a converged model against n, by what is held fixed as n grows; and from scratch."""
    for total in settings.totals:
        for name, (fraction, target) in _readings(settings, total).items():
            problem = setting(settings, CONVERGED, 0.0, fraction, private=total)
            for bound in BOUNDS:
                steps = unlearn_steps(problem, target, sigma=settings.limit_sigma, bound=bound)
                yield {"total": total, "fixed": name, "bound": bound, "steps": steps}
        yield {
            "total": total,
            "fixed": "from scratch",
            "bound": "shift",
            "steps": _from_scratch(settings, total),
        }


def _series(settings: Settings, bound: str) -> dict[str, tuple[Sequence[float], list[float]]]:
    def needed(steps: int, fraction: float, target: Target, step: float = 1.0) -> float:
        sigma = settings.law_sigma
        return public_ratio(settings, steps, fraction, target, sigma=sigma, bound=bound, step=step)

    renyi = RenyiWithin(settings.law_level, settings.order)
    share = settings.law_fraction
    small, levels = (1, 2, 5, 10, 20, 50, 100), (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
    middle, shares = (10, 15, 20, 30, 50, 70, 100), (0.05, 0.1, 0.2, 0.4, 0.6, 0.9)
    return {
        "T, small": (small, [needed(t, share, renyi, settings.slow_step) for t in small]),
        "T, middle": (middle, [needed(t, share, renyi) for t in middle]),
        "epsilon, of D_2": (
            levels,
            [needed(1, share, RenyiWithin(e, settings.order)) for e in levels],
        ),
        "epsilon, at delta": (
            levels,
            [needed(1, share, EpsilonDelta(e, settings.delta)) for e in levels],
        ),
        "n_f/n_priv": (shares, [needed(1, c, renyi) for c in shares]),
    }


def fitted(values: Sequence[float], found: Sequence[float]) -> dict[str, Any]:
    x, y = np.log(values), np.log(found)
    local = np.diff(y) / np.diff(x)
    return {
        "from": values[0],
        "to": values[-1],
        "exponent": float(np.polyfit(x, y, 1)[0]),
        "range": [float(local.min()), float(local.max())],
    }


def _printed(settings: Settings, learn_steps: int, sigma: float) -> float:
    return printed_public_ratio(
        forget_fraction=settings.law_fraction,
        strong_convexity=settings.ridge,
        step_size=1 / (0.25 + settings.ridge),
        sigma=sigma,
        learn_steps=learn_steps,
        log_sobolev=2 * sigma**2 / settings.ridge,
        order=settings.order,
        lipschitz=settings.lipschitz,
        level=settings.law_level,
    )


def small_t_ratio(settings: Settings, learn_steps: int, sigma: float) -> float:
    """2 sqrt(alpha) M c sqrt(eta T)/(sigma sqrt(eps)) - 1 (E15)."""
    spread = sqrt(settings.order * learn_steps / (0.25 + settings.ridge) / settings.law_level)
    return 2 * settings.lipschitz * settings.law_fraction * spread / sigma - 1


def _readings(settings: Settings, total: int) -> dict[str, tuple[float, Target]]:
    renyi = RenyiWithin(settings.law_level, settings.order)
    share = settings.limit_fraction
    return {
        "n_f": (settings.limit_forget / total, renyi),
        "n_f/n": (share, renyi),
        "n_f/n, delta = 1/n": (share, EpsilonDelta(settings.law_level, 1 / total)),
    }


def _from_scratch(settings: Settings, total: int) -> int:
    """Steps that bring any two starts together: retraining as Chien et al. count it.

    Starts lie in the ball of radius M/m, which holds every minimiser; the paper gives no radius.
    """
    problem = setting(settings, 1, 0.0, 0.0, private=total)
    apart = replace(problem.assumptions, initial_distance=2 * settings.lipschitz / settings.ridge)
    problem = replace(problem, assumptions=apart)
    target = RenyiWithin(settings.law_level, settings.order)
    return 1 + unlearn_steps(problem, target, sigma=settings.limit_sigma, bound="shift")


def slope(totals: Sequence[int], steps: Sequence[int]) -> float:
    """Steps for each factor e of n."""
    return float(np.polyfit([log(n) for n in totals], steps, 1)[0])
