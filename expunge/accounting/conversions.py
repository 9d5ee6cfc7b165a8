"""Between the currencies of indistinguishability: mu (GDP), Rényi, (epsilon, delta), TV.

mu-GDP means: at least as hard to tell apart as N(0, 1) and N(mu, 1), in both directions.

    delta(eps) = Phi(-eps/mu + mu/2) - e^eps Phi(-eps/mu - mu/2)
    D_alpha    = alpha mu^2 / 2
    TV         = 2 Phi(mu/2) - 1                                       (THEORY 2.1)

A bound D_alpha <= r(alpha) for all alpha gives (Canonne, Kamath, Steinke 2020,
arXiv:2004.00010v2, Proposition 12, as in dp-accounting)

    eps = min_{alpha > 1} r(alpha) + log((alpha-1)/alpha) - (log delta + log alpha)/(alpha-1)

Everything handed out is rounded outward, so that no reported number is below the exact
one: epsilons, deltas and divergences up, and the mu that a target allows down.
"""

import math
from collections.abc import Callable
from functools import lru_cache
from numbers import Real

import numpy as np
from scipy.optimize import brentq, minimize_scalar
from scipy.special import erfcx, ndtr, ndtri

from expunge.errors import InvalidInput

__all__ = [
    "check_delta",
    "epsilon_from_gdp",
    "epsilon_from_renyi",
    "gdp_delta",
    "gdp_for_epsilon",
    "gdp_log_delta",
    "gdp_renyi",
    "gdp_total_variation",
    "outward",
]

LEAST = 1e-300  # a positive value below this is reported as this
MARGIN = 4e-12  # relative error of a reported value, rounded outward
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(20)


def outward(value: float, relative: float = MARGIN) -> float:
    """The value rounded up by more than its arithmetic error; an exact 0 stays 0."""
    return 0.0 if value == 0 else max(value * (1 + relative), LEAST)


def gdp_renyi(mu: float, order: float) -> float:
    """D_alpha <= alpha mu^2 / 2, in both directions."""
    _check_mu(mu)
    if not order > 1:
        raise InvalidInput("order", "must be above 1")
    return max(outward(order * mu * mu / 2), LEAST) if mu else 0.0


def gdp_total_variation(mu: float) -> float:
    """TV <= 2 Phi(mu/2) - 1 = erf(mu / (2 sqrt 2))."""
    _check_mu(mu)
    return min(1.0, outward(math.erf(mu / (2 * math.sqrt(2)))))


def gdp_delta(mu: float, epsilon: float) -> float:
    """The smallest delta at this epsilon; at least 1e-300 unless exactly 0."""
    _check_mu(mu)
    if not math.isfinite(epsilon):
        raise InvalidInput("epsilon", "must be finite")
    if mu == 0:
        return 0.0
    return min(1.0, outward(math.exp(max(gdp_log_delta(mu, epsilon), -745.0)), 2 * MARGIN))


def gdp_log_delta(mu: float, epsilon: float) -> float:
    """log delta(eps), without underflow.

    With a = eps/mu - mu/2, b = a + mu and Mills' ratio m(x) = Phi(-x)/phi(x):
    delta = phi(a) (m(a) - m(b)), and m(a) - m(b) = int_a^b (1 - x m(x)) dx where the
    difference would cancel.
    """
    if mu == 0:
        return -math.inf
    return _log_delta(epsilon / mu - mu / 2, mu)


def _log_delta(a: float, mu: float) -> float:
    b = a + mu
    if a > 1e8:  # m(a) - m(b) = mu/(ab) up to 3/a^2
        if a > 1e150:
            return -math.inf
        return -a * a / 2 - math.log(_ROOT) + math.log(mu) - math.log(a) - math.log(b)
    if a < 0 and mu > 1e-3:
        return math.log(float(ndtr(-a)) - math.exp(-a * a / 2) * _mills(b) / _ROOT)
    if mu < 1e-3 * max(1.0, a):
        x = a + mu * (_NODES + 1) / 2
        integral = mu / 2 * float(_WEIGHTS @ _tail(x))
        return -a * a / 2 - math.log(_ROOT) + math.log(integral)
    return -a * a / 2 - math.log(_ROOT) + math.log(_mills(a) - _mills(b))


_ROOT = math.sqrt(2 * math.pi)


def _mills(x: float) -> float:
    return math.sqrt(math.pi / 2) * float(erfcx(x / math.sqrt(2)))


def _tail(x: np.ndarray) -> np.ndarray:
    """1 - x m(x), by its continued fraction where the difference would cancel."""
    direct = 1 - x * math.sqrt(math.pi / 2) * erfcx(x / math.sqrt(2))
    far = np.maximum(x, 4.0)
    fraction = far
    for k in range(120, 1, -1):  # t = 1/(x + 2/(x + 3/(x + ...))), 1 - x m = t/(x + t)
        fraction = far + k / fraction
    t = 1 / fraction
    return np.where(x > 4.0, t / (far + t), direct)


def epsilon_from_gdp(mu: float, delta: float) -> float:
    """The smallest epsilon at this delta."""
    _check_mu(mu)
    check_delta(delta)
    # A hair below delta: near epsilon = 0 its error scales with mu, not with itself.
    target = math.log(delta) - 1e-12
    if mu == 0 or _log_delta(-mu / 2, mu) <= target:
        return 0.0
    if mu > 1e150:
        return math.inf

    def excess(a: float) -> float:
        return _log_delta(a, mu) - target

    # Phi(-a) is above delta(eps), so its quantile is an upper end for a.
    top = max(-float(ndtri(delta)) if delta > LEAST else 38.0, -mu / 2) + 1e-9
    while excess(top) > 0:
        top += 1.0
    low = max(-mu / 2, -40.0)  # delta is 1 to all digits below
    a = float(brentq(excess, low, top, xtol=1e-15, rtol=1e-15, maxiter=200))  # pyright: ignore
    return outward(mu * (a + mu / 2)) if a > -mu / 2 else LEAST


@lru_cache(maxsize=64)  # a fit asks for the same target again and again
def gdp_for_epsilon(epsilon: float, delta: float) -> float:
    """The largest mu that meets (epsilon, delta), rounded down."""
    check_delta(delta)
    if not (math.isfinite(epsilon) and epsilon >= 0):
        raise InvalidInput("epsilon", "must be finite and not negative")
    target = math.log(delta)

    def excess(log_mu: float) -> float:
        return gdp_log_delta(math.exp(log_mu), epsilon) - target

    low, high = -5.0, 0.0
    while excess(low) > 0:
        low -= 5.0
    while excess(high) < 0:
        high += 1.0
    log_mu = float(brentq(excess, low, high, xtol=1e-15, rtol=1e-15, maxiter=200))  # pyright: ignore
    return math.exp(log_mu) * (1 - MARGIN)


def epsilon_from_renyi(renyi: Callable[[float], float], delta: float) -> float:
    """The smallest epsilon that divergences r(alpha), alpha > 1, give in one direction."""
    check_delta(delta)

    def epsilon(log_excess: float) -> float:
        excess = math.exp(log_excess)
        divergence, bonus = renyi(1 + excess), math.log1p(1 / excess)
        price = (math.log(delta) + math.log1p(excess)) / excess
        error = 1e-15 * (divergence + bonus + abs(price))  # of the difference, not of its value
        return divergence - bonus - price + error

    # A grid over log(alpha - 1), then Brent between the neighbours of its least value.
    grid = np.linspace(-40.0, 60.0, 401)
    values = [epsilon(x) for x in grid]
    i = int(np.argmin(values))
    minimum = minimize_scalar(
        epsilon,
        bounds=(grid[max(i - 1, 0)], grid[min(i + 1, 400)]),
        method="bounded",
        options={"xatol": 1e-10},
    )
    return outward(max(0.0, min(float(minimum.fun), values[i])))  # pyright: ignore[reportAttributeAccessIssue]


def _check_mu(mu: float) -> None:
    if not mu >= 0:
        raise InvalidInput("mu", "must not be negative")


def check_delta(delta: float) -> None:
    """Check that delta is a number between 0 and 1, neither included.

    Raises:
        InvalidInput: delta outside (0, 1).
    """
    if isinstance(delta, bool) or not isinstance(delta, Real) or not 0 < delta < 1:
        raise InvalidInput("delta", "must be in (0, 1)")
