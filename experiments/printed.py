"""The paper's formulas as printed, kept only to show what they do. Never certify with these.

Errata E1, E2, E7, E15, E17 of docs/errata.md.
"""

import math
from collections.abc import Callable

from scipy.integrate import quad

__all__ = [
    "printed_order_change",
    "printed_public_ratio",
    "printed_theorem",
    "variational_gaussian",
]


def printed_theorem(
    *, gradient_gap: float, step_size: float, sigma: float, learn_steps: int,
    contraction: float, initial_log_sobolev: float,
) -> float:  # fmt: skip
    """D_alpha/alpha by [theorem:learning_retraining]: eta^2 for eta (E1), no t = 0 term (E2).

    `gradient_gap` is 2 M rho; the constants C_{t,1} are the corrected ones, so what is left
    wrong is the prefactor and the sum.
    """
    variance = 2 * step_size * sigma**2
    constant, halves = initial_log_sobolev, []
    for _ in range(learn_steps):
        halves.append(contraction**2 * constant + variance / 2)
        constant = contraction**2 * constant + variance
    total = product = 0.0
    for t in range(learn_steps - 1, 0, -1):
        product = (product or 1.0) / (1 + step_size * sigma**2 / halves[t])
        total += product
    return gradient_gap**2 * step_size**2 / (2 * sigma**2) * total


def printed_order_change(order: float, ratio: float) -> float:
    """alpha(t) = (alpha-1)/(1 + eta sigma^2/C) of [lemma:yeshokri], without the 1 + (E7)."""
    return (order - 1) / (1 + ratio)


def printed_public_ratio(
    *, forget_fraction: float, strong_convexity: float, step_size: float, sigma: float,
    learn_steps: int, log_sobolev: float, order: float = 2.0, lipschitz: float = 1.0,
    level: float = 1.0,
) -> float:  # fmt: skip
    """n_pub/n_priv of [app:retrain_cost], exponent b = sigma^2 eta/(C alpha) (E15)."""
    m, b = strong_convexity, sigma**2 * step_size / (log_sobolev * order)
    constant = 2 * math.sqrt(order) * lipschitz * (m * step_size) ** b / m
    return constant * learn_steps**b / math.sqrt(level) * forget_fraction - 1


def variational_gaussian(distance: float, order: float, *, with_log: bool) -> float:
    """The largest value of [thm:variational]'s objective for N(d, 1) against N(0, 1), times alpha.

    Both objectives are largest at |g| = s (p/q)^a: as printed, pointwise, with s = a^(-a); with
    the log with s = 1/(a E_q (p/q)^a), where the value is D_a/a.
    """
    a = order
    moment = _integral(lambda x: _density(x - distance) ** a * _density(x) ** (1 - a), distance)
    scale = 1 / (a * moment) if with_log else a**-a  # g = -scale (p/q)^a, the best scale
    power = scale ** ((a - 1) / a) * moment
    second = math.log(power) if with_log else power
    return a * (-scale * moment + second / (a - 1) + (math.log(a) + 1) / a)


def _density(x: float) -> float:
    return math.exp(-x * x / 2) / math.sqrt(2 * math.pi)


def _integral(value: Callable[[float], float], distance: float) -> float:
    return float(quad(value, -12 - 3 * distance, 12 + 3 * distance, limit=400)[0])
