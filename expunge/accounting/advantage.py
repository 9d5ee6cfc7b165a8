"""When to unlearn and when to retrain: the paper's computational-advantage analysis, corrected.

Retraining costs T steps. By the paper's bound, unlearning to D_alpha <= eps costs

    K(T) = (C alpha / (2 sigma^2 eta)) [ log A + log(1 - e^(-m eta T)) ],
    A = 4 alpha M^2 rho^2 / (m sigma^2 eps),  rho = n_f / (n_pub + n_priv)

Paper: [prop:sufficient_condition_retraining] with the dropped prefactor restored (E14), and
the public-data ratio with exponent 1/2 (E15). Sufficient, not necessary (E16). The condition
K(T) <= T is not monotone in T, so plans evaluate it at the actual T.
"""

import math
from dataclasses import dataclass

from expunge.accounting.search import least_where

__all__ = ["PaperAdvantage"]


@dataclass(frozen=True)
class PaperAdvantage:
    """The paper's cost of unlearning for a strongly convex loss.

    Args:
        forget_share: rho, forgotten over all records.
        log_sobolev: C of the learned law; 2 sigma^2/m by default.
    """

    forget_share: float
    strong_convexity: float
    step_size: float
    sigma: float
    lipschitz: float = 1.0
    order: float = 2.0
    level: float = 1.0
    log_sobolev: float | None = None

    @property
    def steps_per_nat(self) -> float:
        """C alpha / (2 sigma^2 eta): steps that divide the divergence by e."""
        constant = self.log_sobolev
        if constant is None:
            return self.order / (self.step_size * self.strong_convexity)
        return constant * self.order / (2 * self.sigma**2 * self.step_size)

    @property
    def log_initial(self) -> float:
        """log A: the divergence of a converged model, over the target."""
        m, sigma = self.strong_convexity, self.sigma
        squared = (2 * self.lipschitz * self.forget_share) ** 2
        if squared == 0:
            return -math.inf
        return math.log(self.order * squared / (m * sigma**2 * self.level))

    def unlearn_steps(self, learn_steps: float) -> int:
        """K(T), rounded up; `math.inf` for a converged model."""
        x = self.strong_convexity * self.step_size * learn_steps
        nats = self.log_initial + (math.log(-math.expm1(-x)) if x < math.inf else 0.0)
        return math.ceil(max(0.0, self.steps_per_nat * nats))

    def break_even_learn_steps(self) -> int:
        """The first T >= 1 at which unlearning costs no more than retraining.

        T - K(T) is convex in T, so if T = 1 fails, all T pass from one point on.
        """
        return 1 + least_where(lambda n: self.unlearn_steps(1 + n) <= 1 + n, "unreachable")

    def public_ratio(self, learn_steps: int, forget_fraction: float) -> float:
        """n_pub/n_priv that makes K(T) <= T, for `forget_fraction` of the private records.

        c sqrt(4 alpha M^2 (1 - e^(-m eta T))/(m sigma^2 eps)) e^(-sigma^2 eta T/(C alpha)) - 1
        """
        m, sigma = self.strong_convexity, self.sigma
        converged = -math.expm1(-m * self.step_size * learn_steps)
        initial = 4 * self.order * self.lipschitz**2 * converged / (m * sigma**2 * self.level)
        decay = math.exp(-learn_steps / (2 * self.steps_per_nat))
        return max(0.0, forget_fraction * math.sqrt(initial) * decay - 1)
