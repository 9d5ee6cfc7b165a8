"""The laws of a fitted model: models from both sides of a deletion as hard as the claim allows.

The one module of audits that knows strategies. What it draws is judged by `audit.sandwich`.
"""

import math
import secrets
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from expunge.accounting.bounds import shift
from expunge.accounting.calibration import smallest_unlearn_steps
from expunge.audit.lower_bound import least_models
from expunge.audit.sandwich import Control, Laws, sandwich
from expunge.audit.worst_descent import WorstDescent
from expunge.core import release
from expunge.core.sparse_rows import SparseRows
from expunge.errors import InvalidInput, Refused
from expunge.losses.solver import solve
from expunge.unlearning.linear.langevin import Langevin, setting_of
from expunge.unlearning.linear.linear_fitted import LinearFitted
from expunge.unlearning.linear.linear_job import LinearJob
from expunge.unlearning.linear.residual import Residual
from expunge.unlearning.schemes import FullBatch

__all__ = [
    "LEAST",
    "MODELS",
    "accepted_extremes",
    "audit_fitted",
    "descent_control",
    "laws_of",
    "worst_descent",
    "worst_of",
]

MODELS = {"residual": 400, "langevin": 12_000}  # catch a tenth of the noise in 999 of 1,000 audits
LEAST = 2 * least_models()  # half of them choose the test
STRETCH = 8_192  # rows in memory at a time


def audit_fitted(
    fitted: LinearFitted, *, models: int | None = None, seed: int | None = None
) -> dict[str, Any]:
    """The sandwich of a fitted model's strategy, as a document.

    A tenth of the private records that are still there plays the forgotten ones.

    Args:
        models: Of each law; by default what catches a tenth of the noise: `MODELS`.
    """
    strategy, job = fitted.strategy, fitted.job
    models = models or MODELS.get(strategy.name, LEAST)
    laws = laws_of(job, strategy, models=models, seed=seed)
    return {"strategy": strategy.name, **sandwich(laws, delta=job.target.delta)}


def laws_of(
    job: LinearJob, strategy: Any, *, models: int, seed: int | None = None, noise: float = 1.0
) -> Laws:
    """Draw models from both laws of a deletion, unlearned and retrained.

    Args:
        seed: None draws from the operating system, for `residual` by the very sampler of releases;
            a number makes the audit repeatable, with ordinary noise.
        noise: A factor on what is drawn; anything but 1 is a fault that an audit must catch.

    Raises:
        InvalidInput: a strategy that draws no noise, so that there is nothing to attack.
    """
    if strategy.name not in _LAWS:
        raise InvalidInput("strategy", f"{strategy.name} has no noisy law to audit")
    return _LAWS[strategy.name](job, strategy, models, seed, noise)


def _canary_rows(job: LinearJob) -> Tensor:
    """A tenth of the private records that are still present: what `langevin` provides for."""
    public = job.roster.public
    private = public + job.roster.present[public:].nonzero()[:, 0]
    if not len(private):
        raise InvalidInput("audit", "no private record is left to forget")
    return private[: max(1, math.ceil(len(private) / 10))]


def _residual_laws(
    job: LinearJob, strategy: Residual, models: int, seed: int | None, noise: float
) -> Laws:
    rows = _canary_rows(job)
    before = strategy.fit(job).theta
    after = job.without(rows.tolist())
    ends = accepted_extremes(after, strategy)
    noise_std, grid = strategy.noise(job)
    assumptions, history = strategy.record(after, noise_std, grid)
    certified = shift.bound(assumptions, history)

    def draw(center: Tensor, stream: int) -> Tensor:
        stacked = np.broadcast_to(center.numpy(), (models, *center.shape))
        if seed is None and noise == 1.0:
            return torch.from_numpy(release.draw(stacked, noise_std, grid)).reshape(models, -1)
        generator = np.random.default_rng(None if seed is None else (seed, stream))
        fault = stacked + noise * noise_std * generator.standard_normal(stacked.shape)
        return torch.from_numpy(fault).reshape(models, -1)

    retrained, epsilon = draw(ends[1], 1), certified.epsilon(job.target.delta)
    return Laws(
        unlearned=draw(ends[0], 0),
        retrained=retrained,
        retrained_again=draw(ends[1], 2),
        direction=(ends[0] - ends[1]).reshape(-1),
        epsilon=epsilon,
        mu=certified.mu,
        control=Control(
            "a model that was never unlearned",
            draw(before, 3),
            retrained,
            (before - ends[1]).reshape(-1),
            epsilon,
        ),
        reach=float((ends[0] - ends[1]).norm()) / noise_std / certified.mu,
        faulty_mu=10 * float((ends[0] - ends[1]).norm()) / noise_std,
    )


def accepted_extremes(job: LinearJob, strategy: Residual) -> tuple[Tensor, Tensor]:
    """Two points of the retained objective, as far apart as its check allows along a flat line.

    They lie at opposite ends of the ball around the minimiser that the check accepts: any solver
    may stop at either, so the claim covers them (THEORY 5.1, 6).
    """
    job = strategy.posed(job)
    objective = job.objective
    center = solve(
        objective, job.beginning, tolerance=strategy.tolerance / 100, gram=objective.gram()
    )
    direction = _flattest(job, center)
    if strategy.goes_without_passes(job):  # any point may be proven to lie in the ball
        length = strategy.reach(job) * (1 - 1e-6) - strategy.tolerance / 100 / job.loss.l2
        return center + length * direction, center - length * direction
    ends = []
    for sign in (1.0, -1.0):
        low, high = 0.0, strategy.tolerance / job.loss.l2
        for _ in range(40):
            middle = (low + high) / 2
            norm = float(objective.gradient(center + sign * middle * direction).norm())
            low, high = (middle, high) if norm <= strategy.tolerance else (low, middle)
        ends.append(center + sign * low * direction)
    return ends[0], ends[1]


def _flattest(job: LinearJob, at: Tensor) -> Tensor:
    """A direction in which the objective has hardly more curvature than its ridge."""
    if at.shape[0] > 1:  # softmax does not see what is added to every class
        direction = torch.zeros_like(at)
        direction[:, 0] = 1
    else:
        gram = replace(job.objective, keep=None).gram(job.roster.present)
        if gram.total.ndim == 1:  # wide rows: the feature that hardly any row has
            direction = torch.zeros_like(at)
            direction[:, int(gram.total.argmin())] = 1
        else:
            direction = torch.linalg.eigh(_second_moment(job))[1][:, 0][None]
    return direction / direction.norm()


def _second_moment(job: LinearJob) -> Tensor:
    """The sum of x x' over the records that are there: a stretch of rows at a time."""
    present, width = job.roster.present, job.features.shape[1]
    total = torch.zeros(width, width, dtype=torch.float64)
    for start in range(0, len(present), STRETCH):
        rows = job.features[start : start + STRETCH][present[start : start + STRETCH]].double()
        gathered = rows.dense() if isinstance(rows, SparseRows) else rows
        total += (gathered.T @ gathered).cpu()
    return total


def worst_of(job: LinearJob, strategy: Langevin, *, one_in: int) -> WorstDescent:
    """The worst case with a job's constants and a strategy's steps and noise.

    Args:
        one_in: One record of so many is forgotten; a job's bound knows shares only.
    """
    setting = replace(
        setting_of(job, strategy, 1),
        private=one_in,
        public=0,
        normaliser=strategy.scheme.normaliser,
    )
    return WorstDescent(job.loss, setting, strategy.chosen_sigma(job))


def worst_descent(job: LinearJob, strategy: Langevin) -> tuple[WorstDescent, int]:
    """What `langevin` is audited on, and the steps that it would take to honour the request.

    Raises:
        InvalidInput: batches, or a request that cannot be honoured.
    """
    if not isinstance(strategy.scheme, FullBatch):
        raise InvalidInput("scheme", "only full batches can be audited")
    one_in = max(2, -(-job.roster.retained // len(_canary_rows(job))))
    worst = worst_of(job, strategy, one_in=one_in)
    try:
        return worst, smallest_unlearn_steps(worst.setting, job.target, sigma=worst.sigma)
    except Refused as error:
        raise InvalidInput("audit", str(error)) from error


def _descent_laws(
    job: LinearJob, strategy: Langevin, models: int, seed: int | None, noise: float
) -> Laws:
    seed = secrets.randbits(32) if seed is None else seed
    if job.counts_every_model:  # what it certifies then is what whoever sees all may learn
        job = replace(job, observer="all")
    worst, steps = worst_descent(job, strategy)
    certified = worst.certified(steps)
    both: tuple[Any, ...] = ("unlearned", "retrained")
    drawn = worst.drawn(both, steps, models=models, seed=3 * seed, noise=noise)
    again = worst.drawn(("retrained",), steps, models=models, seed=3 * seed + 1, noise=noise)
    return Laws(
        unlearned=drawn[0],
        retrained=drawn[1],
        retrained_again=again[0],
        direction=worst.direction,
        epsilon=certified.epsilon(job.target.delta),
        mu=certified.mu,
        control=descent_control(job, strategy, models=models, seed=3 * seed + 2),
        reach=worst.reached(steps) / certified.mu,
        faulty_mu=worst.reached(steps, noise=0.1),
    )


def descent_control(job: LinearJob, strategy: Langevin, *, models: int, seed: int) -> Control:
    """Models with a planted fault: a request that could be honoured is ignored.

    It is the largest such request, of half of the records at most.

    Where the observer saw the learned model too, unlearning buys nothing that could be skipped:
    there the fault is a tenth of the noise.
    """
    released = job.observer == "all"
    for one_in in (2, 3, 5, 10, 20, 50, 100):
        worst = worst_of(job, strategy, one_in=one_in)
        try:
            steps = smallest_unlearn_steps(worst.setting, job.target, sigma=worst.sigma)
        except Refused:
            continue
        if released or steps > 0:
            break
    else:
        raise InvalidInput("audit", "no request needs any unlearning at this sigma")
    regimes: tuple[Any, ...] = ("unlearned" if released else "learned", "retrained")
    noise = 0.1 if released else 1.0
    of, against = worst.drawn(regimes, steps, models=models, seed=seed, noise=noise)
    fault = "a tenth of the noise" if released else "a model that was never unlearned"
    epsilon = worst.certified(steps).epsilon(job.target.delta)
    return Control(fault, of, against, worst.direction, epsilon)


_LAWS = {"residual": _residual_laws, "langevin": _descent_laws}
