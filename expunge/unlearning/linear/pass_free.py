"""Requests without a pass: when a Newton step from the anchor is enough, and what if it is not.

    z <= reach      the step's point, nothing of the data read but the request's own rows
    otherwise       passes, begun at the step's point, to the gradient's tolerance

`reach` is fixed at fit from public constants, and the noise covers twice that distance whatever
happens: which of the two it was, and z, depend on the records, and nothing that leaves tells
(THEORY 6). A request that needed passes also makes a new anchor, where the old one has answered
some; where it has not, a new one would not either, and the tries get rarer.
"""

import time
from dataclasses import dataclass, replace
from typing import ClassVar

from torch import Tensor

from expunge.accounting.prices import DISTANCE
from expunge.core.row_products import largest_of
from expunge.losses.linear import LinearLoss
from expunge.losses.logistic import Logistic
from expunge.losses.objective import Gram
from expunge.losses.row_terms import RowTerms, has_terms
from expunge.losses.squared import Squared
from expunge.unlearning.linear.anchor import Anchor
from expunge.unlearning.linear.by_passes import ByPasses
from expunge.unlearning.linear.few_records import of_few_records
from expunge.unlearning.linear.linear_job import LinearJob
from expunge.unlearning.linear.newton_step import newton_step
from expunge.unlearning.model_file import SALT

__all__ = ["PassFree", "state_bytes", "usual_reach"]

DAY = 86400
ENTRY = 16  # bytes of an exact sum's entry
SMALLEST, LARGEST = 1e-60, 1e60  # row norms whose squares leave room
LONGEST_WAIT = 64


def usual_reach(loss: LinearLoss) -> float:
    """z_max where nothing is said: 2.5e-3 over the rows' norm, times small targets' bound."""
    size = min(1.0, loss.target_norm) if isinstance(loss, Squared) else 1.0
    return size * DISTANCE / loss.row_norm


def state_bytes(loss: LinearLoss, features: int) -> int:
    """How large an anchor's sums are."""
    dimension = loss.outputs * features
    matrices = 2 if isinstance(loss, Logistic) else 1
    return ENTRY * (matrices * dimension**2 + dimension)


@dataclass(frozen=True, repr=False)
class PassFree:
    """The rule by which a job's requests go without a pass.

    Args:
        passes: What a request falls back to.
        reach: z_max: how far from the minimiser the released point may provably be at most.
        max_anchor_age: In days.
    """

    passes: ByPasses
    reach: float
    max_anchor_age: float
    proven: ClassVar[str] = "the distance from the minimiser that is proven for every noised point"

    @property
    def job(self) -> LinearJob:
        return self.passes.job

    @staticmethod
    def is_for(loss: LinearLoss, features: int, limit: float) -> bool:
        """Whether sums of this loss's rows are known, and not larger than so many bytes."""
        known = has_terms(loss) and SMALLEST < loss.row_norm < LARGEST
        return known and state_bytes(loss, features) <= limit

    @property
    def terms(self) -> RowTerms:
        job = self.job
        return RowTerms(job.loss, job.features.shape[1], self.passes.farthest)

    @property
    def retained(self) -> tuple[str, ...]:
        """What outlives a request, in words."""
        return (
            "an un-noised solution, at most "
            f"{self.max_anchor_age:g} days old, which records forgotten since helped to make; "
            "the first request or refresh after that replaces it",
            "sums of the rows' gradients and curvatures at it, to the last bit those of the "
            "records without the forgotten ones",
        )

    def kept(self, theta: Tensor, _: Gram) -> dict[str, Tensor]:
        """The secret state after fit."""
        return self.anchor_at(theta).tensors()

    def near(self, before: dict[str, Tensor]) -> tuple[Tensor, dict[str, Tensor], bool]:
        """A point within reach, the secret state after it, and whether passes were made."""
        anchor, theta = self.anchor_after(before), before["theta"]
        if anchor is not None:
            theta, near = self.step(anchor)
            if near:
                return theta, replace(anchor, served=anchor.served + 1).tensors(), False
        theta = self._found(theta)
        return theta, self.after_passes(anchor, theta).tensors(), True

    def anew(self, before: dict[str, Tensor]) -> dict[str, Tensor]:
        """The secret state with a new anchor; the model's salt stays."""
        salt = {name: value for name, value in before.items() if name == SALT}
        return self.anchor_at(self._found(before["theta"])).tensors() | salt

    def placebo(self) -> Tensor:
        """The solver's point from `job.beginning` on a few records: more costs more."""
        return of_few_records(self.job, tolerance=self.passes.tolerance / 2)

    def _found(self, start: Tensor) -> Tensor:
        """A point that passes have found."""
        return self.passes.find(start, self.job.objective.gram())

    def anchor_at(self, point: Tensor, wait: int = 0) -> Anchor:
        """A new anchor at a point that passes have found: one pass."""
        roster = self.job.roster
        made = Anchor.at(point, self.terms, self.job.objective, roster.places, int(time.time()))
        return replace(made, wait=wait)

    def anchor_after(self, before: dict[str, Tensor]) -> Anchor | None:
        """The kept anchor once the request's rows have left it, or joined it.

        None where none was kept, where it is of other rows, where it is too old, or where the
        request's rows are no records any more: what would then be left is not the others' sum.
        """
        job, kept = self.job, Anchor.of(before)
        if kept is None or not 0 <= time.time() - kept.made <= self.max_anchor_age * DAY:
            return None
        roster, moved = job.roster, kept
        for rows, joining in ((roster.last_rows, False), (list(roster.last_joined), True)):
            largest = largest_of(job.features[rows])
            if not bool(((largest > 0) & (largest <= job.loss.row_norm)).all()):
                return None
            moved = moved.moved(rows, self.terms, job.features, job.targets, joining=joining)
        of_these = (moved.rows, moved.places) == (roster.retained, roster.places)
        return moved if of_these else None

    def step(self, anchor: Anchor) -> tuple[Tensor, bool]:
        """A Newton step's point, and whether it is provably within reach of the minimiser."""
        job = self.job
        step = newton_step(
            anchor,
            self.terms,
            center=job.center,
            intercept=job.intercept,
            divisor=job.divisor,
        )
        if step.distance <= self.reach:
            return step.theta, True
        sane = float(step.theta.norm()) <= self.terms.reach
        return (step.theta if sane else anchor.point), False

    def after_passes(self, anchor: Anchor | None, theta: Tensor) -> Anchor:
        """The anchor after a request that passes have answered with this point."""
        if anchor is None:
            return self.anchor_at(theta)
        if anchor.failed < anchor.wait:
            return replace(anchor, failed=anchor.failed + 1)
        wait = 0 if anchor.served else min(LONGEST_WAIT, 2 * anchor.wait + 1)
        return self.anchor_at(theta, wait)
