"""Lower estimates: from less than the whole weights, chosen without the samples they are read on.

By data processing the divergence of projected samples is at most that of the models.

    estimate_along     one direction, known beforehand (the difference of two noise-free runs):
                       reaches all of it when the noise is isotropic
    estimate_held_out  a direction learned on half the samples reaches D * D/(D + 2 d/N) of D
    on_probes          what models answer on a probe set, for those who cannot see the weights
"""

from dataclasses import replace

import torch
from torch import Tensor

from expunge.divergence.estimate import Estimate
from expunge.divergence.hotelling import LEAST_RATIO, as_samples, hotelling, moments
from expunge.divergence.model_check import objections

__all__ = ["estimate_along", "estimate_held_out", "on_probes"]


def estimate_along(
    of: Tensor, against: Tensor, direction: Tensor, *, order: float, level: float = 0.95
) -> Estimate:
    """Estimate the divergence along one direction, a lower estimate of the whole.

    Args:
        direction: (d,), chosen without looking at these samples.
    """
    unit = (direction / direction.norm()).to(of.dtype)
    first, second = (of @ unit)[:, None].double(), (against @ unit)[:, None].double()
    notes = objections(first, second, torch.ones(1, dtype=torch.float64, device=first.device))
    estimate = hotelling(moments(first, second), order=order, level=level)
    return replace(
        estimate,
        method="projection",
        kind="lower estimate",
        model="Gaussians of equal variance along one direction",
        notes=notes,
    )


def estimate_held_out(
    of: Tensor, against: Tensor, *, order: float, level: float = 0.95
) -> Estimate:
    """Estimate the divergence on the second halves, along a direction learned on the first.

    (S + g I)^-1 shift with g = tr(S)/d * d/(N/2): as many samples as dimensions halve the weight
    of the samples' own covariance.
    """
    half, other = len(of) // 2, len(against) // 2
    direction = _shrunk_direction(of[:half].double(), against[:other].double())
    estimate = estimate_along(of[half:], against[other:], direction, order=order, level=level)
    return replace(estimate, method="held-out projection")


def on_probes(*, of: object, against: object, order: float = 2.0, level: float = 0.95) -> Estimate:
    """Estimate from logits (models, probes, classes), or (models, probes) of binary heads.

    Logits are compared up to a constant for each probe, so log-probabilities do as well. By
    `hotelling` if there are enough models and the answers have full rank, otherwise by
    `estimate_held_out`.

    Raises:
        ValueError: logits of different probes, or that are not finite.
    """
    first, second = _answers(of), _answers(against)
    if first.shape[1] != second.shape[1]:
        raise ValueError(f"logits: {first.shape[1]} and {second.shape[1]} answers of a model")
    d = first.shape[1]
    summary = None
    if len(first) + len(second) >= LEAST_RATIO * d + 10:
        try:
            summary = moments(first, second)
        except RuntimeError:  # singular: more answers than weights
            summary = None
    if summary is None:
        estimate = estimate_held_out(first, second, order=order, level=level)
    else:
        notes = objections(first, second, summary.direction)
        estimate = replace(hotelling(summary, order=order, level=level), notes=notes)
    return replace(
        estimate,
        method=f"logits on a probe set, {estimate.method}",
        kind="lower estimate",
        model=f"{estimate.model}, of {d} answers",
    )


def _answers(logits: object) -> Tensor:
    """Logits as (models, answers), without the constant that softmax ignores."""
    given = logits if isinstance(logits, Tensor) else torch.as_tensor(logits)
    if given.dim() == 3 and given.shape[2] > 1:
        given = given[..., :-1] - given[..., -1:]
    return as_samples(given).double()


def _shrunk_direction(first: Tensor, second: Tensor) -> Tensor:
    """The direction (S + g I)^-1 shift; by the Gram matrix if samples are fewer than dimensions."""
    shift = first.mean(0) - second.mean(0)
    centred = torch.cat([first - first.mean(0), second - second.mean(0)])
    count, d = centred.shape
    weight = float(centred.square().sum()) / count / d * (d / count)
    if d <= count:
        matrix = centred.T @ centred / count
        matrix.diagonal().add_(weight)
        return torch.linalg.solve(matrix, shift)
    small = centred @ centred.T / count  # Woodbury
    small.diagonal().add_(weight)
    inner = torch.linalg.solve(small, centred @ shift)
    return (shift - centred.T @ inner / count) / weight
