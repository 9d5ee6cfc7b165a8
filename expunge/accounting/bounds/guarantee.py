"""What a bound returns: a statement about two laws that holds in both directions.

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
    """A statement about the laws U and R that holds for U against R and for R against U."""

    def epsilon(self, delta: float) -> float: ...

    def renyi(self, order: float) -> float | None: ...


@dataclass(frozen=True)
class GDP:
    """mu-GDP: at least as hard to tell apart as N(0, 1) and N(mu, 1)."""

    mu: float

    def epsilon(self, delta: float) -> float:
        """The smallest epsilon at this delta."""
        return _finite(conversions.epsilon_from_gdp(self.mu, delta))

    def renyi(self, order: float) -> float:
        """The largest D_alpha at this order."""
        return _finite(conversions.gdp_renyi(self.mu, order))

    def delta(self, epsilon: float) -> float:
        """The smallest delta at this epsilon."""
        return conversions.gdp_delta(self.mu, epsilon)

    @property
    def total_variation(self) -> float:
        """The largest total variation distance."""
        return conversions.gdp_total_variation(self.mu)


@dataclass(frozen=True)
class Renyi:
    """A bound on D_alpha for every alpha > 1."""

    divergence: Callable[[float], float]

    @classmethod
    def linear(cls, slope: float) -> "Renyi":
        """D_alpha <= alpha * slope for every alpha > 1."""
        return cls(lambda order: order * slope)

    def epsilon(self, delta: float) -> float:
        """The smallest epsilon at this delta."""
        return _finite(conversions.epsilon_from_renyi(self.divergence, delta))

    def renyi(self, order: float) -> float:
        """The largest D_alpha at this order."""
        return _finite(conversions.outward(self.divergence(order)))


@dataclass(frozen=True)
class HockeyStick:
    """A curve of log delta over epsilon, and nothing else."""

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
        root = float(brentq(excess, 0.0, high, xtol=1e-13, rtol=1e-13))  # pyright: ignore[reportArgumentType]
        while excess(root) > 0:
            root = root * (1 + 1e-12) + 1e-13
        return conversions.outward(root)

    def renyi(
        self, order: float
    ) -> None:  # a curve of delta over epsilon bounds no Rényi divergence
        return None


def _finite(value: float) -> float:
    if not math.isfinite(value):
        raise Refused("the bound is infinite")
    return value
