"""Mass unlearning: accuracy after 1, 10 and 50 % are deleted, with and without public data.

Paper: its abstract and introduction, [cor:non_vacuous_divergence]; future work on pre-training and
on a public-only reference. Noisy descent in four ways, each with the least noise that the shift
bound certifies for (epsilon, 1/n):

    symmetric          private records alone (Langevin unlearning)
    asymmetric         public and private records (the paper's)
    pre-trained        from the public records' minimiser, a few steps on all records
    public reference   many steps, a ridge that holds the model to the public records' minimiser

for the observer of the last model (K unlearning steps) and of all models (K = 1). Beside them
`auto` with and without public data, retraining, and the yardstick: the public records' minimiser,
which has seen no private record and has nothing to forget.
"""

import json
from collections.abc import Iterator
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from experiments.deletion_tasks import Problem, division, public_minimiser, summary
from experiments.exact_requests import exact_cells
from experiments.head_problems import Rows, rows_of
from experiments.mass_unlearning.settings import ARMS, Arm, Settings
from experiments.mass_unlearning.verdicts import verdicts
from experiments.parts import Parts
from experiments.stacked_descent import Descent, accuracies, langevin_cell
from expunge.accounting.target import Observer

__all__ = ["run"]

UNFINISHED = Path(__file__).parent / "results" / "unfinished"
FEW = 2  # runs of a cell in a run too short to be kept in parts
OBSERVERS: tuple[Observer, ...] = ("final", "all")
Row = dict[str, Any]


def run(settings: Settings) -> Row:
    parts = Parts(
        UNFINISHED if settings.runs > FEW else None,
        json.dumps(asdict(settings) | {"arms": {name: asdict(arm) for name, arm in ARMS.items()}}),
        Path(__file__).parent,
    )
    rows: list[Row] = []
    for pair, alignment in settings.pairs:
        task, public = joined(settings, pair)
        about = {"pair": pair, "alignment": alignment, "public": public}
        about["private"] = len(task.rows) - public
        name = pair.replace("/", "-")
        made = parts.rows(f"{name}, yardsticks", partial(yardsticks, settings, task, public))
        for arm in ARMS:
            made += parts.rows(f"{name}, {arm}", partial(noisy_rows, settings, task, public, arm))
        rows += [about | row for row in made]
    parts.done()
    result = {
        "settings": asdict(settings),
        "arms": {name: asdict(arm) for name, arm in ARMS.items()},
        "device": parts.device,
        "seconds": parts.seconds,
        "rows": rows,
    }
    return result | {"verdicts": verdicts(result)}


def joined(settings: Settings, pair: str) -> tuple[Problem, int]:
    """The pair as one task, its public rows first, and how many they are."""
    public, private, test = rows_of(pair)
    rng = np.random.default_rng(settings.seed)
    sides = [_drawn(rows, settings.rows, rng) for rows in (public, private)]
    features, labels = (np.concatenate(parts) for parts in zip(*sides, strict=True))
    classes = int(private.targets.max()) + 1
    held_out = test.features.numpy(), test.targets.numpy()
    return Problem(pair, classes, pair, features, labels, *held_out), len(sides[0][1])


def _drawn(rows: Rows, most: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Some of the rows, in random order."""
    order = rng.permutation(len(rows.targets))[:most]
    return rows.features.numpy()[order], rows.targets.numpy()[order]


def without_public(task: Problem, public: int) -> Problem:
    """The same task, the public records never there."""
    private = slice(public, None)
    return Problem(
        task.name,
        task.classes,
        task.source,
        task.rows[private],
        task.labels[private],
        task.test,
        task.test_labels,
    )


def yardsticks(settings: Settings, task: Problem, public: int) -> Iterator[Row]:
    """The public records' minimiser, retraining, and `auto` with and without public data."""
    center = public_minimiser(task, public, settings.exact_ridge)
    yield {"arm": "public only", **_measured(task, torch.from_numpy(center.astype(np.float32)))}
    for with_public in (True, False):
        some = task if with_public else without_public(task, public)
        share = public / len(task.rows) if with_public else 0.0
        for row in exact_cells(
            some,
            shares=(share,),
            deletions=settings.deletions,
            epsilons=settings.epsilons,
            runs=1,
            ridge=settings.exact_ridge,
            seed=settings.seed,
        ):
            if row["strategy"] in ("retrain", "auto"):
                arm = row["strategy"] + ("" if with_public else ", no public data")
                kept = {name: row[name] for name in ("deletion", "forget", "epsilon", "accuracy")}
                yield {"arm": arm, "observer": "final"} | kept


def noisy_rows(settings: Settings, task: Problem, public: int, name: str) -> Iterator[Row]:
    """One way to learn, for both observers, every deletion and epsilon."""
    arm = ARMS[name]
    some, there = (task, public) if arm.public else (without_public(task, public), 0)
    descent = _descent(settings, task, some, public, arm)
    clean = descent.without_noise(f"{task.name}, {name}")[0, 0]
    yield {"arm": f"{name}, without noise", **_measured(task, clean)}
    spots = [
        (division(there, len(some.rows) - there, deletion), deletion, epsilon)
        for deletion in settings.deletions
        for epsilon in settings.epsilons
    ]
    for observer in OBSERVERS:
        steps = settings.unlearn_steps if observer == "final" else 1
        cells = [
            langevin_cell(
                descent.setting(where, observer),
                where,
                epsilon=epsilon,
                delta=task.delta,
                unlearn_steps=steps,
            )
            for where, _, epsilon in spots
        ]
        title = f"{task.name}, {name}, {observer}"
        theta = descent.langevin(cells, runs=settings.runs, unlearn_steps=steps, title=title)
        right = accuracies(theta, task.test, task.test_labels)
        for (where, deletion, epsilon), cell, runs in zip(spots, cells, right, strict=True):
            yield {
                "arm": name,
                "observer": observer,
                "deletion": deletion,
                "forget": where.forget,
                "unlearn_steps": steps,
                "epsilon": epsilon,
                "sigma": float(f"{cell.sigma:.6g}"),
                "each": [round(100 * float(one), 3) for one in runs],
                **summary(runs),
            }


def _descent(settings: Settings, task: Problem, some: Problem, public: int, arm: Arm) -> Descent:
    return Descent.of(
        some.rows,
        some.labels,
        classes=task.classes,
        ridge=arm.ridge,
        learn_steps=arm.learn_steps,
        seed=settings.seed,
        center=public_minimiser(task, public, settings.exact_ridge) if arm.around else None,
    )


def _measured(task: Problem, weights: torch.Tensor) -> Row:
    """The accuracy of one model without noise."""
    right = accuracies(weights[None, None], task.test, task.test_labels)
    return {"accuracy": summary(right[0], noisy=False)["accuracy"]}
