"""`public_only`: the model of the public records alone. Exact, and it learns from nobody else.

Nobody's record is ever looked at, so a request changes nothing: the certificate's history is the
identity map from distance 0, which every bound calls epsilon = 0.
"""

from dataclasses import dataclass
from typing import ClassVar

from expunge.accounting.assumptions import Assumptions
from expunge.accounting.history import History, Phase
from expunge.accounting.prices import Price
from expunge.accounting.target import Observer
from expunge.errors import InvalidInput
from expunge.losses.solver import solve
from expunge.unlearning.linear.linear_job import LinearJob
from expunge.unlearning.model_file import add_salt
from expunge.unlearning.outcome import Outcome

__all__ = ["PublicOnly"]


@dataclass(frozen=True)
class PublicOnly:
    """Fit the public records, and no others.

    Args:
        tolerance: Of the gradient norm.
    """

    tolerance: float = 1e-6
    name: ClassVar[str] = "public_only"
    observers: ClassVar[tuple[Observer, ...]] = ("final", "all")
    comparator = "the same model: no private record is ever looked at"

    def __post_init__(self) -> None:
        if not 0 < self.tolerance < 1:
            raise InvalidInput("tolerance", f"{self.tolerance} must be between 0 and 1")

    def fit(self, job: LinearJob) -> Outcome:
        """The minimiser of the public objective.

        Raises:
            InvalidInput: there are no public records.
        """
        if not job.roster.public:
            raise InvalidInput("public", "public_only needs public records")
        theta = solve(job.public_objective, job.origin, tolerance=self.tolerance)
        names = ("strong_convexity", "smoothness", "lipschitz", "initial_distance")
        assumptions = Assumptions(
            strong_convexity=0.0,  # of the identity map, which the phase is
            smoothness=0.0,
            lipschitz=1.0,  # any bound is true of it
            marks=dict.fromkeys(names, "enforced"),
        )
        return Outcome(
            {"theta": theta},
            assumptions,
            History((Phase(1, 0.5, 0.0, job.roster.retained),)),
            declared=("no private record was looked at; the phase is the identity map",),
            noise_free=True,
            secret=add_salt(),
        )

    def forget(self, job: LinearJob, before: Outcome) -> Outcome:
        return self.fit(job)

    def add(self, job: LinearJob, before: Outcome) -> Outcome:
        return self.fit(job)

    def placebo(self, job: LinearJob, before: Outcome) -> Outcome:
        """It carries nothing over, so it is its own placebo."""
        return self.fit(job)

    def price(self, job: LinearJob, forget: int) -> Price:
        return Price(self.name, steps=0, epsilon=0.0, release_noise_std=0.0, guarantee="exact")
