"""What unlearning may cost in risk when public and private data differ.

    private   E_U L_priv  <= factor * E_R L_train + M diam(Theta) TV   [prop:unlearning_da_risk]
    mixture   E_U L_train <=          E_R L_train + M diam(Theta) TV   [prop:unlearning_risk]

with w = n_pub/(n_pub + n_r-priv), n_r-priv the RETAINED PRIVATE records (E29), diam = 2R, and
D = D_inf(P_priv || P_pub). The paper's factor is e^(wD); the exact one, always smaller, is

    factor = 1 / ((1 - w) + w e^(-D))  <=  min(e^(wD), 1/(1 - w))           (E28)

so misalignment never makes it worse than (n_pub + n_r-priv)/n_r-priv. Needs losses >= 0 (E30).
TV is 2 Phi(mu/2) - 1 from GDP, or min(1, sqrt(D_alpha/2)) by Pinsker for alpha >= 1 (E31).
"""

import math
from dataclasses import dataclass
from numbers import Real

from expunge.accounting.conversions import gdp_total_variation, outward
from expunge.accounting.number_checks import check_count, check_number
from expunge.errors import InvalidInput

__all__ = ["RiskBound", "mismatch_factor", "mismatch_factor_paper", "pinsker", "public_weight"]


def public_weight(*, public: int, retained_private: int) -> float:
    """w = n_pub / (n_pub + n_r-priv)."""
    check_count("public", public)
    check_count("retained_private", retained_private)
    if public + retained_private == 0:
        raise InvalidInput("public", "no record is retained")
    return public / (public + retained_private)


def mismatch_factor(weight: float, d_infinity: float) -> float:
    """The exact factor: ess sup p_priv/p_train of the mixture w P_pub + (1-w) P_priv."""
    _check(weight, d_infinity)
    return 1 / ((1 - weight) + weight * math.exp(-d_infinity)) if weight < 1 else _exp(d_infinity)


def mismatch_factor_paper(weight: float, d_infinity: float) -> float:
    """The paper's looser factor e^(wD), kept beside the exact one."""
    _check(weight, d_infinity)
    return _exp(weight * d_infinity)


def pinsker(renyi: float) -> float:
    """TV <= min(1, sqrt(D_alpha/2)) for any order alpha >= 1."""
    return min(1.0, math.sqrt(renyi / 2))


@dataclass(frozen=True)
class RiskBound:
    """Risk of the unlearned model from the retrained one's.

    Args:
        retrained_risk: E_R L_train, the retrained model's risk on the training mixture.
        lipschitz: M of the loss in theta.
        radius: R of the compact weight set.
        total_variation: The distance between the unlearned and the retrained law.
    """

    retrained_risk: float
    lipschitz: float
    radius: float
    total_variation: float

    def __post_init__(self) -> None:
        if isinstance(self.retrained_risk, Real) and self.retrained_risk < 0:
            raise InvalidInput("retrained_risk", "the bound needs a loss that is never negative")
        check_number("retrained_risk", self.retrained_risk)
        check_number("lipschitz", self.lipschitz)
        check_number("radius", self.radius)
        if check_number("total_variation", self.total_variation) > 1:
            raise InvalidInput("total_variation", "must be in [0, 1]")

    @classmethod
    def from_gdp(
        cls, mu: float, *, retrained_risk: float, lipschitz: float, radius: float
    ) -> "RiskBound":
        """The bound with the total variation that mu-GDP allows."""
        return cls(retrained_risk, lipschitz, radius, gdp_total_variation(mu))

    @classmethod
    def from_renyi(
        cls, renyi: float, *, retrained_risk: float, lipschitz: float, radius: float
    ) -> "RiskBound":
        """The bound with the total variation that a Rényi divergence allows."""
        return cls(retrained_risk, lipschitz, radius, pinsker(renyi))

    @property
    def approximation(self) -> float:
        """M diam(Theta) TV: what unlearning adds to retraining."""
        return self.lipschitz * 2 * self.radius * self.total_variation

    def mixture(self) -> float:
        """The risk on the training mixture."""
        return outward(self.retrained_risk + self.approximation)

    def private(self, factor: float) -> float:
        """The risk on the private distribution, with a mismatch factor."""
        return outward(factor * self.retrained_risk + self.approximation)


def _exp(exponent: float) -> float:
    return math.exp(exponent) if exponent < 709 else math.inf


def _check(weight: float, d_infinity: float) -> None:
    if check_number("weight", weight) > 1:
        raise InvalidInput("weight", "must be in [0, 1]")
    if d_infinity != math.inf:  # says nothing about the mismatch
        check_number("d_infinity", d_infinity)
