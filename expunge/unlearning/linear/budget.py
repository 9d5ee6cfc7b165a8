"""What a warm-started solver may spend, and where it stands when that is spent.

A placebo, and the head that public records alone make, have the same budget as a request. The Gram
matrix is, to the last bit, that of the records left, so it may be carried over here as it is by a
request.

Budgets are functions of counts and settings alone: how long a solver really took depends on what
is forgotten. A warm start takes WARM_PASSES over the rows at a ridge of B^2/1000, and, as measured
down to B^2/10^6, twice as many for every tenth of it. Costs are in FLOPs of matrix products: a
pass over n rows of d features and k outputs, there and back and through the preconditioner, is
4 (n + d) d k. A request also takes its rows out of the Gram matrix and factors it. Of wide rows the
Gram matrix is its diagonal, and costs as little. Zeros are counted like other numbers, so that a
budget says nothing of the rows.
"""

import math
from dataclasses import dataclass, field

from torch import Tensor

from expunge.accounting.prices import WARM_PASSES
from expunge.losses.metered import Meter, MeteredObjective
from expunge.losses.objective import Objective, gram_width
from expunge.losses.solver import solve
from expunge.unlearning.linear.linear_job import LinearJob

__all__ = [
    "metered",
    "nominal_cost",
    "warm_passes",
    "within_budget",
]


@dataclass(frozen=True, repr=False)
class MeteredJob(LinearJob):
    meter: Meter = field(default_factory=Meter)

    @property
    def objective(self) -> Objective:
        return MeteredObjective.of(super().objective, self.meter)


def metered(job: LinearJob, budget: float = math.inf) -> tuple[LinearJob, Meter]:
    """The same job, its products counted."""
    meter = Meter(budget)
    known = {name: getattr(job, name) for name in LinearJob.__dataclass_fields__}
    return MeteredJob(**known, meter=meter), meter


def nominal_cost(job: LinearJob) -> float:
    """The cost of a warm-started request under `residual`."""
    return _cost(job, warm_passes(job))


def within_budget(job: LinearJob, *, tolerance: float, passes: float) -> Tensor:
    """Where the solver stands, from `job.beginning`, when so many passes are spent."""
    counted, meter = metered(job, _cost(job, passes))

    def work() -> Tensor:
        meter.charge(_taken_out(job))
        gram = job.objective.gram(job.roster.present)  # as if carried over
        return solve(counted.objective, job.beginning, tolerance=tolerance, gram=gram)

    return meter.limit(work, job.beginning)


def _cost(job: LinearJob, passes: float) -> float:
    """The cost of passes over the rows present and of one preconditioner."""
    objective = job.objective
    outputs, features = objective.shape
    width = gram_width(features)
    one_pass = 4.0 * (objective.rows + width) * outputs * features
    return passes * one_pass + _taken_out(job) + features * width**2 / 3


def _taken_out(job: LinearJob) -> float:
    """The cost of taking a request's rows out of the Gram matrix, which samples a share of them."""
    objective, gone = job.objective, len(job.roster.last_rows)
    share = float(objective.sampled.double().mean())
    features = objective.shape[1]
    return 2.0 * share * gone * features * gram_width(features)


def warm_passes(job: LinearJob) -> float:
    """Passes over the rows that a warm start takes, typically."""
    flatter = job.loss.row_norm**2 / (1000 * job.loss.l2)
    return WARM_PASSES * max(1.0, flatter ** math.log10(2))
