"""`renyi_estimate`: picks a method by a documented rule and says what its value is.

    enough samples (N1 + N2 >= 3 d + 10)  hotelling: unbiased for Gaussians of equal covariance;
                                          notes tell what the samples say against that model
    fewer                                 held-out projection: a lower estimate

Or name one: "hotelling", "projection", "nearest neighbours" and "convex conjugate" (on a line).
Coupled pairs and the linear-noise prediction need more than samples (`coupled`, `linear_noise`):
whoever has the `Problem` that heads are sampled from should take them first, by
`expunge.audit.coupled_estimate` and `expunge.audit.predicted`, and samples only where those say
that they are outside their range. Logits on a probe set: `lower_estimates.on_probes`.
"paper" is its discriminator (`discriminator`), for reproduction only, with a warning.
"""

from dataclasses import replace
from typing import Any, Literal

from expunge.divergence.discriminator import WARNING, discriminator_readings
from expunge.divergence.estimate import Estimate
from expunge.divergence.hotelling import LEAST_RATIO, as_samples, hotelling, moments
from expunge.divergence.lower_estimates import estimate_held_out
from expunge.divergence.model_check import objections
from expunge.divergence.nearest_neighbours import nearest_neighbours
from expunge.divergence.variational import conjugate_on_a_line

__all__ = ["Method", "renyi_estimate"]

Method = Literal[
    "auto", "hotelling", "projection", "nearest neighbours", "convex conjugate", "paper"
]


def renyi_estimate(
    *, of: Any, against: Any, order: float = 2.0, method: Method = "auto", level: float = 0.95
) -> Estimate:
    """Estimate D_order(of || against) from samples (N, ...) of both laws.

    Raises:
        ValueError: samples that do not fit together, or that the method cannot use.
    """
    first, second = as_samples(of), as_samples(against)
    if first.shape[1] != second.shape[1]:
        raise ValueError(f"samples: {first.shape[1]} and {second.shape[1]} dimensions")
    if method == "auto":
        enough = len(first) + len(second) >= LEAST_RATIO * first.shape[1] + 10
        method = "hotelling" if enough else "projection"
    if method == "hotelling":
        summary = moments(first, second)
        estimate = hotelling(summary, order=order, level=level)
        return replace(estimate, notes=objections(first, second, summary.direction))
    if method == "projection":
        return estimate_held_out(first, second, order=order, level=level)
    if method == "paper":
        readings = discriminator_readings(of=first, against=second, order=order)
        gap = sum(readings.trained) / len(readings.trained) - readings.value
        notes = (WARNING, f"on its own training samples it reads {gap:.3g} more")
        return Estimate(
            readings.value, None, "paper", "lower estimate", order, level, "1-Lipschitz critics",
            notes,
        )  # fmt: skip
    if first.shape[1] != 1:
        raise ValueError(f"method: {method!r} works on a line; project the samples first")
    line = first[:, 0].double().cpu().numpy(), second[:, 0].double().cpu().numpy()
    if method == "nearest neighbours":
        value = nearest_neighbours(*line, order=order)
        return Estimate(value, None, method, "lower estimate", order, level, "densities on a line")
    if method == "convex conjugate":
        value = conjugate_on_a_line(*line, order=order)
        return Estimate(value, None, method, "lower estimate", order, level, "densities on a line")
    raise ValueError(f"method: {method!r} is unknown")
