"""Whether constants that a certificate prints as enforced are true of the very objective.

Records, targets and points are the worst that the bounds allow, so that a constant which is a
tenth too good is contradicted: every test here plants such a fault too.
"""

from dataclasses import replace

import torch

from expunge.losses import Softmax, Squared
from tests.unlearning.problems import job_of

SLACK = 1e-9


def worst_job(loss, center_norm=0.0, **options):
    """Equal rows of full norm, half of them of one label or target and half of the other.

    Args:
        center_norm: Of the ridge's center, along the rows; no center where it is 0.
    """
    job = job_of(loss, **options)
    job.features[:] = 0
    job.features[:, 0] = loss.row_norm
    second = torch.arange(len(job.targets)) % 2 == 1
    targets = torch.where(second, 1, 0)
    if isinstance(loss, Squared):
        targets = torch.where(second, 5.0, -5.0) * loss.target_norm  # beyond the clip
    job = replace(job, targets=targets)
    return replace(job, center=center_norm * direction(loss)) if center_norm else job


def direction(loss):
    """Of length 1: where scores of equal rows move fastest apart."""
    along = torch.zeros(loss.outputs, 5, dtype=torch.float64)
    along[:, 0] = torch.tensor([1.0, -1.0, *[0.0] * loss.outputs])[: loss.outputs]
    return along / along.norm()


def even(job):
    """Where the loss bends most: equal odds of two classes, next to none for the others."""
    theta = torch.zeros_like(job.origin)
    if isinstance(job.loss, Softmax):
        theta[2:, 0] = -7.0
    return job.origin if isinstance(job.loss, Squared) else theta


def contradicted(assumptions, job, *points):
    """Names of the constants that gradients and curvature at these points show to be false."""
    known = {name: getattr(assumptions, name) for name in assumptions.marks}
    wrong = set()
    for theta in points:
        measured = _measured(job, theta)
        most = {"lipschitz": "gradient", "smoothness": "most bent", "radius": "distance"}
        for name, quantity in most.items():
            if name in known and measured[quantity] > known[name] * (1 + SLACK):
                wrong.add(name)
        if known["strong_convexity"] > measured["least bent"] * (1 + SLACK):
            wrong.add("strong_convexity")
        if "weight_decay" in known and not torch.allclose(
            measured["pull"], known["weight_decay"] * (theta - job.origin), rtol=1e-6, atol=1e-9
        ):
            wrong.add("weight_decay")
    return wrong


def falsified(assumptions):
    """(name, the same assumptions with that constant a tenth too good)."""
    better = {"strong_convexity": 1.1, "weight_decay": 1.1}
    for name in assumptions.marks:
        value = getattr(assumptions, name) * better.get(name, 0.9)
        yield name, replace(assumptions, **{name: value})


def _measured(job, theta):
    """Of the records present at theta: the longest gradient, extreme curvatures, the ridge."""
    rows, targets = job.features[job.roster.present].double(), job.targets[job.roster.present]
    residuals = job.loss.residual(rows @ theta.T, targets)
    product = job.objective.hessian_product(theta)
    units = torch.eye(theta.numel(), dtype=torch.float64).reshape(-1, *theta.shape)
    bent = torch.linalg.eigvalsh(torch.stack([product(unit).flatten() for unit in units]))
    return {
        "gradient": float((residuals.norm(dim=1) * rows.norm(dim=1)).max()),
        "most bent": float(bent.max()),
        "least bent": float(bent.min()),
        "distance": float((theta - job.origin).norm()),
        "pull": job.objective.gradient(theta) - residuals.T @ rows / len(rows),
    }
