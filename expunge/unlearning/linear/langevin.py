"""`langevin` and `noise_first`: the paper's strategy, and the one with all noise at the start.

    langevin      T noisy steps on all records, K noisy steps on what remains
    noise_first   T clean steps; on a request one noisy step, then clean descent (THEORY 5.2)

Both are phases of one kernel; they differ in which phases carry noise. The last noise before a
release is exact (`core/release`), earlier noise is ordinary float64 noise from the operating
system whose error is part of each step's rounding budget. K and sigma are functions of counts
and targets only, never of the records' content.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from torch import Tensor

from expunge.accounting.assumptions import Assumptions, Mark
from expunge.accounting.bounds import shift
from expunge.accounting.calibration import smallest_sigma
from expunge.accounting.history import Phase
from expunge.accounting.prices import Price, langevin_price, noise_first_price
from expunge.accounting.search import least_scale
from expunge.accounting.setting import Setting
from expunge.core.checks import check_fields, count, optional, positive, share
from expunge.core.projection import l2_ball
from expunge.errors import NoCertificate, Refused
from expunge.losses import Squared
from expunge.sampling import pngd
from expunge.unlearning.course import (
    LARGEST_NORMAL,
    MARGIN,
    Course,
    NoisyLearning,
    least_sigma,
    records_of_capacity,
    setting_for,
    take_steps,
    with_exact_last,
)
from expunge.unlearning.linear.given_settings import checked_radius, step_size_of
from expunge.unlearning.linear.linear_job import LinearJob
from expunge.unlearning.model_file import add_salt
from expunge.unlearning.outcome import Outcome
from expunge.unlearning.room import check_room
from expunge.unlearning.schemes import FullBatch, Scheme, scheme_record
from expunge.unlearning.strategy import Strategy

__all__ = ["UNCOUNTED", "Langevin", "NoiseFirst", "setting_of"]

UNCOUNTED = "noise_first learns without noise, so nothing covers requests that look at its model"


class _Descending(Strategy[LinearJob], Protocol):
    """A strategy that descends from somewhere, and could from `job.beginning`."""

    def placebo(self, job: LinearJob, before: Outcome) -> Outcome:
        """The request's own steps and noise, from `job.beginning`; of `before`, the history."""
        start = replace(before, state={"theta": job.beginning}, secret=add_salt())
        return self.forget(job, start)


@dataclass(frozen=True)
class Langevin(NoisyLearning, _Descending):
    """The paper's strategy: T noisy steps on all records, K noisy steps on what remains.

    At any setting: with steps, `step_size`, `sigma` and `radius` given, fit and forget are
    Algorithms 1 and 2 of the paper, and the certificate says what they certify.

    Args:
        learn_steps: T.
        sigma: The paper's sigma; None takes the least that honours `capacity` within T/10 steps, or
            within K where it is given.
        capacity: Share of the private records that may be forgotten in all.
        scheme: How a step uses the records: `FullBatch()`, `Cyclic(batches)`,
            `PoissonBatch(rate)`.
        requests: How many requests that may depend on released models sigma provides for
            (`adaptive_requests=True`); otherwise it is not used.
        step_size: eta, at most 2/L; None takes 1/L.
        unlearn_steps: K; None takes the fewest that meet the target and refuses where none do. A
            number is run whatever it certifies, and the certificate says what that is.
        radius: R of the ball around the ridge's center that every step projects onto; None takes
            one that clean descent never leaves.
    """

    learn_steps: int = 500
    sigma: float | None = None
    capacity: float = 0.1
    scheme: Scheme = field(default_factory=FullBatch)
    requests: int = 20
    step_size: float | None = None
    unlearn_steps: int | None = None
    radius: float | None = None
    name = "langevin"
    observers = ("final", "all")

    def __post_init__(self) -> None:
        check_fields(
            self,
            learn_steps=count(2),
            sigma=optional(positive),
            capacity=share,
            scheme=scheme_record,
            requests=count(1),
            step_size=optional(positive),
            unlearn_steps=optional(count(1)),
            radius=optional(positive),
        )

    def fit(self, job: LinearJob) -> Outcome:
        run = _Run.of(job, self)
        return run.outcome(*run.take(job.beginning, self.learn_steps, self.chosen_sigma(job)))

    def forget(self, job: LinearJob, before: Outcome) -> Outcome:
        run = _Run.of(job, self, before)
        run.course.check_capacity()
        return self._go_on(run, before, least=1)

    def add(self, job: LinearJob, before: Outcome) -> Outcome:
        """Noisy steps on the records that are there now: a phase of the history.

        As many as a request takes where that number was given. Otherwise a tenth of the learning
        steps, or what the target needs where that is more; where every model counts, one.

        Raises:
            NoCertificate: the scheme does not cover records that join, or the target is missed.
        """
        check_room(self.scheme, job.roster)
        return self._go_on(_Run.of(job, self, before), before, least=self.within(job))

    def _go_on(self, run: "_Run", before: Outcome, least: int) -> Outcome:
        """Further steps: as many as are given, or as the target needs and at least so many."""
        job, sigma = run.job, run.course.past[0].sigma
        needed = self.steps_of_request(job, lambda steps: run.meets(steps, sigma))
        strict = job.adaptive_requests or not self.may_miss_target
        return run.checked(*run.take(before.theta, max(least, needed), sigma), strict=strict)

    def price(self, job: LinearJob, forget: int) -> Price:
        """The least noise for a tenth of the learning steps, or for one where every model counts.

        Raises:
            ValueError: squared losses may lack the ball that this needs.
        """
        setting = setting_of(job, self, forget)
        # Where every model counts, noise was spent at learning, and one step suffices.
        steps = self.unlearn_steps or max(1, self.within(job))
        try:
            sigma = self._least_sigma(job, setting, 1.0)  # rounding left out
        except Refused:
            return langevin_price(setting, sigma=None, unlearn_steps=steps, epsilon=None, met=False)
        level = job.target.level
        return langevin_price(setting, sigma=sigma, unlearn_steps=steps, epsilon=level, met=True)

    def price_without_public(self, job: LinearJob, forget: int) -> Price | None:
        """What it would cost if there were no public records: for comparison only.

        None where there is nothing to compare.
        """
        setting = setting_of(job, self, forget)
        if not setting.public or setting.forget >= setting.private:
            return None
        alone = replace(setting, public=0)
        sigma = smallest_sigma(alone, job.target, unlearn_steps=0)
        price = langevin_price(alone, sigma=sigma, unlearn_steps=1, epsilon=None, met=True)
        why = "for comparison: the noise that public records save"
        return replace(price, name="langevin without public data", excluded=why)

    def chosen_sigma(self, job: LinearJob) -> float:
        """The sigma that was given, or the least that honours the capacity."""
        if self.sigma is not None:
            return self.sigma
        forget = records_of_capacity(self.capacity, job.roster)
        setting = setting_of(job, self, forget)
        return self._least_sigma(job, setting, MARGIN)

    def _least_sigma(self, job: LinearJob, setting: Setting, margin: float) -> float:
        within, requests = self.within(job), self.requests
        return least_sigma(job, setting, unlearn_steps=within, requests=requests, margin=margin)


@dataclass(frozen=True)
class NoiseFirst(_Descending):
    """Clean learning; on a request one noisy step, then clean descent.

    Args:
        learn_steps: T clean steps.
        unlearn_steps: K, the first of them noisy.
    """

    learn_steps: int = 500
    unlearn_steps: int = 50
    name = "noise_first"
    scheme = FullBatch()
    step_size = radius = None

    def __post_init__(self) -> None:
        check_fields(self, learn_steps=count(1), unlearn_steps=count(1))

    def fit(self, job: LinearJob) -> Outcome:
        """Learn by clean descent; all noise comes with the requests.

        Raises:
            ValueError: requests may look at models, and the first has no noise to count.
        """
        if job.adaptive_requests:
            raise ValueError(f"strategy: {UNCOUNTED}; use 'residual' or 'langevin'")
        return self._without_noise(_Run.of(job, self), job.beginning, self.learn_steps)

    def forget(self, job: LinearJob, before: Outcome) -> Outcome:
        run = _Run.of(job, self, before)
        sigma = least_scale(lambda sigma: run.meets(1, sigma), -40.0, 40.0, 1e-9)
        theta, phases = run.take(before.theta, 1, sigma)
        if self.unlearn_steps > 1:
            theta, phases = run.take(theta, self.unlearn_steps - 1, 0.0, phases)
        return run.checked(theta, phases)

    def add(self, job: LinearJob, before: Outcome) -> Outcome:
        """Clean steps on the records that are there now: post-processing of earlier noise."""
        run = _Run.of(job, self, before)
        if job.roster.forgotten:
            return run.checked(*run.take(before.theta, self.unlearn_steps, 0.0))
        return self._without_noise(run, before.theta, self.unlearn_steps)

    def _without_noise(self, run: "_Run", start: Tensor, steps: int) -> Outcome:
        outcome = run.outcome(*run.take(start, steps, 0.0))
        return replace(outcome, noise_free=True, secret=add_salt())

    def price(self, job: LinearJob, forget: int) -> Price:
        setting = setting_of(job, self, forget)
        price = noise_first_price(setting, job.target, unlearn_steps=self.unlearn_steps)
        return replace(price, excluded=UNCOUNTED) if job.adaptive_requests else price


@dataclass(frozen=True)
class _Run:
    """A job's descent: step size, ball and course; public constants and counts only."""

    job: LinearJob
    assumptions: Assumptions
    step_size: float
    radius: float
    course: Course

    @classmethod
    def of(
        cls, job: LinearJob, strategy: "Langevin | NoiseFirst", before: Outcome | None = None
    ) -> "_Run":
        loss, radius = job.loss, _radius(job, strategy.radius)
        # The ball lies around the center, so gradients are bounded for its farthest point.
        farthest = loss.gradient_bound(radius + float(job.origin.norm()))
        projected = replace(loss, radius=radius) if isinstance(loss, Squared) else loss
        stated = projected.assumptions()
        marks: dict[str, Mark] = {**stated.marks, "radius": "enforced"}
        assumptions = replace(stated, radius=radius, lipschitz=farthest, marks=marks)
        step_size = step_size_of(assumptions, strategy.step_size)
        course = Course.of(job, strategy.scheme, before, getattr(strategy, "capacity", None))
        return cls(job, assumptions, step_size, radius, course)

    def outcome(self, theta: Tensor, phases: Sequence[Phase]) -> Outcome:
        return self.course.outcome({"theta": theta}, self.assumptions, phases)

    def checked(self, theta: Tensor, phases: Sequence[Phase], *, strict: bool = True) -> Outcome:
        """Return the outcome of a request after checking that its history meets the target.

        Args:
            strict: Otherwise a history that misses the target is handed back, and says so.

        Raises:
            NoCertificate: the history misses the target.
        """
        target = self.job.target
        outcome = self.outcome(theta, phases)
        epsilon = self._epsilon(phases)
        if epsilon <= target.level:
            return outcome
        missed = f"epsilon {epsilon:.4g} is above the target {target.level:g}"
        if strict:
            raise NoCertificate(
                f"{missed}: more was forgotten than this model has noise for; retrain, or fit with "
                "a larger capacity"
            )
        return replace(outcome, declared=(f"THE TARGET IS MISSED: {missed} set at fit",))

    def take(
        self, theta: Tensor, steps: int, sigma: float, taken: Sequence[Phase] = ()
    ) -> tuple[Tensor, list[Phase]]:
        """Further steps; the last noisy one, a phase of its own, has exact noise.

        Args:
            taken: Phases since those of the course.

        Raises:
            ValueError: noise too small to be exact, by public constants.
        """
        job, done = self.job, self.course.done + sum(phase.steps for phase in taken)

        def gradient(stacked: Tensor, index: int) -> Tensor:
            in_phase = 0 if sigma and index == steps - 1 else index
            batch = self.course.scheme.batch(job.roster, done + index, in_phase)
            objective = replace(job.objective, keep=batch.members, divisor=batch.divisor)
            return objective.gradient(job.origin + stacked[0])[None]

        kernel = pngd.build(
            gradient, step_size=self.step_size, sigma=sigma, project=l2_ball(self.radius)
        )
        moved = take_steps(
            job,
            kernel,
            theta - job.origin,  # seen from the ridge's center
            steps=steps,
            stream=f"request {job.roster.request}",
            reach=self._reach(kernel.noise_std),
        )
        phases = self.phases(steps, sigma, taken)
        if sigma:
            phases[-1] = replace(phases[-1], released=job.counts_every_model)
        return job.origin + moved, phases

    def phases(self, steps: int, sigma: float, taken: Sequence[Phase] = ()) -> list[Phase]:
        """The phases of so many further steps, as the accountant sees them."""
        bare = [self._bare(steps, sigma)]
        if sigma:
            bare = with_exact_last(self.job, bare[0], self.job.dimension)
        return self.course.count([*taken, *bare])

    def meets(self, steps: int, sigma: float) -> bool:
        """Whether the history with so many further steps meets the target."""
        return self._epsilon(self.phases(steps, sigma)) <= self.job.target.level

    def _epsilon(self, phases: Sequence[Phase]) -> float:
        history = self.course.history(phases)
        return shift.bound(self.assumptions, history).epsilon(self.job.target.delta)

    def _bare(self, steps: int, sigma: float) -> Phase:
        """So many steps before anything is counted."""
        job, load = self.job, self.course.scheme.load
        farthest, noise_std = self._farthest, math.sqrt(2 * self.step_size) * sigma
        rounding = pngd.step_rounding(
            step_size=self.step_size,
            gradient=job.resolution.gradient_rounding(farthest, load),
            noise_std=noise_std,
            dimension=job.dimension,
            operations=2 * (job.dimension + 16),
            farthest=self._reach(noise_std),
        )
        return Phase(steps, self.step_size, sigma, job.roster.retained, rounding=rounding)

    @property
    def _farthest(self) -> float:
        """The ball's farthest point from zero."""
        return self.radius + float(self.job.origin.norm())

    def _reach(self, noise_std: float) -> float:
        """A bound on the norm that a step can reach before its projection."""
        steepest = (self.assumptions.lipschitz or 0.0) * self.course.scheme.load
        noise = LARGEST_NORMAL * noise_std * math.sqrt(self.job.dimension)
        return self._farthest + self.step_size * steepest + noise


def setting_of(job: LinearJob, strategy: Langevin | NoiseFirst, forget: int) -> Setting:
    """The job as a planning problem: counts and public constants only."""
    if job.roster.records < 2:
        raise ValueError("X: noisy descent needs at least two records")
    run = _Run.of(job, strategy)
    return setting_for(
        job,
        run.assumptions,
        step_size=run.step_size,
        learn_steps=strategy.learn_steps,
        forget=forget,
    )


def _radius(job: LinearJob, given: float | None) -> float:
    """R of the ball around the ridge's center.

    Raises:
        InvalidInput: gradients are not bounded without one, or descent begins outside of it.
    """
    loss, start = job.loss, float((job.beginning - job.origin).norm())
    if given is not None:
        return checked_radius(given, start)
    if not math.isfinite(loss.lipschitz):
        raise ValueError("strategy: noisy descent needs a bounded gradient; give a radius")
    # Clean descent from the ridge's center never leaves the ball of radius M/l2 around it.
    return max(getattr(loss, "radius", loss.lipschitz / loss.l2), start)
