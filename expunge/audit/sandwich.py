"""An attack, an estimate and a certificate on the same models, with both controls.

    lower bound (an attack, at its confidence)  <=  truth  <=  certificate

Nothing is said unless the positive control (a planted fault, such as models that were never
unlearned) is caught and the null control (two samples of the retrained law) is quiet: `verdict`.
Bounds are shown at 95 %; what is decided is decided at DECISIVE.
"""

from dataclasses import asdict, dataclass
from typing import Any

from torch import Tensor

from expunge.audit.lower_bound import (
    DECISIVE,
    EpsilonLowerBound,
    epsilon_lower_bound,
    models_needed,
)
from expunge.audit.verdict import Controls, judge
from expunge.divergence.lower_estimates import estimate_along

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
    """An attack, an estimate and a certificate, with controls and verdict, for JSON."""
    control = laws.control
    attack = _bound(laws.unlearned, laws.retrained, laws.direction, delta)
    null = _bound(laws.retrained, laws.retrained_again, laws.direction, delta)
    positive = _bound(control.of, control.against, control.direction, delta)
    controls = Controls(null, positive, control.fault, control.epsilon)
    verdict = judge(attack, epsilon=laws.epsilon, controls=controls)
    unlearned, retrained = laws.unlearned.double(), laws.retrained.double()
    tests = models_needed(mu=laws.faulty_mu, claimed=laws.mu, level=DECISIVE)
    return {
        "models": len(unlearned),
        "delta": delta,
        "lower_bound": asdict(attack),
        "decision": _decision(attack),
        "estimate": asdict(estimate_along(unlearned, retrained, laws.direction, order=2.0)),
        "certified": {"epsilon": laws.epsilon, "mu": laws.mu, "renyi_2": laws.mu**2},
        "contradicted": verdict.contradicted,
        "conclusive": verdict.conclusive,
        "verdict": verdict.words,
        "exit_status": verdict.exit_status,
        "null_control": {
            "epsilon": null.value,
            "decision": _decision(null),
            "quiet": controls.quiet,
        },
        "positive_control": {
            "fault": control.fault,
            "epsilon": positive.value,
            "decision": _decision(positive),
            "claimed": control.epsilon,
            "caught": controls.caught,
        },
        "canaries_reach": laws.reach,
        "models_to_catch_noise_over_10": None if tests is None else 2 * tests,
    }


def _bound(of: Tensor, against: Tensor, direction: Tensor, delta: float) -> EpsilonLowerBound:
    unit = direction / direction.norm()
    scores = [(part.double() @ unit).numpy() for part in (of, against)]
    return epsilon_lower_bound(of=scores[0], against=scores[1], delta=delta)


def _decision(bound: EpsilonLowerBound) -> dict[str, float]:
    """What the same counts show at the confidence that decides."""
    decided = bound.decided
    return {
        "level": decided.level,
        "epsilon": decided.value,
        "mu": decided.mu,
        "ceiling": decided.ceiling,
    }
