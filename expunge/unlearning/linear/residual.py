"""`residual`: solve to a checked gradient norm, then one exact draw. For observer `final`.

    ||grad F_r(theta)|| <= tol, checked in float64 at the very vector that is noised, with a proven
    rounding bound u, puts theta within z = (tol + u)/m of the retained objective's minimiser, so

    mu = 2 z / noise_std   against retraining by the same rule            (THEORY 5.1)

In the accountant this is one noisy step with the identity map (c = 1, s = 0) from a distance of
2 z, the grid's rounding included. Warm start, solver and number of iterations may depend on the
forgotten records: they only choose a point of that ball, and the draw is fresh.
"""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from expunge.accounting.assumptions import Assumptions
from expunge.accounting.bounds import shift
from expunge.accounting.conversions import gdp_for_epsilon
from expunge.accounting.history import History, Phase
from expunge.accounting.prices import Price, residual_price
from expunge.accounting.target import Observer
from expunge.core import release
from expunge.core.checks import check_fields, positive
from expunge.core.randomness import normal_source
from expunge.errors import NoCertificate
from expunge.losses.objective import Gram, Objective
from expunge.losses.solver import solve
from expunge.losses.tolerances import solution_norm
from expunge.unlearning.linear.budget import warm_passes, within_budget
from expunge.unlearning.linear.linear_job import LinearJob, attainable
from expunge.unlearning.model_file import add_salt
from expunge.unlearning.outcome import Outcome

__all__ = ["Residual"]

MARGIN = 0.98  # of the target's mu, left to the solver's distance; the rest pays for the grid


@dataclass(frozen=True)
class Residual:
    """The strategy `residual`: solve to a checked gradient norm, then draw noise once.

    Args:
        tolerance: Of the gradient norm; fixed in advance, never chosen by the data. Refused at fit
            below what rounding allows by public constants; a strategy that is only named takes the
            least allowed where that is more than 1e-9.
    """

    tolerance: float = 1e-9
    name: ClassVar[str] = "residual"
    observers: ClassVar[tuple[Observer, ...]] = ("final",)

    def __post_init__(self) -> None:
        check_fields(self, tolerance=positive)

    def fit(self, job: LinearJob) -> Outcome:
        """The minimiser itself, without noise.

        Raises:
            ValueError: the tolerance is too small, by public constants.
        """
        job.resolution.check(self.tolerance)
        objective = job.objective
        gram = objective.gram()
        theta = solve(objective, job.beginning, tolerance=self.tolerance / 2, gram=gram)
        whole = not job.roster.request  # else the sample is not by place in the table
        known = _secret(objective, theta, gram) if whole else {"theta": theta}
        return Outcome({"theta": theta}, None, None, noise_free=True, secret=add_salt(known))

    def forget(self, job: LinearJob, before: Outcome) -> Outcome:
        """The retained objective's minimiser, warm-started, plus one exact draw."""
        objective, loss = job.objective, job.loss
        gram = _gram_left(job, before)
        theta = solve(objective, before.secret["theta"], tolerance=self.tolerance / 2, gram=gram)
        noise_std, grid = self.noise(job)
        residual = float(objective.gradient(theta).norm())
        most = solution_norm(loss, job.center, self.tolerance)
        if not (residual <= self.tolerance and float(theta.norm()) <= most):  # `Resolution.check`
            raise NoCertificate("the solver's point does not satisfy its own check")
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
            declared=(
                "the phase is the release: the identity map plus one exact draw; initial_distance "
                "is twice (tolerance + rounding)/ridge, checked in float64 at the noised point",
                "this model only; r successive ones seen together have sqrt(r) times its mu",
            ),
            retained=(
                "the un-noised solution",
                "the rows' Gram matrix, to the last bit that of the records without the forgotten "
                "ones",
            ),
            secret=_secret(objective, theta, gram),
        )

    def placebo(self, job: LinearJob, before: Outcome) -> Outcome:
        """The solver from `job.beginning`, stopped when a warm start's nominal budget is spent."""
        theta = within_budget(job, tolerance=self.tolerance / 2, passes=warm_passes(job))
        return Outcome({"theta": theta}, None, None, noise_free=True, secret=add_salt())

    def price(self, job: LinearJob, forget: int) -> Price:
        noise_std, _ = attainable(self, job).noise(job)
        return residual_price(job.target, release_noise_std=noise_std, observer=job.observer)

    def distance(self, job: LinearJob) -> float:
        """2 (tol + u)/m: between two runs of the same rule. Public constants only."""
        most = solution_norm(job.loss, job.center, self.tolerance)
        rounding = job.resolution.gradient_rounding(most)
        return 2 * (self.tolerance + rounding) / job.loss.l2 * (1 + 1e-12)

    def noise(self, job: LinearJob) -> tuple[float, float]:
        """The noise_std and the grid that meet the target."""
        mu = gdp_for_epsilon(job.target.level, job.target.delta)
        noise_std = self.distance(job) / (mu * MARGIN)
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
            initial_distance=self.distance(job),
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
        history = History((phase,))
        release.check_sampler(job.dimension, job.target.level, job.target.delta)
        if shift.bound(assumptions, history).epsilon(job.target.delta) > job.target.level:
            raise NoCertificate("the planned noise misses the target")
        return assumptions, history


def _gram_left(job: LinearJob, before: Outcome) -> Gram:
    """The Gram matrix of the rows still there: the kept one less the request's rows.

    A new one where none was kept, by another rule or of other rows, or where the request's rows
    are blank already: what would then be left is not the others' sum.
    """
    objective, gone = job.objective, job.roster.last
    blank = bool((objective.features[gone] == 0).all(1).any())
    if "gram_of" in before.secret and not blank:
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
