"""A solver on a few of the records, for what a request without a pass costs: its placebo.

A request without a pass costs far less than one look at every record. What can be had for that is a
solver on a few of them: as many as a warm start's passes over them would cost the same.
"""

from dataclasses import replace

import torch
from torch import Tensor

from expunge.losses.logistic import Logistic
from expunge.losses.solver import solve
from expunge.unlearning.linear.budget import metered, warm_passes
from expunge.unlearning.linear.linear_job import LinearJob

__all__ = ["of_few_records", "step_cost"]


def step_cost(job: LinearJob) -> float:
    """The cost of a request without a pass: its rows out of the sums, a factor, and products."""
    dimension, gone = float(job.dimension), len(job.roster.last_rows)
    sums = 2 if isinstance(job.loss, Logistic) else 1
    return 2.0 * sums * gone * dimension**2 + dimension**3 / 3 + (2 + 2 * sums) * dimension**2


def of_few_records(job: LinearJob, *, tolerance: float) -> Tensor:
    """Where the solver stands, from `job.beginning`, for the cost of a request without a pass.

    On records spread evenly over those retained, as many as that cost allows.
    """
    budget, (outputs, features) = step_cost(job), job.objective.shape
    places = job.roster.present.nonzero()[:, 0]
    most = int(budget / (warm_passes(job) * 4.0 * outputs * features))
    rows = min(len(places), max(1, most))
    spread = torch.arange(rows) * len(places) // rows
    keep = torch.zeros(len(job.features), dtype=torch.bool)
    keep[places[spread]] = True
    counted, meter = metered(job, budget)
    divisor = None if job.divisor is None else job.divisor * rows / len(places)
    few = replace(counted.objective, keep=keep, divisor=divisor)
    return meter.limit(lambda: solve(few, job.beginning, tolerance=tolerance), job.beginning)
