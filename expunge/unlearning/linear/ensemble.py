"""A job as a sampling problem: the laws that noisy descent on its records draws models from.

Step size, ball and sigma are those that `Langevin` would use, so that an ensemble is made of the
very models that its certificates speak of. Samples are seeded: for experiments and audits, never
for release.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from expunge.errors import InvalidInput
from expunge.sampling.chain import Regime
from expunge.sampling.ensembles import Ensemble, sample_ensemble
from expunge.sampling.problem import Problem, Zero
from expunge.sampling.ray_engine import engine_of
from expunge.unlearning.linear.langevin import Langevin, setting_of
from expunge.unlearning.linear.linear_job import LinearJob

__all__ = ["problem_of", "sampled"]


def problem_of(job: LinearJob, forget: Sequence[int], strategy: Langevin) -> Problem:
    """Describe noisy descent on a job's records as a problem that ensembles are sampled from.

    Args:
        forget: Rows of the job to forget, all private and still there.

    Raises:
        ValueError: rows that cannot be forgotten, or a job that starts elsewhere than at zero.
    """
    rows = torch.as_tensor(list(forget), dtype=torch.long)
    present, public = job.roster.present, job.roster.public
    if len(rows) and (int(rows.min()) < public or not bool(present[rows].all())):
        raise ValueError("forget: only private records that are still there")
    if job.start is not None or job.center is not None:
        raise ValueError("reference: ensembles start and are centred at zero")
    if job.rows_are_sparse:
        raise InvalidInput("X", "ensembles are sampled from dense rows; give X.toarray() at fit")
    features: Any = job.features
    setting = setting_of(job, strategy, max(1, len(rows)))
    private = public + present[public:].nonzero()[:, 0]
    here = {int(row): place for place, row in enumerate(private)}
    return Problem(
        loss=job.loss,
        private=(features[private], job.targets[private]),
        public=(features[:public], job.targets[:public]) if public else None,
        forget=torch.tensor([here[int(row)] for row in rows], dtype=torch.long),
        step_size=setting.step_size,
        sigma=strategy.chosen_sigma(job),
        learn_steps=strategy.learn_steps,
        radius=setting.assumptions.radius,
        init=Zero(),
    )


def sampled(
    problem: Problem,
    regime: Regime,
    *,
    unlearn_steps: int,
    models: int,
    device: str = "cpu",
    engine: str = "local",
    address: str | None = None,
    seed: int = 0,
    folder: Path | None = None,
    progress: bool = False,
) -> Ensemble:
    """One regime's ensemble.

    Args:
        engine: "local" or "ray", for a cluster at this address.
    """
    ensembles = sample_ensemble(
        problem,
        (regime,),
        (unlearn_steps,),
        models=models,
        device=device,
        engine=engine_of(engine, address),
        seed=seed,
        folder=folder,
        progress=progress,
    )
    (ensemble,) = ensembles.values()
    return ensemble
