"""What a deletion must achieve: a level that a guarantee stays within, against an observer.

An observer `final` sees only the model after deletion, `all` holds earlier releases too.
"""

from dataclasses import dataclass
from typing import Literal, Protocol

from expunge.accounting.bounds import Guarantee
from expunge.accounting.conversions import check_delta
from expunge.accounting.number_checks import check_number, check_positive
from expunge.errors import InvalidInput, Refused

__all__ = ["EpsilonDelta", "Observer", "RenyiWithin", "Target"]

Observer = Literal["final", "all"]


class Target(Protocol):
    """A level that a guarantee must stay within."""

    @property
    def level(self) -> float: ...

    def value(self, guarantee: Guarantee) -> float: ...


@dataclass(frozen=True)
class EpsilonDelta:
    """(epsilon, delta)-indistinguishability, in both directions."""

    level: float
    delta: float

    def __post_init__(self) -> None:
        check_delta(self.delta)
        level = check_positive("epsilon", self.level)
        if level > 1e6:
            raise InvalidInput("epsilon", "must be positive and at most 1e6")
        object.__setattr__(self, "level", level)
        object.__setattr__(self, "delta", float(self.delta))

    def value(self, guarantee: Guarantee) -> float:
        """The epsilon of a guarantee at this delta."""
        return guarantee.epsilon(self.delta)


@dataclass(frozen=True)
class RenyiWithin:
    """D_alpha within a level, in both directions."""

    level: float
    order: float = 2.0

    def __post_init__(self) -> None:
        check_positive("level", self.level)
        if check_number("order", self.order) <= 1:
            raise InvalidInput("order", "must be finite and above 1")

    def value(self, guarantee: Guarantee) -> float:
        """The Rényi divergence of a guarantee at this order."""
        divergence = guarantee.renyi(self.order)
        if divergence is None:
            raise Refused("this bound has no Rényi divergence")
        return divergence
