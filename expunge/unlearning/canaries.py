"""The worst case that a certificate must survive, built on purpose.

- `residual`: two points at opposite ends of the ball that its check accepts, both of which pass it:
  any solver may stop at either, so the claim covers them (THEORY 5.1).
- noisy descent: records to forget that pull where nothing else does, in the direction of the rows
  with the least spread, towards one label: their gradients add up and are hardly contracted.

For audits of one's own model; nothing here is ever released.
"""

from dataclasses import replace

import torch
from torch import Tensor

from expunge.unlearning.job import Job
from expunge.unlearning.residual import Residual
from expunge.unlearning.solver import Preconditioner, solve

__all__ = ["accepted_extremes", "with_canaries"]


def accepted_extremes(job: Job, strategy: Residual) -> tuple[Tensor, Tensor]:
    """Two points of the retained objective, as far apart as its check allows along a flat line."""
    objective = job.objective
    center = solve(
        objective,
        job.beginning,
        tolerance=strategy.tolerance / 100,
        preconditioner=Preconditioner.of(objective),
    )
    direction = _flattest(job, center)
    ends = []
    for sign in (1.0, -1.0):
        low, high = 0.0, strategy.tolerance / job.loss.l2
        for _ in range(40):
            middle = (low + high) / 2
            norm = float(objective.gradient(center + sign * middle * direction).norm())
            low, high = (middle, high) if norm <= strategy.tolerance else (low, middle)
        ends.append(center + sign * low * direction)
    return ends[0], ends[1]


def with_canaries(job: Job, rows: Tensor) -> Job:
    """The job with these private rows made the worst that could be asked to be forgotten."""
    features, targets = job.features.clone(), job.targets.clone()
    kept = features[job.keep].double()
    _, vectors = torch.linalg.eigh(kept[:, :-1].T @ kept[:, :-1])
    constant = features[rows, -1:].double()  # the intercept's feature stays what it is
    reach = (job.loss.row_norm**2 - constant.square()).clamp_min(0).sqrt() * (1 - 1e-6)
    features[rows, :-1] = (reach * vectors[:, 0]).to(features.dtype)
    targets[rows] = targets[job.keep].max()
    return replace(job, features=features, targets=targets)


def _flattest(job: Job, at: Tensor) -> Tensor:
    """A direction in which the objective has hardly more curvature than its ridge."""
    if at.shape[0] > 1:  # softmax does not see what is added to every class
        direction = torch.zeros_like(at)
        direction[:, 0] = 1
    else:
        kept = job.features[job.keep].double()
        direction = torch.linalg.eigh(kept.T @ kept)[1][:, 0][None]
    return direction / direction.norm()
