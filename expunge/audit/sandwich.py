"""An attack, an estimate and a certificate on the same models, with both controls.

    lower bound (an attack, at its confidence)  <=  truth  <=  certificate

Silence counts only beside a loud positive control (models that were never unlearned), alarm only
beside a quiet null control (two samples of the retrained law).
"""

from dataclasses import asdict, dataclass
from typing import Any

from torch import Tensor

from expunge.audit.lower_bound import EpsilonLowerBound, epsilon_lower_bound, models_needed
from expunge.divergence.projection import along

__all__ = ["Laws", "sandwich"]


@dataclass(frozen=True)
class Laws:
    """Models of a deletion's two laws and of the controls, each (N, d).

    Args:
        direction: In which the two laws differ; known without looking at these models.
        untouched: Models that were never unlearned, with their own direction.
    """

    unlearned: Tensor
    retrained: Tensor
    retrained_again: Tensor
    untouched: Tensor
    direction: Tensor
    untouched_direction: Tensor
    epsilon: float
    mu: float


def sandwich(laws: Laws, *, delta: float) -> dict[str, Any]:
    """As a document for JSON."""

    def bound(of: Tensor, against: Tensor, direction: Tensor) -> EpsilonLowerBound:
        unit = direction / direction.norm()
        scores = [(part.double() @ unit).numpy() for part in (of, against)]
        return epsilon_lower_bound(of=scores[0], against=scores[1], delta=delta)

    found = bound(laws.unlearned, laws.retrained, laws.direction)
    null = bound(laws.retrained, laws.retrained_again, laws.direction)
    positive = bound(laws.untouched, laws.retrained, laws.untouched_direction)
    unlearned, retrained = laws.unlearned.double(), laws.retrained.double()
    return {
        "models": len(unlearned),
        "delta": delta,
        "lower_bound": asdict(found),
        "estimate": asdict(along(unlearned, retrained, laws.direction, order=2.0)),
        "certified": {"epsilon": laws.epsilon, "mu": laws.mu, "renyi_2": laws.mu**2},
        "contradicted": found.contradicts(laws.epsilon),
        "verdict": _verdict(found, null, positive, laws.epsilon),
        "null_control": {"epsilon": null.value, "quiet": not null.contradicts(laws.epsilon)},
        "positive_control": {
            "epsilon": positive.value,
            "caught": positive.contradicts(laws.epsilon),
        },
        "models_to_catch_noise_over_10": models_needed(mu=10 * laws.mu, claimed=laws.mu),
    }


def _verdict(
    found: EpsilonLowerBound, null: EpsilonLowerBound, positive: EpsilonLowerBound, epsilon: float
) -> str:
    if null.contradicts(epsilon):
        return "cannot conclude: the null control, two samples of one law, raised an alarm too"
    if not found.contradicts(epsilon) and not positive.contradicts(epsilon):
        return (
            f"cannot conclude: with {found.models} test models a law not even a model that was "
            "never unlearned is caught"
        )
    return found.verdict(epsilon)
