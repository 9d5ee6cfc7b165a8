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
from expunge.accounting.prices import DISTANCE, Price, residual_price
from expunge.core import release
from expunge.core.checks import check_fields, flag, not_negative, optional, positive
from expunge.core.randomness import normal_source
from expunge.core.row_products import largest_of
from expunge.errors import NoCertificate
from expunge.losses.objective import Gram, Objective
from expunge.losses.solver import solve
from expunge.losses.squared import Squared
from expunge.losses.tolerances import solution_norm
from expunge.unlearning.linear.budget import of_few_records, warm_passes, within_budget
from expunge.unlearning.linear.linear_job import LinearJob, attainable
from expunge.unlearning.linear.pass_free import PROVEN, PassFree
from expunge.unlearning.model_file import SALT, add_salt
from expunge.unlearning.outcome import Outcome
from expunge.unlearning.schemes import check_fixed_room
from expunge.unlearning.strategy import Strategy

__all__ = ["Residual"]

CHECKED = "(tolerance + rounding)/ridge, checked in float64 at the noised point"
RETAINED = (
    "the un-noised solution",
    "the rows' Gram matrix, to the last bit that of the records without the forgotten ones",
)
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
        most = solution_norm(job.loss, job.center, self.tolerance)
        release.check_reach(most, std=noise_std, grid=grid, setting="tolerance")
        objective = job.objective
        gram = objective.gram()
        theta = solve(objective, job.beginning, tolerance=self.tolerance / 2, gram=gram)
        whole = not job.roster.request  # else the sample is not by place in the table
        if self.goes_without_passes(job):
            known = self._rule(job).anchor_at(theta).tensors()
        else:
            known = _secret(objective, theta, gram) if whole else {"theta": theta}
        return Outcome({"theta": theta}, None, None, noise_free=True, secret=add_salt(known))

    def forget(self, job: LinearJob, before: Outcome) -> Outcome:
        """A point near the retained objective's minimiser, plus one exact draw."""
        job = self.posed(job)
        return self._noised(job, *self._near(job, before))

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
        theta, secret, passed = self._near(job, before)
        if job.roster.forgotten:
            return self._noised(job, theta, secret, passed)
        secret = add_salt(secret)
        return Outcome(
            {"theta": theta}, None, None, noise_free=True, secret=secret, read_every_row=passed
        )

    def exchange(self, job: LinearJob, before: Outcome) -> Outcome:
        """The same with records that leave and others that join.

        Raises:
            ValueError: there are too many records for the tolerance, by counts alone.
        """
        return self.add(job, before)

    def _near(self, job: LinearJob, before: Outcome) -> tuple[Tensor, dict[str, Tensor], bool]:
        """A point within reach, the secret state after it, and whether passes were made."""
        if self.goes_without_passes(job):

            def make_passes(start: Tensor) -> Tensor:
                return self._solve(job, start, job.objective.gram())

            return self._rule(job).near(before.secret, make_passes)
        gram = _gram_left(job, before)
        theta = self._solve(job, before.secret["theta"], gram)
        return theta, _secret(job.objective, theta, gram), True

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
            retained=self._retained(job),
            secret=secret,
            read_every_row=passed,
        )

    def refresh(self, job: LinearJob, before: Outcome) -> Outcome:
        """The same model, with a new anchor of the records that are there: passes over them."""
        if not self.goes_without_passes(job):
            return before
        job = self.posed(job)
        theta = self._solve(job, before.secret["theta"], job.objective.gram())
        salt = {name: value for name, value in before.secret.items() if name == SALT}
        return replace(before, secret=self._rule(job).anchor_at(theta).tensors() | salt)

    def _solve(self, job: LinearJob, start: Tensor, gram: Gram) -> Tensor:
        """A point within the tolerance, checked.

        Raises:
            NoCertificate: the solver's point does not satisfy its own check.
        """
        objective = job.objective
        theta = solve(objective, start, tolerance=self.tolerance / 2, gram=gram)
        residual = float(objective.gradient(theta).norm())
        most = solution_norm(job.loss, job.center, self.tolerance)
        if not (residual <= self.tolerance and float(theta.norm()) <= most):  # `Resolution.check`
            raise NoCertificate("the solver's point does not satisfy its own check")
        return theta

    def goes_without_passes(self, job: LinearJob) -> bool:
        """Whether requests may go without a pass; sizes and settings only."""
        limit = self.state_limit * 2**30
        return self.distance != 0 and PassFree.is_for(job.loss, job.features.shape[1], limit)

    def _rule(self, job: LinearJob) -> PassFree:
        return PassFree(job, self.tolerance, self.reach(job), self.max_anchor_age)

    def _declared(self, job: LinearJob) -> tuple[str, ...]:
        proven = PROVEN if self.goes_without_passes(job) else CHECKED
        return (
            "the phase is the release: the identity map plus one exact draw; initial_distance "
            f"is twice {proven}",
            "this model only; r successive ones seen together have sqrt(r) times its mu",
        )

    def _retained(self, job: LinearJob) -> tuple[str, ...]:
        return self._rule(job).retained if self.goes_without_passes(job) else RETAINED

    def placebo(self, job: LinearJob, before: Outcome) -> Outcome:
        """The solver from `job.beginning`, stopped when a request's nominal budget is spent.

        Where requests go without a pass, that is enough for a few records only.
        """
        job = self.posed(job)
        if self.goes_without_passes(job):
            theta = of_few_records(job, tolerance=self.tolerance / 2)
        else:
            theta = within_budget(job, tolerance=self.tolerance / 2, passes=warm_passes(job))
        return Outcome({"theta": theta}, None, None, noise_free=True, secret=add_salt())

    def price(self, job: LinearJob, forget: int) -> Price:
        noise_std, _ = attainable(self, job).noise(job)
        return residual_price(job.target, release_noise_std=noise_std, observer=job.observer)

    def reach(self, job: LinearJob) -> float:
        """z: how far from the minimiser the noised point is at most. Public constants only.

        The larger of `distance` and (tol + u)/m, which passes reach.
        """
        loss = job.loss
        most = solution_norm(loss, job.center, self.tolerance)
        rounding = job.resolution.gradient_rounding(most)
        by_passes = (self.tolerance + rounding) / loss.l2 * (1 + 1e-12)
        if self.distance is not None:
            return max(self.distance, by_passes)
        if not self.goes_without_passes(job):
            return by_passes
        size = min(1.0, loss.target_norm) if isinstance(loss, Squared) else 1.0
        return max(size * DISTANCE / loss.row_norm, by_passes)

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
            lipschitz=job.loss.gradient_bound(solution_norm(job.loss, job.center, self.tolerance)),
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


def _gram_left(job: LinearJob, before: Outcome) -> Gram:
    """The Gram matrix of the rows still there: the kept one less the request's rows.

    A new one where none was kept, by another rule or of other rows, or where the request's rows
    are blank already: what would then be left is not the others' sum.
    """
    objective, gone = job.objective, job.roster.last
    blank = bool((largest_of(objective.features[gone]) == 0).any())
    alike = "gram" in before.secret and before.secret["gram"].ndim == objective.gram_dimensions
    if alike and not blank:
        rows, places, *rule = before.secret["gram_of"].tolist()
        kept = Gram(before.secret["gram"], int(rows), int(places))
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
