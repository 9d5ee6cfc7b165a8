"""Projected noisy gradient descent (PNGD).

    theta[t+1] = Proj( theta[t] - eta * grad L(theta[t]) + sqrt(2 * eta) * sigma * xi[t] )

with xi[t] ~ N(0, I).  Paper: [alg:pngd_training], [alg:langevin_unlearning].

Learning, unlearning and retraining are all this one kernel. They differ in the data behind
`gradient` and in where theta[0] comes from, never in this file.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

from torch import Tensor

from expunge.core.projection import Projection
from expunge.core.randomness import NORMAL_ERROR
from expunge.losses.objective import UNIT

__all__ = ["Kernel", "build", "step_rounding"]

Gradient = Callable[[Tensor, int], Tensor]  # parameters (models, ...), step index
Normal = Callable[[Tensor], Tensor]  # standard normal noise shaped like its argument


class Kernel(NamedTuple):
    """One step, whole or in its parts: what happens before the noise, the noise, the projection."""

    mean: Callable[[Tensor, int], Tensor]
    step: Callable[[Tensor, int, Normal], Tensor]
    noise_std: float
    project: Projection


def build(gradient: Gradient, *, step_size: float, sigma: float, project: Projection) -> Kernel:
    """Bind the hyperparameters; `sigma` is the paper's sigma, not the noise std.

    Args:
        gradient: The gradient of the objective at stacked parameters, for the given step.
        step_size: eta.
        sigma: Noise scale; each coordinate receives std sqrt(2 * eta) * sigma.
        project: Projection onto the constraint set.
    """
    noise_std = math.sqrt(2 * step_size) * sigma

    def mean(parameters: Tensor, index: int) -> Tensor:
        return parameters - step_size * gradient(parameters, index)

    def step(parameters: Tensor, index: int, normal: Normal) -> Tensor:
        moved = mean(parameters, index)
        return project(moved + noise_std * normal(moved) if noise_std else moved)

    return Kernel(mean, step, noise_std, project)


def step_rounding(
    *,
    step_size: float,
    gradient: float,
    noise_std: float,
    dimension: int,
    operations: int,
    farthest: float,
) -> float:
    """One step's error: its gradient's, its own operations' and norm's, and its noise's."""
    noise = noise_std * math.sqrt(dimension) * NORMAL_ERROR
    return (step_size * gradient + operations * UNIT * farthest + noise) * (1 + 1e-6)
