"""How often an audit catches a planted fault, and how often it flags what is sound.

Three runs of each strategy, seeded: as it is, with a tenth of the noise, and with the unlearning
skipped. Caught: the attack's lower bound at 95 % lies above the certified epsilon; contradicted: so
does its bound at DECISIVE, the confidence at which an audit says so.
"""

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from torch import Tensor

from experiments.audit_power.settings import Settings
from experiments.parts import Parts
from experiments.progress import show_progress
from expunge.audit.laws import descent_control, laws_of, worst_descent
from expunge.audit.lower_bound import epsilon_lower_bound
from expunge.audit.sandwich import Control
from expunge.sampling.chain import Regime
from expunge.unlearning.linear.estimator import CertifiedClassifier
from expunge.unlearning.linear.langevin import Langevin
from expunge.unlearning.linear.residual import Residual

__all__ = ["run"]

RUNS = "sound", "a tenth of the noise", "unlearning skipped"
UNFINISHED = Path(__file__).parent / "results" / "unfinished"


def run(settings: Settings) -> dict[str, Any]:
    parts = Parts(
        UNFINISHED if settings.repetitions > 1 else None,
        json.dumps(asdict(settings)),
        Path(__file__).parent,
    )
    rows = [
        *parts.rows("residual", lambda: _residual(settings)),
        *parts.rows("langevin", lambda: _langevin(settings)),
    ]
    parts.done()
    return {
        "settings": asdict(settings),
        "device": parts.device,
        "seconds": parts.seconds,
        "rows": rows,
    }


def _job(settings: Settings, strategy: Residual | Langevin) -> Any:
    images, labels = load_digits(return_X_y=True)
    images, end = images / 16, settings.public + settings.private
    model = CertifiedClassifier(
        epsilon=settings.epsilon, delta=settings.delta, strategy=strategy, l2=settings.ridge
    )
    public = images[: settings.public], labels[: settings.public]
    private = slice(settings.public, end)
    return model.fit(images[private], labels[private], public=public).fitted_.job


def _residual(settings: Settings) -> Iterator[dict[str, Any]]:
    strategy, models = Residual(), settings.residual_models
    job = _job(settings, strategy)
    caught = {name: np.zeros(2, dtype=int) for name in RUNS}
    for seed in show_progress(range(settings.repetitions), "residual"):
        for name, noise in (("sound", 1.0), ("a tenth of the noise", 0.1)):
            laws = laws_of(job, strategy, models=models, seed=seed, noise=noise)
            both = laws.unlearned, laws.retrained
            caught[name] += _flagged(settings, *both, laws.direction, laws.epsilon)
        control = laws_of(job, strategy, models=models, seed=seed).control
        caught["unlearning skipped"] += _control(settings, control)
    certified = laws_of(job, strategy, models=models, seed=0)
    yield _row(settings, "residual", models, certified.epsilon, certified.reach, caught)


def _langevin(settings: Settings) -> Iterator[dict[str, Any]]:
    strategy, models = Langevin(learn_steps=settings.learn_steps), settings.langevin_models
    job = _job(settings, strategy)
    worst, steps = worst_descent(job, strategy)
    certified = worst.certified(steps)
    both: tuple[Regime, ...] = ("unlearned", "retrained")
    epsilon = certified.epsilon(settings.delta)
    caught = {name: np.zeros(2, dtype=int) for name in RUNS}
    for seed in show_progress(range(settings.repetitions), "langevin"):
        for name, noise in (("sound", 1.0), ("a tenth of the noise", 0.1)):
            of, against = worst.drawn(both, steps, models=models, seed=3 * seed, noise=noise)
            caught[name] += _flagged(settings, of, against, worst.direction, epsilon)
        control = descent_control(job, strategy, models=models, seed=3 * seed + 2)
        caught["unlearning skipped"] += _control(settings, control)
    reach = worst.reached(steps) / certified.mu
    yield _row(settings, "langevin", models, epsilon, reach, caught)


def _row(
    settings: Settings,
    strategy: str,
    models: int,
    epsilon: float,
    reach: float,
    caught: dict[str, np.ndarray],
) -> dict[str, Any]:
    return {
        "strategy": strategy,
        "models": models,
        "certified_epsilon": epsilon,
        "reach": reach,
        "repetitions": settings.repetitions,
        "caught": {name: int(counts[0]) for name, counts in caught.items()},
        "contradicted": {name: int(counts[1]) for name, counts in caught.items()},
    }


def _flagged(
    settings: Settings, of: Tensor, against: Tensor, direction: Tensor, epsilon: float
) -> np.ndarray:
    """Whether it is caught, and whether it is contradicted."""
    unit = direction / direction.norm()
    scores = [(part.double() @ unit).numpy() for part in (of, against)]
    found = epsilon_lower_bound(of=scores[0], against=scores[1], delta=settings.delta)
    return np.array([found.value > epsilon, found.contradicts(epsilon)])


def _control(settings: Settings, control: Control) -> np.ndarray:
    return _flagged(settings, control.of, control.against, control.direction, control.epsilon)
