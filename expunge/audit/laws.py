"""The laws of a fitted model: models from both sides of a deletion as hard as the claim allows.

The one module of audits that knows strategies. What it draws (`unlearning.linear.canaries`) is
judged by `audit.sandwich`.
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
from expunge.core import release
from expunge.errors import InvalidInput, Refused
from expunge.unlearning.linear.canaries import WorstDescent, accepted_extremes
from expunge.unlearning.linear.langevin import Langevin
from expunge.unlearning.linear.linear_fitted import LinearFitted
from expunge.unlearning.linear.linear_job import LinearJob
from expunge.unlearning.linear.residual import Residual
from expunge.unlearning.schemes import FullBatch

__all__ = ["LEAST", "MODELS", "audit_fitted", "descent_control", "laws_of", "worst_descent"]

MODELS = {"residual": 400, "langevin": 12_000}  # catch a tenth of the noise in 999 of 1,000 audits
LEAST = 2 * least_models()  # half of them choose the test


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


def worst_descent(job: LinearJob, strategy: Langevin) -> tuple[WorstDescent, int]:
    """What `langevin` is audited on, and the steps that it would take to honour the request.

    Raises:
        InvalidInput: batches, or a request that cannot be honoured.
    """
    if not isinstance(strategy.scheme, FullBatch):
        raise InvalidInput("scheme", "only full batches can be audited")
    one_in = max(2, -(-job.roster.retained // len(_canary_rows(job))))
    worst = WorstDescent.of(job, strategy, one_in=one_in)
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
        worst = WorstDescent.of(job, strategy, one_in=one_in)
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
