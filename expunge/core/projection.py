"""Projections as plain functions of stacked parameters (models, ...), one norm for each model."""

from collections.abc import Callable

import torch
from torch import Tensor

__all__ = ["Projection", "l2_ball", "norms", "whole_space"]

Projection = Callable[[Tensor], Tensor]


def norms(parameters: Tensor) -> Tensor:
    """Euclidean norm of each model: (models,); squares neither overflow nor vanish."""
    flat = parameters.flatten(1)
    largest = flat.abs().amax(dim=1, keepdim=True).clamp_min(torch.finfo(flat.dtype).tiny)
    return (flat / largest).norm(dim=1) * largest[:, 0]


def whole_space(parameters: Tensor) -> Tensor:
    """The identity: no constraint."""
    return parameters


def l2_ball(radius: float) -> Projection:
    """argmin over ||y|| <= radius of ||y - theta||: the identity inside, radial outside.

    Paper: [eq:pngd-update], [alg:pngd_training]. Never rescales a point inside the ball.
    """

    def project(parameters: Tensor) -> Tensor:
        scale = torch.clamp(radius / norms(parameters).clamp_min(1e-300), max=1.0)
        return parameters * scale.reshape(-1, *[1] * (parameters.dim() - 1))

    return project
