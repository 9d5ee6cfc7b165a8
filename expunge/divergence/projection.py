"""Lower estimates: one direction of the weights, chosen without the samples it is judged on.

By data processing the divergence of projected samples is at most that of the models. A direction
learned on half the samples reaches only D * D/(D + 2 d/N) of the truth; one known beforehand (the
difference of two noise-free runs) reaches all of it when the noise is isotropic.
"""

from dataclasses import replace

import torch
from torch import Tensor

from expunge.divergence.estimate import Estimate
from expunge.divergence.hotelling import hotelling, moments
from expunge.divergence.model_check import objections

__all__ = ["along", "held_out"]


def along(
    of: Tensor, against: Tensor, direction: Tensor, *, order: float, level: float = 0.95
) -> Estimate:
    """Args: direction: (d,), chosen without looking at these samples."""
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


def held_out(of: Tensor, against: Tensor, *, order: float, level: float = 0.95) -> Estimate:
    """A direction from the first halves by shrinkage, judged on the second halves.

    (S + g I)^-1 shift with g = tr(S)/d * d/(N/2): as many samples as dimensions halve the weight
    of the samples' own covariance.
    """
    half, other = len(of) // 2, len(against) // 2
    direction = _shrunk_direction(of[:half].double(), against[:other].double())
    found = along(of[half:], against[other:], direction, order=order, level=level)
    return replace(found, method="held-out projection")


def _shrunk_direction(first: Tensor, second: Tensor) -> Tensor:
    """By the Gram matrix of the samples where they are fewer than the dimensions."""
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
