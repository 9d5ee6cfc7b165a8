"""`retrain`: from scratch on what remains. Exact, epsilon = 0, and the yardstick.

The model after a deletion is a function of the retained records alone: cold start, and a
preconditioner computed from the retained rows. Protects nobody from an observer of the old model.
"""

from dataclasses import dataclass

from expunge.accounting.assumptions import Assumptions
from expunge.accounting.history import History, Phase
from expunge.accounting.prices import COLD_PASSES, Price, retrain_price
from expunge.core.checks import check_fields, positive
from expunge.unlearning.linear.by_passes import ByPasses
from expunge.unlearning.linear.linear_job import LinearJob
from expunge.unlearning.linear.residual import Residual
from expunge.unlearning.model_file import add_salt
from expunge.unlearning.outcome import Outcome
from expunge.unlearning.strategy import Strategy

__all__ = ["Retrain"]


@dataclass(frozen=True)
class Retrain(Strategy[LinearJob]):
    """The strategy `retrain`: solve from scratch on what remains.

    Args:
        tolerance: Of the gradient norm at which training stops.
    """

    tolerance: float = 1e-9
    name = "retrain"

    def __post_init__(self) -> None:
        check_fields(self, tolerance=positive)

    def fit(self, job: LinearJob) -> Outcome:
        theta = Residual(self.tolerance, distance=0).fit(job).theta
        phase = Phase(1, 1 / (job.loss.curvature + job.loss.l2), 0.0, job.roster.retained)
        loss = job.loss
        names = ("strong_convexity", "smoothness", "lipschitz", "weight_decay")
        assumptions = Assumptions(
            strong_convexity=loss.l2,
            smoothness=loss.curvature + loss.l2,
            lipschitz=loss.gradient_bound(ByPasses(job, self.tolerance).farthest),
            weight_decay=loss.l2,
            marks=dict.fromkeys(names, loss.mark),
        )
        return Outcome(
            {"theta": theta},
            assumptions,
            History((phase,)),
            noise_free=True,
            secret=add_salt(),
            declared=("retrained from scratch on the retained records; the phase stands for it",),
        )

    def forget(self, job: LinearJob, before: Outcome) -> Outcome:
        return self.fit(job)

    add = exchange = placebo = forget  # nothing is carried over, so it is its own placebo

    def price(self, job: LinearJob, forget: int) -> Price:
        return retrain_price(COLD_PASSES, job.observer)
