"""Requests by passes over the records: ||grad F_r(theta)|| <= tol, checked at the very point.

    z = (tol + u)/m,  u a proven bound on the gradient's rounding                     (THEORY 5.1)

A request starts at the last solution, and subtracts its rows from the solver's Gram matrix, which
is then, to the last bit, that of the records without them.
"""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from expunge.core.row_products import largest_of
from expunge.errors import NoCertificate
from expunge.losses.objective import Gram, Objective
from expunge.losses.solver import solve
from expunge.losses.tolerances import solution_norm
from expunge.unlearning.linear.budget import warm_passes, within_budget
from expunge.unlearning.linear.linear_job import LinearJob

__all__ = ["ByPasses"]


@dataclass(frozen=True, repr=False)
class ByPasses:
    """The rule by which a job's requests take passes.

    Args:
        tolerance: Of the gradient norm at which passes stop.
    """

    job: LinearJob
    tolerance: float
    proven: ClassVar[str] = "(tolerance + rounding)/ridge, checked in float64 at the noised point"
    retained: ClassVar[tuple[str, ...]] = (
        "the un-noised solution",
        "the rows' Gram matrix, to the last bit that of the records without the forgotten ones",
    )

    @property
    def farthest(self) -> float:
        """A bound on the norm of any point that is within the tolerance."""
        return solution_norm(self.job.loss, self.job.center, self.tolerance)

    @property
    def reach(self) -> float:
        """z: how far from the minimiser such a point is at most. Public constants only."""
        rounding = self.job.resolution.gradient_rounding(self.farthest)
        return (self.tolerance + rounding) / self.job.loss.l2 * (1 + 1e-12)

    def solve(self, start: Tensor, gram: Gram) -> Tensor:
        return solve(self.job.objective, start, tolerance=self.tolerance / 2, gram=gram)

    def find(self, start: Tensor, gram: Gram) -> Tensor:
        """A point within the tolerance, checked.

        Raises:
            NoCertificate: the solver's point does not satisfy its own check.
        """
        theta = self.solve(start, gram)
        residual = float(self.job.objective.gradient(theta).norm())
        # `Resolution.check` has seen to it that both can be met
        if not (residual <= self.tolerance and float(theta.norm()) <= self.farthest):
            raise NoCertificate("the solver's point does not satisfy its own check")
        return theta

    def kept(self, theta: Tensor, gram: Gram) -> dict[str, Tensor]:
        """The secret state after fit."""
        whole = not self.job.roster.request  # else the sample is not by place in the table
        return _secret(self.job.objective, theta, gram) if whole else {"theta": theta}

    def near(self, before: dict[str, Tensor]) -> tuple[Tensor, dict[str, Tensor], bool]:
        """A point within reach, the secret state after it, and that passes were made."""
        gram = _gram_left(self.job, before)
        theta = self.find(before["theta"], gram)
        return theta, _secret(self.job.objective, theta, gram), True

    def anew(self, before: dict[str, Tensor]) -> dict[str, Tensor]:
        """The secret state as it is: nothing in it grows old."""
        return before

    def placebo(self) -> Tensor:
        """The solver's point from `job.beginning` once a request's nominal budget is spent."""
        passes = warm_passes(self.job)
        return within_budget(self.job, tolerance=self.tolerance / 2, passes=passes)


def _gram_left(job: LinearJob, before: dict[str, Tensor]) -> Gram:
    """The Gram matrix of the rows still there: the kept one less the request's rows.

    A new one where none was kept, by another rule or of other rows, or where the request's rows
    are blank already: what would then be left is not the others' sum.
    """
    objective, gone = job.objective, job.roster.last
    blank = bool((largest_of(objective.features[gone]) == 0).any())
    alike = "gram" in before and before["gram"].ndim == objective.gram_dimensions
    if alike and not blank:
        rows, places, *rule = before["gram_of"].tolist()
        kept = Gram(before["gram"], int(rows), int(places))
        left = kept.without(objective.gram(gone))
        there = (objective.sampled & job.roster.present).nonzero()
        of_these = (left.rows, left.places) == (len(there), int(there.sum()))
        if of_these and rule == objective.gram_rule and bool(left.total.isfinite().all()):
            return left
    return objective.gram(job.roster.present)


def _secret(objective: Objective, theta: Tensor, gram: Gram) -> dict[str, Tensor]:
    known = [gram.rows, gram.places, *objective.gram_rule]
    gram_of = torch.tensor(known, dtype=torch.float64)
    return {"gram": gram.total, "gram_of": gram_of, "theta": theta}
