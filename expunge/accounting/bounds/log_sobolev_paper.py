"""The paper's bound as its authors would use it, corrected: the yardstick.

    D_alpha <= alpha (4 M^2 rho^2/(m sigma^2)) (1 - e^(-m eta T)) e^(-K eta m/alpha)

Paper: [eq:strgly_cvx_sigma] (Chien et al. 2024, Theorem 3.3) and [thm:unlearning_init_bound]
with C = 2 sigma^2/m; THEORY 2.12. Only for m > 0, eta <= 2/(m+L), C_0 <= 2 sigma^2/m, and
one learning phase followed by at most one unlearning phase of equal eta and sigma.
"""

import math

from expunge.accounting.assumptions import Assumptions
from expunge.accounting.bounds.guarantee import Renyi
from expunge.accounting.bounds.log_sobolev import (
    initial_constant,
    refuse_initial_distance,
    refuse_uncovered,
)
from expunge.accounting.history import History
from expunge.accounting.moduli import Run, moduli
from expunge.errors import Refused

__all__ = ["bound", "decay_per_step", "learning_divergence"]


def bound(assumptions: Assumptions, history: History) -> Renyi:
    """Bound the Rényi divergence by the paper's formula, corrected, where its hypotheses hold.

    Raises:
        Refused: a hypothesis that the top of this file names does not hold.
    """
    refuse_uncovered(history)
    refuse_initial_distance(assumptions)
    if assumptions.regime != "strongly convex":
        raise Refused("needs a strongly convex loss")
    m, smoothness = assumptions.strong_convexity or 0.0, assumptions.smoothness or 0.0
    learn, *later = history.phases
    if len(later) > 1 or (later and later[0].forgotten) or not learn.forgotten:
        raise Refused("needs one learning phase and at most one unlearning phase")
    if any((p.step_size, p.sigma) != (learn.step_size, learn.sigma) for p in later):
        raise Refused("needs the same step size and sigma in both phases")
    if any(phase.batches or phase.poisson for phase in history.phases):
        raise Refused("needs full batches")
    if learn.step_size > 2 / (m + smoothness):
        raise Refused("needs a step size of at most 2/(m+L)")
    if learn.sigma == 0:
        raise Refused("needs noise")
    if initial_constant(assumptions, history) > 2 * learn.sigma**2 / m:
        raise Refused("needs an initial log-Sobolev constant of at most 2 sigma^2/m")
    (parts,) = moduli(assumptions, history)
    assert isinstance(parts[0], Run)
    learned = learning_divergence(
        gradient_gap=parts[0].shift / learn.step_size,
        strong_convexity=m,
        step_size=learn.step_size,
        sigma=learn.sigma,
        learn_steps=learn.steps,
    )
    steps = later[0].steps if later else 0
    rate = decay_per_step(strong_convexity=m, step_size=learn.step_size)

    def divergence(order: float) -> float:
        if not learned:
            return 5e-324  # an underflow
        decay = steps * rate / order
        if decay < 700:
            return max(order * learned * math.exp(-decay), 5e-324)
        return max(math.exp(math.log(order) + math.log(learned) - decay), 5e-324)

    return Renyi(divergence)


def learning_divergence(
    *,
    gradient_gap: float,
    strong_convexity: float,
    step_size: float,
    sigma: float,
    learn_steps: int,
) -> float:
    """D_alpha/alpha after learning; `gradient_gap` is 2 M rho (mean normaliser)."""
    converged = -math.expm1(-strong_convexity * step_size * learn_steps)
    # Divided before it is squared: neither gap^2 nor sigma^2 may underflow alone.
    return (gradient_gap / sigma / math.sqrt(strong_convexity)) ** 2 * converged


def decay_per_step(*, strong_convexity: float, step_size: float) -> float:
    """The rate 2 sigma^2 eta / C with C = 2 sigma^2/m: a step multiplies D by e^(-rate/alpha)."""
    return step_size * strong_convexity
