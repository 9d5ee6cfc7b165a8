"""`audit`: attacks on the worst case, beside what is certified. It can contradict, never certify.

Models are drawn from both laws of a deletion that was made as hard as the claim allows
(`unlearning.canaries`), and judged by `audit.sandwich`.
"""

import math
import secrets
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from expunge.accounting.bounds import shift
from expunge.accounting.calibration import smallest_unlearn_steps
from expunge.accounting.history import learn_unlearn
from expunge.accounting.refusal import InvalidInput, Refused
from expunge.audit.sandwich import Laws, sandwich
from expunge.core import release
from expunge.unlearning.canaries import accepted_extremes, with_canaries
from expunge.unlearning.certified import Certified
from expunge.unlearning.ensemble import problem_of, sampled
from expunge.unlearning.job import Job
from expunge.unlearning.langevin import Langevin, setting_of
from expunge.unlearning.residual import Residual
from expunge.workspace.folder import Folder
from expunge.workspace.head import loaded

__all__ = ["audit", "audited", "laws_of"]

Progress = Callable[[str], None]


def audit(
    workspace: Path,
    *,
    models: int = 400,
    seed: int | None = None,
    progress: Progress = lambda _: None,
) -> dict[str, Any]:
    """The sandwich of a workspace's strategy, as a document.

    A tenth of the private records that are still there plays the forgotten ones: those that were
    forgotten before are gone.

    Raises:
        InvalidInput: too few models, or nothing to audit.
    """
    if models < 40:
        raise InvalidInput(
            "models", f"{models} are too few; 40 is the least that can show anything"
        )
    folder = Folder.opened(workspace)
    estimator = folder.steady(lambda _, model: loaded(folder, model))
    folder.ledger.close()
    progress(f"sampling {4 * models:,} models")
    return audited(estimator, models=models, seed=seed)


def audited(estimator: Certified, *, models: int, seed: int | None = None) -> dict[str, Any]:
    """The same for an estimator in memory."""
    strategy, job = estimator._chosen, estimator._job
    laws = laws_of(job, strategy, models=models, seed=seed)
    return {"strategy": strategy.name, **sandwich(laws, delta=job.target.delta)}


def laws_of(
    job: Job, strategy: Any, *, models: int, seed: int | None = None, noise: float = 1.0
) -> Laws:
    """Args:
        seed: None draws from the operating system, for `residual` by the very sampler of releases;
            a number makes the audit repeatable, with ordinary noise.
        noise: A factor on what is drawn; anything but 1 is a fault that an audit must catch.

    Raises:
        InvalidInput: a strategy that draws no noise, so that there is nothing to attack.
    """
    if isinstance(strategy, Residual):
        return _residual_laws(job, strategy, models, seed, noise)
    if isinstance(strategy, Langevin):
        fresh = secrets.randbits(32) if seed is None else seed
        return _descent_laws(job, strategy, models, fresh, noise)
    raise InvalidInput("strategy", f"{strategy.name} has no noisy law to audit")


def _canary_rows(job: Job) -> Tensor:
    """A tenth of the private records that are still there: what `langevin` provides for."""
    private = (job.keep & (torch.arange(len(job.keep)) >= job.public)).nonzero()[:, 0]
    if not len(private):
        raise InvalidInput("audit", "no private record is left to forget")
    return private[: max(1, math.ceil(len(private) / 10))]


def _residual_laws(
    job: Job, strategy: Residual, models: int, seed: int | None, noise: float
) -> Laws:
    rows = _canary_rows(job)
    before = strategy.fit(job).theta
    keep = job.keep.clone()
    keep[rows] = False
    after = replace(job, keep=keep)
    ends = accepted_extremes(after, strategy)
    noise_std, grid = strategy.noise(job)
    assumptions, history = strategy.record(after, noise_std, grid)
    certified = shift.bound(assumptions, history)

    def drawn(center: Tensor, stream: int) -> Tensor:
        stacked = np.broadcast_to(center.numpy(), (models, *center.shape))
        if seed is None and noise == 1.0:
            return torch.from_numpy(release.draw(stacked, noise_std, grid)).reshape(models, -1)
        generator = np.random.default_rng(None if seed is None else (seed, stream))
        fault = stacked + noise * noise_std * generator.standard_normal(stacked.shape)
        return torch.from_numpy(fault).reshape(models, -1)

    return Laws(
        unlearned=drawn(ends[0], 0),
        retrained=drawn(ends[1], 1),
        retrained_again=drawn(ends[1], 2),
        untouched=drawn(before, 3),
        direction=(ends[0] - ends[1]).reshape(-1),
        untouched_direction=(before - ends[1]).reshape(-1),
        epsilon=certified.epsilon(job.target.delta),
        mu=certified.mu,
    )


def _descent_laws(job: Job, strategy: Langevin, models: int, seed: int, noise: float) -> Laws:
    rows = _canary_rows(job)
    worst = with_canaries(job, rows)
    sigma = strategy.chosen_sigma(job)
    setting = setting_of(job, strategy.learn_steps, len(rows))
    try:
        steps = smallest_unlearn_steps(setting, job.target, sigma=sigma)
    except Refused as error:
        raise InvalidInput("audit", str(error)) from error
    history = learn_unlearn(
        learn_steps=strategy.learn_steps,
        unlearn_steps=steps,
        step_size=setting.step_size,
        sigma=sigma,
        samples=int(job.keep.sum()),
        forgotten=len(rows),
        learned_model_released=job.observer == "all",
    )
    certified = shift.bound(setting.assumptions, history)
    problem = problem_of(worst, rows.tolist(), replace(strategy, sigma=sigma * noise))
    silent = replace(problem, sigma=0.0)

    def law(regime: Any, stream: int, unlearn_steps: int = steps) -> Tensor:
        found = sampled(
            problem, regime, unlearn_steps=unlearn_steps, models=models, seed=4 * seed + stream
        )
        return found.weights.reshape(models, -1)

    def mean(regime: Any, unlearn_steps: int = steps) -> Tensor:
        found = sampled(silent, regime, unlearn_steps=unlearn_steps, models=1)
        return found.weights.double().reshape(-1)

    retrained = mean("retrained")
    return Laws(
        unlearned=law("unlearned", 0),
        retrained=law("retrained", 1),
        retrained_again=law("retrained", 2),
        untouched=law("learned", 3, 0),
        direction=mean("unlearned") - retrained,
        untouched_direction=mean("learned", 0) - retrained,
        epsilon=certified.epsilon(job.target.delta),
        mu=certified.mu,
    )
