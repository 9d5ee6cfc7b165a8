"""What a bound hands back: a statement about two laws that holds in both directions.

GDP           mu; gives every divergence exactly
Renyi         D_alpha <= renyi(alpha) for every alpha > 1; goes to (epsilon, delta) through RDP only
HockeyStick   (epsilon, delta) pairs and nothing else
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from scipy.optimize import brentq

from expunge.accounting import conversions
from expunge.errors import Refused

__all__ = ["GDP", "Guarantee", "HockeyStick", "Renyi"]


class Guarantee(Protocol):
    """Both directions: U against R and R against U."""

    def epsilon(self, delta: float) -> float: ...

    def renyi(self, order: float) -> float | None: ...


@dataclass(frozen=True)
class GDP:
    mu: float

    def epsilon(self, delta: float) -> float:
        return _finite(conversions.epsilon_from_gdp(self.mu, delta))

    def renyi(self, order: float) -> float:
        return _finite(conversions.gdp_renyi(self.mu, order))

    def delta(self, epsilon: float) -> float:
        return conversions.gdp_delta(self.mu, epsilon)

    @property
    def total_variation(self) -> float:
        return conversions.gdp_total_variation(self.mu)


@dataclass(frozen=True)
class Renyi:
    divergence: Callable[[float], float]

    @classmethod
    def linear(cls, slope: float) -> "Renyi":
        """D_alpha <= alpha * slope for every alpha > 1."""
        return cls(lambda order: order * slope)

    def epsilon(self, delta: float) -> float:
        return _finite(conversions.epsilon_from_renyi(self.divergence, delta))

    def renyi(self, order: float) -> float:
        return _finite(conversions.outward(self.divergence(order)))


@dataclass(frozen=True)
class HockeyStick:
    log_delta: Callable[[float], float]

    def epsilon(self, delta: float) -> float:
        """The smallest epsilon with delta(epsilon) <= delta."""
        target = math.log(delta)

        def excess(epsilon: float) -> float:
            return max(self.log_delta(epsilon), -1e4) - target

        if excess(0.0) <= 0:
            return 0.0
        high = 1.0
        while excess(high) > 0:
            high *= 2
            if high > 1e9:
                raise Refused("no finite epsilon at this delta")
        found = float(brentq(excess, 0.0, high, xtol=1e-13, rtol=1e-13))  # pyright: ignore[reportArgumentType]
        while excess(found) > 0:
            found = found * (1 + 1e-12) + 1e-13
        return conversions.outward(found)

    def renyi(self, order: float) -> None:  # one delta curve has none
        return None


def _finite(value: float) -> float:
    if not math.isfinite(value):
        raise Refused("the bound is infinite")
    return value
