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
from typing import ClassVar

import torch
from torch import Tensor

from expunge.accounting.assumptions import Assumptions, Mark
from expunge.accounting.bounds import shift
from expunge.accounting.calibration import sigma_for_requests, smallest_sigma
from expunge.accounting.conversions import gdp_for_epsilon
from expunge.accounting.history import History, Phase
from expunge.accounting.prices import Price, langevin_price, noise_first_price
from expunge.accounting.search import first_where
from expunge.accounting.setting import Setting
from expunge.accounting.target import EpsilonDelta, Observer
from expunge.core import release
from expunge.core.checks import check_fields, count, optional, positive, share
from expunge.core.projection import l2_ball
from expunge.core.randomness import NORMAL_ERROR, normal_source
from expunge.errors import NoCertificate, Refused
from expunge.losses.objective import UNIT
from expunge.sampling import pngd
from expunge.unlearning.linear.linear_job import LinearJob
from expunge.unlearning.model_file import add_salt
from expunge.unlearning.outcome import Outcome
from expunge.unlearning.schemes import (
    FullBatch,
    Scheme,
    check_within,
    scheme_record,
    since_deleted,
    whole_capacity,
)

__all__ = ["UNCOUNTED", "Langevin", "NoiseFirst", "setting_of"]

UNCOUNTED = "noise_first learns without noise, so nothing covers requests that look at its model"
MARGIN = 0.98  # of the target's epsilon when sigma is chosen; the rest pays for rounding


@dataclass(frozen=True)
class Langevin:
    """The paper's strategy: T noisy steps on all records, K noisy steps on what remains.

    Args:
        learn_steps: T.
        sigma: The paper's sigma; None takes the least that honours `capacity` within T/10 steps.
        capacity: Share of the private records that may be forgotten in all.
        scheme: How a step uses the records: `FullBatch()`, `Cyclic(batches)`,
            `PoissonBatch(rate)`.
        requests: How many requests that may depend on released models sigma provides for
            (`adaptive_requests=True`); otherwise it is not used.
    """

    learn_steps: int = 500
    sigma: float | None = None
    capacity: float = 0.1
    scheme: Scheme = field(default_factory=FullBatch)
    requests: int = 20
    name = "langevin"
    observers: ClassVar[tuple[Observer, ...]] = ("final", "all")

    def __post_init__(self) -> None:
        check_fields(
            self,
            learn_steps=count(2),
            sigma=optional(positive),
            capacity=share,
            scheme=scheme_record,
            requests=count(1),
        )

    def fit(self, job: LinearJob) -> Outcome:
        run = _Run.of(job, self.scheme, capacity=self._whole_capacity(job))
        sigma = self.chosen_sigma(job)
        theta, phases = run.noisy(job, job.beginning, self.learn_steps, sigma)
        return run.outcome(job, theta, phases, (0,) * len(phases))

    def forget(self, job: LinearJob, before: Outcome) -> Outcome:
        assert before.history is not None
        run = _Run.of(job, self.scheme, before, capacity=self._whole_capacity(job))
        check_within(run.capacity, job.roster.forgotten)
        sigma, most = before.history.phases[0].sigma, self.learn_steps - 1
        extra = 1 if job.counts_every_model else run.steps_needed(job, sigma, most)
        theta, phases = run.noisy(job, before.theta, extra, sigma)
        return run.checked(job, theta, phases, before)

    def placebo(self, job: LinearJob, before: Outcome) -> Outcome:
        """The request's own steps and noise, from `job.beginning`."""
        return _from_the_beginning(self, job, before)

    def price(self, job: LinearJob, forget: int) -> Price:
        """The least noise for a tenth of the learning steps, or for one where every model counts.

        Raises:
            ValueError: squared losses may lack the ball that this needs.
        """
        setting = setting_of(job, self.learn_steps, forget)
        # Where every model counts, noise was spent at learning; one step turns the page.
        steps = 1 if job.counts_every_model else max(1, self.learn_steps // 10)
        try:
            sigma = self._least_sigma(job, setting, 0 if job.counts_every_model else steps)
        except Refused:
            return langevin_price(setting, sigma=None, unlearn_steps=steps, epsilon=None, met=False)
        level = job.target.level
        return langevin_price(setting, sigma=sigma, unlearn_steps=steps, epsilon=level, met=True)

    def price_without_public(self, job: LinearJob, forget: int) -> Price | None:
        """What it would cost if there were no public records: for comparison only.

        None where there is nothing to compare.
        """
        setting = setting_of(job, self.learn_steps, forget)
        if not setting.public or setting.forget >= setting.private:
            return None
        alone = replace(setting, public=0)
        sigma = smallest_sigma(alone, job.target, unlearn_steps=0)
        price = langevin_price(alone, sigma=sigma, unlearn_steps=1, epsilon=None, met=True)
        why = "for comparison: the noise that public records save"
        return replace(price, name="langevin without public data", excluded=why)

    def _least_sigma(self, job: LinearJob, setting: Setting, unlearn_steps: int) -> float:
        if job.adaptive_requests:
            return sigma_for_requests(setting, job.target, requests=self.requests)
        return smallest_sigma(setting, job.target, unlearn_steps=unlearn_steps)

    def chosen_sigma(self, job: LinearJob) -> float:
        if self.sigma is not None:
            return self.sigma
        setting = setting_of(job, self.learn_steps, self._records_of_capacity(job))
        target = EpsilonDelta(MARGIN * job.target.level, job.target.delta)
        if job.adaptive_requests:
            return sigma_for_requests(setting, target, requests=self.requests)
        steps = 0 if job.counts_every_model else max(1, self.learn_steps // 10)
        return smallest_sigma(setting, target, unlearn_steps=steps)

    def _records_of_capacity(self, job: LinearJob) -> int:
        return max(1, math.ceil(self.capacity * job.roster.private))

    def _whole_capacity(self, job: LinearJob) -> int | None:
        return whole_capacity(job, self.scheme, self._records_of_capacity(job))


@dataclass(frozen=True)
class NoiseFirst:
    """Clean learning; on a request one noisy step, then clean descent.

    Args:
        learn_steps: T clean steps.
        unlearn_steps: K, the first of them noisy.
    """

    learn_steps: int = 500
    unlearn_steps: int = 50
    name = "noise_first"
    observers: ClassVar[tuple[Observer, ...]] = ("final",)

    def __post_init__(self) -> None:
        check_fields(self, learn_steps=count(1), unlearn_steps=count(1))

    def fit(self, job: LinearJob) -> Outcome:
        """Learn by clean descent; all noise comes with the requests.

        Raises:
            ValueError: requests may look at models, and the first has no noise to count.
        """
        if job.adaptive_requests:
            raise ValueError(f"strategy: {UNCOUNTED}; use 'residual' or 'langevin'")
        run = _Run.of(job)
        theta, phase = run.clean(job, job.beginning, self.learn_steps, 0)
        bare = run.outcome(job, theta, [phase], (0,))
        return replace(bare, noise_free=True, secret=add_salt())

    def forget(self, job: LinearJob, before: Outcome) -> Outcome:
        run = _Run.of(job, before=before)
        theta, phases = run.noisy(job, before.theta, 1, run.sigma_needed(job))
        if self.unlearn_steps > 1:
            theta, phase = run.clean(job, theta, self.unlearn_steps - 1, run.done + 1)
            phases.append(phase)
        return run.checked(job, theta, phases, before)

    def placebo(self, job: LinearJob, before: Outcome) -> Outcome:
        """The request's own steps and noise, from `job.beginning`."""
        return _from_the_beginning(self, job, before)

    def price(self, job: LinearJob, forget: int) -> Price:
        setting = setting_of(job, self.learn_steps, forget)
        price = noise_first_price(setting, job.target, unlearn_steps=self.unlearn_steps)
        return replace(price, excluded=UNCOUNTED) if job.adaptive_requests else price


@dataclass(frozen=True)
class _Run:
    """Step size, ball, rounding and past of a job: public constants and counts only."""

    assumptions: Assumptions
    step_size: float
    radius: float
    scheme: Scheme
    past: tuple[Phase, ...]
    capacity: int | None = None  # every phase counts what is left of it, if not None

    @classmethod
    def of(
        cls,
        job: LinearJob,
        scheme: Scheme | None = None,
        before: Outcome | None = None,
        capacity: int | None = None,
    ) -> "_Run":
        # Clean descent from the ridge's center never leaves the ball of radius M/l2 around it.
        loss, scheme = job.loss, scheme or FullBatch()
        if not math.isfinite(loss.lipschitz):
            raise ValueError("strategy: noisy descent needs a bounded gradient; give a radius")
        radius = getattr(loss, "radius", loss.lipschitz / loss.l2)
        radius = max(radius, float((job.beginning - job.origin).norm()))
        # The ball lies around the center, so gradients are bounded for its farthest point.
        farthest = loss.gradient_bound(radius + float(job.origin.norm()))
        stated = loss.assumptions()
        marks: dict[str, Mark] = {**stated.marks, "radius": "enforced"}
        assumptions = replace(stated, radius=radius, lipschitz=farthest, marks=marks)
        step_size = 1 / (assumptions.smoothness or 1.0)
        if before is None or before.history is None:
            past = ()
        elif capacity is not None:
            past = before.history.phases  # they counted every later request when they were made
        else:
            past = since_deleted(job.roster, scheme, before.history, before.rounds)
        return cls(assumptions, step_size, radius, scheme, past, capacity)

    @property
    def done(self) -> int:
        """Steps so far."""
        return sum(phase.steps for phase in self.past)

    def history(self, job: LinearJob, phases: Sequence[Phase]) -> History:
        count = job.roster.records if self.scheme.normaliser == "fixed" else None
        return History((*self.past, *phases), self.scheme.normaliser, count)

    def outcome(
        self, job: LinearJob, theta: Tensor, phases: Sequence[Phase], rounds: tuple[int, ...]
    ) -> Outcome:
        return Outcome(
            {"theta": theta},
            self.assumptions,
            self.history(job, phases),
            rounds=rounds,
            capacity=self.capacity,
        )

    def checked(
        self, job: LinearJob, theta: Tensor, phases: Sequence[Phase], before: Outcome
    ) -> Outcome:
        """Return the outcome of a request after checking that its history meets the target.

        Raises:
            NoCertificate: the history misses the target.
        """
        release.check_sampler(job.dimension, job.target.level, job.target.delta)
        found = self._epsilon(job, phases)
        if found > job.target.level:
            raise NoCertificate(
                f"epsilon {found:.4g} is above the target {job.target.level:g}: more was forgotten "
                "than this model has noise for; retrain, or fit with a larger capacity"
            )
        request = job.roster.request
        return self.outcome(job, theta, phases, (*before.rounds, *(request,) * len(phases)))

    def noisy(
        self, job: LinearJob, theta: Tensor, steps: int, sigma: float
    ) -> tuple[Tensor, list[Phase]]:
        """Noisy steps, the last of them, a phase of its own, with exact noise."""
        normal = normal_source(job.seed, f"request {job.roster.request}")
        stacked = (theta - job.origin)[None]  # one model, seen from the ridge's center
        kernel = self._kernel(job, sigma, self.done)
        for index in range(steps - 1):
            stacked = _finite(kernel.step(stacked, index, normal))
        kernel = self._kernel(job, sigma, self.done + steps - 1)
        noise_std = math.sqrt(2 * self.step_size) * sigma
        if job.seed is None:
            center = _finite(kernel.mean(stacked, 0))
            drawn = release.draw(center.numpy(), noise_std, self._grid(job, noise_std))
            stacked = l2_ball(self.radius)(torch.from_numpy(drawn))
        else:
            stacked = _finite(kernel.step(stacked, 0, normal))
        first = [self._phase(job, steps - 1, sigma, self.done)] if steps > 1 else []
        last = self._last(job, sigma, self.done + steps - 1)
        phases = [*first, replace(last, released=job.counts_every_model)]
        return job.origin + stacked[0], phases

    def clean(
        self, job: LinearJob, theta: Tensor, steps: int, first_step: int
    ) -> tuple[Tensor, Phase]:
        kernel = self._kernel(job, 0.0, first_step)
        stacked = (theta - job.origin)[None]
        for index in range(steps):
            stacked = _finite(kernel.step(stacked, index, torch.zeros_like))
        return job.origin + stacked[0], self._phase(job, steps, 0.0, first_step)

    def steps_needed(self, job: LinearJob, sigma: float, most: int) -> int:
        """The fewest unlearning steps, from one to `most`, that meet the target.

        Raises:
            NoCertificate: `most` are not enough, so that retraining is no slower.
        """

        def met(extra: int) -> bool:
            phases = [self._phase(job, extra, sigma, self.done)] if extra else []
            last = self._last(job, sigma, self.done + extra)
            return self._epsilon(job, [*phases, last]) <= job.target.level

        extra = first_where(met, max(0, most - 1))
        if not met(extra):
            raise NoCertificate(
                f"{most} unlearning steps do not meet the target; retraining takes as many: use "
                "strategy='retrain' for this request, or fit with a larger sigma or capacity"
            )
        return 1 + extra

    def sigma_needed(self, job: LinearJob) -> float:
        """The least sigma of one noisy step that meets the target."""
        low, high = -40.0, 40.0
        while high - low > 1e-9:
            middle = (low + high) / 2
            last = self._last(job, math.exp(middle), self.done)
            met = self._epsilon(job, [last]) <= job.target.level
            low, high = (low, middle) if met else (middle, high)
        return math.exp(high)

    def _epsilon(self, job: LinearJob, phases: Sequence[Phase]) -> float:
        return shift.bound(self.assumptions, self.history(job, phases)).epsilon(job.target.delta)

    def _last(self, job: LinearJob, sigma: float, first_step: int) -> Phase:
        """One step whose noise is exact, the grid's rounding included."""
        phase = self._phase(job, 1, sigma, first_step)
        grid = self._grid(job, phase.noise_std)
        return replace(phase, rounding=phase.rounding + release.rounding_of(grid, job.dimension))

    def _phase(self, job: LinearJob, steps: int, sigma: float, first_step: int) -> Phase:
        rows = job.roster.retained
        bare = Phase(steps, self.step_size, sigma, rows, rounding=self._rounding(job, sigma))
        recorded = self.scheme.record(bare, job.roster, job.roster.present, first_step)
        if self.capacity is None:
            return recorded
        return replace(recorded, forgotten=max(0, self.capacity - job.roster.forgotten))

    def _rounding(self, job: LinearJob, sigma: float) -> float:
        """One step's error: its gradient's, its own operations' and norm's, and its noise's."""
        farthest = self.radius + float(job.origin.norm())
        gradient = job.gradient_rounding(farthest, self.scheme.load)
        noise_std = math.sqrt(2 * self.step_size) * sigma
        reach = (
            farthest
            + self.step_size * job.loss.lipschitz * self.scheme.load
            + 12 * noise_std * math.sqrt(job.dimension)
        )
        noise = noise_std * math.sqrt(job.dimension) * NORMAL_ERROR
        own = 2 * (job.dimension + 16) * UNIT * reach
        return (self.step_size * gradient + own + noise) * (1 + 1e-6)

    def _grid(self, job: LinearJob, noise_std: float) -> float:
        mu = min(0.1, gdp_for_epsilon(job.target.level, job.target.delta))
        return release.grid_for(std=noise_std, mu=mu, dimension=job.dimension)

    def _kernel(self, job: LinearJob, sigma: float, first_step: int) -> pngd.Kernel:
        def gradient(stacked: Tensor, index: int) -> Tensor:
            batch = self.scheme.batch(job.roster, first_step + index, index)
            objective = replace(job.objective, keep=batch.members, divisor=batch.divisor)
            return objective.gradient(job.origin + stacked[0])[None]

        return pngd.build(
            gradient, step_size=self.step_size, sigma=sigma, project=l2_ball(self.radius)
        )


def setting_of(job: LinearJob, learn_steps: int, forget: int) -> Setting:
    """The job as a planning problem: counts and public constants only."""
    if job.roster.private + job.roster.public < 2:
        raise ValueError("X: noisy descent needs at least two records")
    run = _Run.of(job)
    return Setting(
        run.assumptions,
        private=job.roster.private,
        public=job.roster.public,
        forget=min(forget, job.roster.private + job.roster.public - 1),
        step_size=run.step_size,
        learn_steps=learn_steps,
        observer=job.observer,
    )


def _from_the_beginning(
    strategy: Langevin | NoiseFirst, job: LinearJob, before: Outcome
) -> Outcome:
    """The request run from a point that saw no private record; `before` gives its history alone."""
    return strategy.forget(job, replace(before, state={"theta": job.beginning}, secret=add_salt()))


def _finite(stacked: Tensor) -> Tensor:
    if not torch.isfinite(stacked).all():
        raise NoCertificate("a step produced values that are not finite")
    return stacked
