"""An attack, an estimate and a certificate on the same models, with both controls.

    lower bound (an attack, at its confidence)  <=  truth  <=  certificate

Silence counts only beside a loud positive control (a planted fault, such as models that were never
unlearned), alarm only beside a quiet null control (two samples of the retrained law).
"""

from dataclasses import asdict, dataclass
from typing import Any

from torch import Tensor

from expunge.audit.lower_bound import EpsilonLowerBound, epsilon_lower_bound, models_needed
from expunge.divergence.projection import along

__all__ = ["Control", "Laws", "sandwich"]


@dataclass(frozen=True)
class Control:
    """Models with a planted fault, which an attack must catch.

    Args:
        fault: What was done wrong.
        of, against: (N, d) each.
        epsilon: What a sound procedure would have claimed.
    """

    fault: str
    of: Tensor
    against: Tensor
    direction: Tensor
    epsilon: float


@dataclass(frozen=True)
class Laws:
    """Models of a deletion's two laws and of the controls, each (N, d).

    Args:
        direction: In which the two laws differ; known without looking at these models.
        reach: The share of `mu` that the canaries attain.
        faulty_mu: What they would attain with a tenth of the noise.
    """

    unlearned: Tensor
    retrained: Tensor
    retrained_again: Tensor
    direction: Tensor
    epsilon: float
    mu: float
    control: Control
    reach: float
    faulty_mu: float


def sandwich(laws: Laws, *, delta: float) -> dict[str, Any]:
    """As a document for JSON."""

    def bound(of: Tensor, against: Tensor, direction: Tensor) -> EpsilonLowerBound:
        unit = direction / direction.norm()
        scores = [(part.double() @ unit).numpy() for part in (of, against)]
        return epsilon_lower_bound(of=scores[0], against=scores[1], delta=delta)

    control = laws.control
    found = bound(laws.unlearned, laws.retrained, laws.direction)
    null = bound(laws.retrained, laws.retrained_again, laws.direction)
    positive = bound(control.of, control.against, control.direction)
    caught = positive.contradicts(control.epsilon)
    unlearned, retrained = laws.unlearned.double(), laws.retrained.double()
    tests = models_needed(mu=laws.faulty_mu, claimed=laws.mu)
    return {
        "models": len(unlearned),
        "delta": delta,
        "lower_bound": asdict(found),
        "estimate": asdict(along(unlearned, retrained, laws.direction, order=2.0)),
        "certified": {"epsilon": laws.epsilon, "mu": laws.mu, "renyi_2": laws.mu**2},
        "contradicted": found.contradicts(laws.epsilon),
        "verdict": _verdict(found, null, caught, laws.epsilon, control.fault),
        "null_control": {"epsilon": null.value, "quiet": not null.contradicts(laws.epsilon)},
        "positive_control": {
            "fault": control.fault,
            "epsilon": positive.value,
            "claimed": control.epsilon,
            "caught": caught,
        },
        "canaries_reach": laws.reach,
        "models_to_catch_noise_over_10": None if tests is None else 2 * tests,
    }


def _verdict(
    found: EpsilonLowerBound, null: EpsilonLowerBound, caught: bool, epsilon: float, fault: str
) -> str:
    if null.contradicts(epsilon):
        return "cannot conclude: the null control, two samples of one law, raised an alarm too"
    if not found.contradicts(epsilon) and not caught:
        return f"cannot conclude: with {found.models} test models a law not even {fault} is caught"
    return found.verdict(epsilon)
