"""`residual`: a point provably near the minimiser, then one exact draw. For observer `final`.

    a Newton step from the anchor, no row read but the request's own:  z <= reach     (THEORY 6)
    or passes: ||grad F_r(theta)|| <= tol, checked in float64 at the very vector that is noised,
    with a proven rounding bound u:                            z = (tol + u)/m        (THEORY 5.1)

    mu = 2 reach / noise_std   against retraining by the same rule

In the accountant this is one noisy step with the identity map (c = 1, s = 0) from a distance of
2 reach, the grid's rounding included. Warm start, solver and number of iterations may depend on the
forgotten records: they only choose a point of that ball, and the draw is fresh.
"""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from expunge.accounting.assumptions import Assumptions
from expunge.accounting.bounds import shift
from expunge.accounting.conversions import gdp_for_epsilon
from expunge.accounting.history import History, Phase
from expunge.accounting.prices import Price, residual_price
from expunge.core import release
from expunge.core.checks import check_fields, flag, not_negative, optional, positive
from expunge.core.randomness import normal_source
from expunge.errors import NoCertificate
from expunge.unlearning.linear.by_passes import ByPasses
from expunge.unlearning.linear.linear_job import LinearJob, attainable
from expunge.unlearning.linear.pass_free import PassFree, usual_reach
from expunge.unlearning.model_file import add_salt
from expunge.unlearning.outcome import Outcome
from expunge.unlearning.room import check_fixed_room
from expunge.unlearning.strategy import Strategy

__all__ = ["Residual"]

MARGIN = 0.98  # of the target's mu, left to the solver's distance; the rest pays for the grid


@dataclass(frozen=True)
class Residual(Strategy[LinearJob]):
    """The strategy `residual`: a point provably near the minimiser, then one draw of noise.

    Args:
        tolerance: Of the gradient norm at which passes stop; fixed in advance, never chosen by the
            data. Refused at fit below what rounding allows by public constants; a strategy that is
            only named takes the least allowed where that is more than 1e-9.
        distance: z_max, how far from the minimiser the released point may provably be: a request
            goes without a pass if a Newton step is proven to be as near. None takes 2.5e-3 over the
            rows' norm, times the targets' bound of a regression where that is below 1. 0 is for
            passes only, with no more noise than the tolerance needs.
        max_anchor_age: In days: an older anchor, an un-noised solution that records forgotten since
            have helped to make, is not used again, and the request replaces it.
        state_limit: In GiB: sums of gradients and curvatures that would be larger are not kept, and
            requests take passes. 1 GiB is for about 5,000 weights.
        fixed: Divide losses by the records at fit rather than by those present, in retraining too:
            the ridge weighs as much against each record after a deletion as before.
    """

    tolerance: float = 1e-9
    distance: float | None = None
    max_anchor_age: float = 30.0
    state_limit: float = 1.0
    fixed: bool = False
    name = "residual"

    def __post_init__(self) -> None:
        check_fields(
            self,
            tolerance=positive,
            distance=optional(not_negative),
            max_anchor_age=positive,
            state_limit=not_negative,
            fixed=flag,
        )

    def posed(self, job: LinearJob) -> LinearJob:
        """The job with what this strategy divides summed losses by."""
        return replace(job, divisor=float(job.roster.at_fit)) if self.fixed else job

    def fit(self, job: LinearJob) -> Outcome:
        """The minimiser itself, without noise.

        Raises:
            ValueError: the tolerance is too small, by public constants.
        """
        job = self.posed(job)
        job.resolution.check(self.tolerance)
        noise_std, grid = self.noise(job)
        passes, gram = ByPasses(job, self.tolerance), job.objective.gram()
        release.check_reach(passes.farthest, std=noise_std, grid=grid, setting="tolerance")
        theta = passes.solve(job.beginning, gram)
        return _without_noise(theta, self._way(job).kept(theta, gram))

    def forget(self, job: LinearJob, before: Outcome) -> Outcome:
        """A point near the retained objective's minimiser, plus one exact draw."""
        job = self.posed(job)
        return self._noised(job, *self._way(job).near(before.secret))

    def add(self, job: LinearJob, before: Outcome) -> Outcome:
        """The same with records that joined; without noise while nothing has been forgotten.

        Raises:
            ValueError: there are too many records for the tolerance, by counts alone.
            NoCertificate: losses are divided by fewer records than would be there.
        """
        job = self.posed(job)
        if self.fixed:
            check_fixed_room(job.roster, "Residual(fixed=True)", "Residual()")
        job.resolution.check(self.tolerance)
        near = self._way(job).near(before.secret)
        return self._noised(job, *near) if job.roster.forgotten else _without_noise(*near)

    def exchange(self, job: LinearJob, before: Outcome) -> Outcome:
        """The same with records that leave and others that join.

        Raises:
            ValueError: there are too many records for the tolerance, by counts alone.
        """
        return self.add(job, before)

    def _noised(
        self, job: LinearJob, theta: Tensor, secret: dict[str, Tensor], passed: bool
    ) -> Outcome:
        """The release of a point within reach, by one exact draw."""
        noise_std, grid = self.noise(job)
        if job.seed is None:
            released = torch.from_numpy(release.draw(theta.numpy(), noise_std, grid))
        else:
            released = theta + noise_std * normal_source(job.seed, f"request {job.roster.request}")(
                theta
            )
        assumptions, history = self.record(job, noise_std, grid)
        return Outcome(
            {"theta": released},
            assumptions,
            history,
            declared=self._declared(job),
            retained=self._way(job).retained,
            secret=secret,
            read_every_row=passed,
        )

    def refresh(self, job: LinearJob, before: Outcome) -> Outcome:
        """The same model, with a new anchor of the records that are there: passes over them."""
        return replace(before, secret=self._way(self.posed(job)).anew(before.secret))

    def goes_without_passes(self, job: LinearJob) -> bool:
        """Whether requests may go without a pass; sizes and settings only."""
        limit = self.state_limit * 2**30
        return self.distance != 0 and PassFree.is_for(job.loss, job.features.shape[1], limit)

    def _way(self, job: LinearJob) -> ByPasses | PassFree:
        """How a job's requests come within reach of the minimiser."""
        passes = ByPasses(job, self.tolerance)
        if not self.goes_without_passes(job):
            return passes
        return PassFree(passes, self.reach(job), self.max_anchor_age)

    def _declared(self, job: LinearJob) -> tuple[str, ...]:
        return (
            "the phase is the release: the identity map plus one exact draw; initial_distance "
            f"is twice {self._way(job).proven}",
            "this model only; r successive ones seen together have sqrt(r) times its mu",
        )

    def placebo(self, job: LinearJob, before: Outcome) -> Outcome:
        """The solver from `job.beginning`, stopped when a request's nominal budget is spent.

        Where requests go without a pass, that is enough for a few records only.
        """
        return _without_noise(self._way(self.posed(job)).placebo())

    def price(self, job: LinearJob, forget: int) -> Price:
        noise_std, _ = attainable(self, job).noise(job)
        return residual_price(job.target, release_noise_std=noise_std, observer=job.observer)

    def reach(self, job: LinearJob) -> float:
        """z: how far from the minimiser the noised point is at most. Public constants only.

        The larger of `distance` and (tol + u)/m, which passes reach.
        """
        reach = ByPasses(job, self.tolerance).reach
        if self.distance is not None:
            return max(self.distance, reach)
        return max(usual_reach(job.loss), reach) if self.goes_without_passes(job) else reach

    def separation(self, job: LinearJob) -> float:
        """2 z: between two runs of the same rule. Public constants only."""
        return 2 * self.reach(job)

    def noise(self, job: LinearJob) -> tuple[float, float]:
        """The noise_std and the grid that meet the target."""
        mu = gdp_for_epsilon(job.target.level, job.target.delta)
        noise_std = self.separation(job) / (mu * MARGIN)
        grid = release.grid_for(std=noise_std, mu=mu, dimension=job.dimension)
        return noise_std, grid

    def record(self, job: LinearJob, noise_std: float, grid: float) -> tuple[Assumptions, History]:
        """The release as the accountant sees it.

        Raises:
            NoCertificate: the target is missed, which would be a bug.
        """
        assumptions = Assumptions(
            strong_convexity=0.0,
            smoothness=0.0,
            lipschitz=job.loss.gradient_bound(ByPasses(job, self.tolerance).farthest),
            initial_distance=self.separation(job),
            marks={
                "strong_convexity": "enforced",  # of the identity map, which this phase is
                "smoothness": "enforced",
                "lipschitz": job.loss.mark,
                "initial_distance": job.loss.mark,
            },
        )
        phase = Phase(
            steps=1,
            step_size=0.5,  # so that sigma is the noise std
            sigma=noise_std,
            samples=job.roster.retained,
            rounding=release.rounding_of(grid, job.dimension),
        )
        history = History((phase,), "fixed", job.roster.at_fit) if self.fixed else History((phase,))
        if shift.bound(assumptions, history).epsilon(job.target.delta) > job.target.level:
            raise NoCertificate("the planned noise misses the target")
        return assumptions, history


def _without_noise(
    theta: Tensor, secret: dict[str, Tensor] | None = None, passed: bool = True
) -> Outcome:
    """A model that carries no noise, before any deletion or in place of one."""
    secret = add_salt(secret)
    return Outcome(
        {"theta": theta}, None, None, noise_free=True, secret=secret, read_every_row=passed
    )
