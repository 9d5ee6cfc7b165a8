"""The noisy steps of a model so far, how further ones are counted, and how many a request needs.

Linear models and networks differ in what a step is; that a history is made of phases, which records
each of them saw, and that the last step before a release carries exact noise, is said here once.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from expunge.accounting.assumptions import Assumptions
from expunge.accounting.calibration import sigma_for_requests, smallest_sigma
from expunge.accounting.conversions import gdp_for_epsilon
from expunge.accounting.history import History, Normaliser, Phase
from expunge.accounting.search import first_where
from expunge.accounting.setting import Setting
from expunge.accounting.target import EpsilonDelta
from expunge.core import release
from expunge.core.randomness import normal_source
from expunge.errors import NoCertificate
from expunge.sampling import pngd
from expunge.unlearning.job import Job
from expunge.unlearning.outcome import Outcome
from expunge.unlearning.roster import Roster
from expunge.unlearning.schemes import FullBatch, Scheme

__all__ = [
    "LARGEST_NORMAL",
    "MARGIN",
    "Course",
    "NoisyLearning",
    "check_finite",
    "fewest_steps",
    "grid_of",
    "least_sigma",
    "records_of_capacity",
    "setting_for",
    "take_steps",
    "with_exact_last",
]

MARGIN = 0.98  # of the target's epsilon when sigma is chosen
LARGEST_NORMAL = 12.0  # of one coordinate, by the way it is drawn


@dataclass(frozen=True)
class Course:
    """The phases of a model so far, with what has been deleted from each by now.

    Args:
        rounds: For each phase, how many requests had been honoured before it.
        capacity: Where requests may depend on models, every phase counts what is left of it.
    """

    roster: Roster
    scheme: Scheme
    past: tuple[Phase, ...] = ()
    rounds: tuple[int, ...] = ()
    capacity: int | None = None

    @classmethod
    def of(
        cls, job: Job, scheme: Scheme, before: Outcome | None = None, share: float | None = None
    ) -> "Course":
        """The course of a job's model.

        Args:
            before: What the steps so far handed back; None at fit.
            share: Of the private records that may be forgotten in all; None where nothing
                provides for requests that depend on models.

        Raises:
            ValueError: batches, of which nobody knows whom such a request will name.
        """
        roster, capacity = job.roster, None
        if job.adaptive_requests and share is not None:
            if not isinstance(scheme, FullBatch):
                raise ValueError("scheme: adaptive_requests=True needs FullBatch()")
            capacity = min(records_of_capacity(share, roster), roster.at_fit - 1)
        if before is None or before.history is None:
            return cls(roster, scheme, capacity=capacity)
        past = before.history.phases
        if capacity is None:  # else they counted every later request when they were made
            past = _since_deleted(roster, scheme, past, before.rounds)
        return cls(roster, scheme, past, before.rounds, capacity)

    @property
    def done(self) -> int:
        """Steps so far."""
        return sum(phase.steps for phase in self.past)

    def count(self, phases: Sequence[Phase]) -> list[Phase]:
        """Further phases, with the records that they see and that have left since."""
        counted, first_step = [], self.done
        for phase in phases:
            recorded = self.scheme.record(phase, self.roster, self.roster.present, first_step)
            if self.capacity is not None:
                left = max(0, self.capacity - self.roster.forgotten)
                recorded = replace(recorded, forgotten=left)
            counted.append(recorded)
            first_step += phase.steps
        return counted

    def history(self, phases: Sequence[Phase]) -> History:
        """The whole history, with these phases after those so far."""
        count = self.roster.at_fit if self.scheme.normaliser == "fixed" else None
        return History((*self.past, *phases), self.scheme.normaliser, count)

    def outcome(
        self,
        state: dict[str, Tensor],
        assumptions: Assumptions,
        phases: Sequence[Phase],
        **more: Any,
    ) -> Outcome:
        """The model that these phases lead to.

        Args:
            more: What else an outcome has.
        """
        return Outcome(
            state,
            assumptions,
            self.history(phases),
            rounds=(*self.rounds, *(self.roster.request,) * len(phases)),
            capacity=self.capacity,
            **more,
        )

    def check_capacity(self) -> None:
        """Refuse a request beyond the capacity, by counts alone, before anything is drawn.

        Raises:
            NoCertificate: more records are forgotten than the capacity has.
        """
        if self.capacity is not None and self.roster.forgotten > self.capacity:
            raise NoCertificate(
                f"{self.roster.forgotten} forgotten records are more than the {self.capacity} that "
                "this model provides for; retrain, or fit with a larger capacity"
            )


def _since_deleted(
    roster: Roster, scheme: Scheme, phases: Sequence[Phase], rounds: Sequence[int]
) -> tuple[Phase, ...]:
    """The phases so far, each with what has been deleted from it by now.

    Raises:
        NoCertificate: all records of one have left, and only such as joined later are there.
    """
    counted, first_step = [], 0
    for phase, request in zip(phases, rounds, strict=True):
        there = roster.present_after(request)
        if not bool((there & roster.present).any()):
            raise NoCertificate(
                "all records that this model was first made from would be gone, which leaves no "
                "comparator; retrain, or fit again with those that joined since"
            )
        counted.append(scheme.record(phase, roster, there, first_step))
        first_step += phase.steps
    return tuple(counted)


class NoisyLearning:
    """What strategies whose learning is noisy have in common: how many steps a request takes.

    With the strategy's settings `learn_steps`, T, and `unlearn_steps`, K or None.
    """

    learn_steps: int
    unlearn_steps: int | None

    @property
    def may_miss_target(self) -> bool:
        """A number of steps that is given is run whatever it certifies."""
        return self.unlearn_steps is not None

    def within(self, job: Job) -> int:
        """The steps after which the target is to be met; 0 where every model counts."""
        if job.counts_every_model:
            return 0
        return self.unlearn_steps or max(1, self.learn_steps // 10)

    def steps_of_request(self, job: Job, met: Callable[[int], bool]) -> int:
        """As many as were given, or as the target needs; one where every model counts.

        Args:
            met: Whether so many steps meet the target.
        """
        if self.unlearn_steps is not None:
            return self.unlearn_steps
        return 1 if job.counts_every_model else fewest_steps(met, max(1, self.learn_steps - 1))


def records_of_capacity(share: float, roster: Roster) -> int:
    """How many records may be forgotten in all: a number fixed at fit, whoever joins later."""
    return max(1, math.ceil(share * (roster.at_fit - roster.public)))


def setting_for(
    job: Job,
    assumptions: Assumptions,
    *,
    step_size: float,
    learn_steps: int,
    forget: int,
    normaliser: Normaliser = "mean",
) -> Setting:
    """The job as a planning problem: counts and public constants only."""
    return Setting(
        assumptions,
        private=job.roster.private,
        public=job.roster.public,
        forget=min(forget, job.roster.records - 1),
        step_size=step_size,
        learn_steps=learn_steps,
        normaliser=normaliser,
        observer=job.observer,
    )


def least_sigma(
    job: Job,
    setting: Setting,
    *,
    unlearn_steps: int,
    requests: int,
    bounds: Sequence[str] = ("shift",),
    margin: float = MARGIN,
) -> float:
    """The least sigma that meets the target, with room for rounding, by the best of these bounds.

    Args:
        unlearn_steps: After which it must be met; 0 where every model counts.
        requests: That may depend on models, if any may.
        margin: Of the target's epsilon; the rest pays for rounding.

    Raises:
        Refused: no noise suffices.
    """
    target = EpsilonDelta(margin * job.target.level, job.target.delta)
    if job.adaptive_requests:
        return sigma_for_requests(setting, target, requests=requests)
    return min(
        smallest_sigma(setting, target, unlearn_steps=unlearn_steps, bound=bound)
        for bound in bounds
    )


def fewest_steps(met: Callable[[int], bool], most: int) -> int:
    """The fewest unlearning steps, from one to `most`, that meet the target.

    Raises:
        NoCertificate: `most` are not enough, so that retraining is no slower.
    """
    # Clipped steps may add more than their noise hides: one step is tried on its own.
    extra = 0 if met(1) else first_where(lambda extra: met(1 + extra), max(0, most - 1))
    if not met(1 + extra):
        raise NoCertificate(
            f"{most} unlearning steps do not meet the target; retraining takes as many: use "
            "strategy='retrain' for this request, or fit with a larger sigma or capacity"
        )
    return 1 + extra


def take_steps(
    job: Job, kernel: pngd.Kernel, start: Tensor, *, steps: int, stream: str, reach: float
) -> Tensor:
    """The point after so many steps; the last noisy one has exact noise unless the job is seeded.

    Args:
        reach: A bound, from public constants, on the norm of any step before its projection.

    Raises:
        ValueError: the noise is too small to be exact there; known before any record is used.
        NoCertificate: values that are not finite.
    """
    noise_std, exact = kernel.noise_std, job.seed is None and kernel.noise_std > 0
    grid = grid_of(job, noise_std, start.numel()) if exact else 0.0
    if exact:
        release.check_reach(reach, std=noise_std, grid=grid)
    normal, stacked = normal_source(job.seed, stream), start[None]
    for index in range(steps - exact):
        stacked = check_finite(kernel.step(stacked, index, normal))
    if not exact:
        return stacked[0]
    center = check_finite(kernel.mean(stacked, steps - 1))
    return kernel.project(torch.from_numpy(release.draw(center.numpy(), noise_std, grid)))[0]


def with_exact_last(job: Job, bare: Phase, dimension: int) -> list[Phase]:
    """A run of steps whose last, with exact noise and the grid's rounding, is its own phase."""
    exact = release.rounding_of(grid_of(job, bare.noise_std, dimension), dimension)
    last = replace(bare, steps=1, rounding=bare.rounding + exact)
    return [last] if bare.steps == 1 else [replace(bare, steps=bare.steps - 1), last]


def grid_of(job: Job, noise_std: float, dimension: int) -> float:
    """The grid of the last step's exact noise."""
    mu = min(0.1, gdp_for_epsilon(job.target.level, job.target.delta))
    return release.grid_for(std=noise_std, mu=mu, dimension=dimension)


def check_finite(stacked: Tensor) -> Tensor:
    """Return the point after checking that no step overflowed.

    Raises:
        NoCertificate: values that are not finite.
    """
    if not torch.isfinite(stacked).all():
        raise NoCertificate("a step produced values that are not finite; nothing was changed")
    return stacked
