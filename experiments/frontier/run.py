"""Accuracy that a certificate leaves: every strategy, epsilon, deletion and public share.

1. comparison: `langevin` at the published setting (one deletion, K = 1, T = 10,000), held against
   the published Langevin-unlearning and descend-to-delete accuracies.
2. cells: every strategy on the grid, for the observer of the last model and of all models.
3. growth: a fixed private set and deletion, and more and more public records beside it.

Observer `all` also holds the model from before the deletion, so only `langevin` is sound: plain,
and with ridge and start at the public records' minimiser (`langevin_center`).
"""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from experiments.datasets import load
from experiments.datasets.mnist import BadData, DataMissing
from experiments.deletion_tasks import (
    Division,
    Problem,
    division,
    public_minimiser,
    summary,
)
from experiments.exact_requests import exact_cells, plans
from experiments.frontier.settings import PUBLISHED, Settings, Task
from experiments.parts import Parts
from experiments.stacked_descent import (
    Cell,
    Descent,
    accuracies,
    langevin_cell,
    noise_first_cell,
)
from expunge.accounting.target import Observer
from expunge.core.rows import bounded_rows

__all__ = ["run", "work"]

UNFINISHED = Path(__file__).parent / "results" / "unfinished"


def run(settings: Settings) -> dict[str, Any]:
    """All tables as lists of rows."""
    try:
        digits = load(settings.source)
    except (DataMissing, BadData) as error:
        raise SystemExit(f"frontier: {error}") from error
    problems = [
        Problem.of(digits, task.name, task.classes, settings.seed) for task in settings.tasks
    ]
    folder = None if settings.source == "embedded" else UNFINISHED
    parts = Parts(folder, json.dumps(asdict(settings)), Path(__file__).parent)
    tables = {name: parts.rows(name, made) for name, made in work(settings, problems).items()}
    result: dict[str, Any] = {
        "settings": asdict(settings),
        "data": [problem.described() for problem in problems],
        "published": [
            {"method": method, "epsilon": epsilon, "accuracy": accuracy}
            for method, row in PUBLISHED.items()
            for epsilon, accuracy in row.items()
        ],
        "constants": constants(settings, problems),
        "plans": plans(problems[0], 0.5, settings.epsilons[0], settings.exact_ridge),
        "comparison": tables["comparison"],
        "cells": [],
        "baselines": [],
        "growth": tables["growth"],
        "device": parts.device,
        "seconds": parts.seconds,
    }
    for name in (task.name for task in settings.tasks):
        rows = [*tables[f"{name}, exact"], *tables[f"{name}, descent"]]
        result["cells"] += [{"task": name} | row for row in rows]
        result["baselines"] += [{"task": name} | row for row in tables[f"{name}, baselines"]]
    parts.done()
    return result


def work(
    settings: Settings, problems: list[Problem]
) -> dict[str, Callable[[], Iterable[dict[str, Any]]]]:
    """Every part of the run by its name; none depends on another."""
    parts: dict[str, Callable[[], Iterable[dict[str, Any]]]] = {
        "comparison": partial(comparison, settings, problems[0])
    }
    for task, problem in zip(settings.tasks, problems, strict=True):
        for kind, made in (("exact", exact), ("descent", descent), ("baselines", baselines)):
            parts[f"{task.name}, {kind}"] = partial(made, settings, task, problem)
    parts["growth"] = partial(growth, settings, settings.tasks[0], problems[0])
    return parts


def centers(settings: Settings, problem: Problem) -> dict[float, np.ndarray]:
    """The public records' minimiser at each public share."""
    return {
        share: public_minimiser(problem, problem.divided(share, 1).public, settings.exact_ridge)
        for share in settings.shares
        if share
    }


def constants(settings: Settings, problems: list[Problem]) -> list[dict[str, Any]]:
    """What the certificates of noisy descent rest on, all enforced by rows of norm at most 1."""
    found = []
    for problem in problems:
        for ridge in (settings.ridge, settings.center_ridge):
            some = noisy(problem, ridge, 1, settings.seed)
            stated = some.loss.assumptions(some.radius)
            found.append(
                {
                    "task": problem.name,
                    "ridge": ridge,
                    "lipschitz": stated.lipschitz,
                    "smoothness": stated.smoothness,
                    "strong_convexity": stated.strong_convexity,
                    "step_size": some.step_size,
                    "radius": some.radius,
                    "normaliser": "mean",
                    "bound": "shift",
                }
            )
    return found


def noisy(
    problem: Problem, ridge: float, steps: int, seed: int, center: np.ndarray | None = None
) -> Descent:
    return Descent.of(
        problem.rows,
        problem.labels,
        classes=problem.classes,
        ridge=ridge,
        learn_steps=steps,
        seed=seed,
        center=center,
    )


def comparison(settings: Settings, problem: Problem) -> Iterator[dict[str, Any]]:
    """One deletion, K = 1; rows as published, and as the estimator makes them.

    The estimator's rows carry an intercept feature that counts in the norm 1, so pixels have norm
    1/sqrt 2 there; M, L, eta and sigma are the same. T is the grid's in that variant.
    """
    with_intercept = bounded_rows(problem.rows, 1.0), bounded_rows(problem.test, 1.0)
    for name, rows, test, steps in (
        ("norm 1", problem.rows, problem.test, settings.compared_steps),
        ("norm 1, intercept counted", *with_intercept, settings.tasks[0].learn_steps),
    ):
        some = Descent.of(
            rows,
            problem.labels,
            classes=2,
            ridge=settings.ridge,
            learn_steps=steps,
            seed=settings.seed,
        )
        where = problem.divided(0.0, 1)
        cells = [
            langevin_cell(
                some.setting(where, "final"),
                where,
                epsilon=epsilon,
                delta=problem.delta,
                unlearn_steps=1,
            )
            for epsilon in settings.compared_epsilons
        ]
        theta = some.langevin(
            cells, runs=settings.compared_runs, unlearn_steps=1, title=f"comparison, {name}"
        )
        found = accuracies(theta, test, problem.test_labels)
        clean = accuracies(some.without_noise(name), test, problem.test_labels)
        for cell, runs in zip(cells, found, strict=True):
            yield {
                "rows": name,
                "learn_steps": steps,
                "unlearn_steps": 1,
                "without_noise": summary(clean[0])["accuracy"],
                **_numbers(cell, runs),
            }


def exact(settings: Settings, task: Task, problem: Problem) -> Iterator[dict[str, Any]]:
    for row in exact_cells(
        problem,
        shares=settings.shares,
        deletions=settings.deletions,
        epsilons=settings.epsilons,
        runs=task.exact_runs,
        ridge=settings.exact_ridge,
        seed=settings.seed,
    ):
        yield {"observer": "final"} | row


@dataclass(frozen=True)
class _Place:
    """Where in the grid a cell lies."""

    share: float
    deletion: int | float
    division: Division

    def row(self) -> dict[str, Any]:
        return {"share": self.share, "deletion": self.deletion, "forget": self.division.forget}


def places(settings: Settings, problem: Problem, shares: tuple[float, ...]) -> list[_Place]:
    return [
        _Place(share, deletion, problem.divided(share, deletion))
        for share in shares
        for deletion in settings.deletions
    ]


def descent(settings: Settings, task: Task, problem: Problem) -> Iterator[dict[str, Any]]:
    """`langevin` and `noise_first` for observer `final`, and `langevin` for observer `all`."""
    some = noisy(problem, settings.ridge, task.learn_steps, settings.seed)
    final = places(settings, problem, task.final_shares)
    every = places(settings, problem, settings.shares)
    stacks: list[tuple[str, Observer, int, list[_Place]]] = [
        *(("langevin", "final", steps, final) for steps in task.unlearn_steps),
        ("noise_first", "final", task.unlearn_steps[-1], final),
        ("langevin", "all", 1, every),
    ]
    for strategy, observer, steps, where in stacks:
        yield from chains(settings, task, problem, some, strategy, observer, steps, where)
    for share, center in centers(settings, problem).items():
        around = noisy(problem, settings.center_ridge, task.center_steps, settings.seed, center)
        where = places(settings, problem, (share,))
        for row in chains(settings, task, problem, around, "langevin", "all", 1, where):
            yield row | {"strategy": "langevin_center"}


def chains(
    settings: Settings,
    task: Task,
    problem: Problem,
    some: Descent,
    strategy: str,
    observer: Observer,
    steps: int,
    where: list[_Place],
) -> Iterator[dict[str, Any]]:
    """One stack of models: every place and epsilon, `runs` times."""
    spots = [(place, epsilon) for place in where for epsilon in settings.epsilons]
    make = noise_first_cell if strategy == "noise_first" else langevin_cell
    cells = [
        make(
            some.setting(place.division, observer),
            place.division,
            epsilon=epsilon,
            delta=problem.delta,
            unlearn_steps=steps,
        )
        for place, epsilon in spots
    ]
    title = f"{task.name}, {strategy} {some.loss.l2:g} K = {steps}, {observer} {where[0].share:.0%}"
    take = some.noise_first if strategy == "noise_first" else some.langevin
    theta = take(cells, runs=task.runs, unlearn_steps=steps, title=title)
    found = accuracies(theta, problem.test, problem.test_labels)
    for (place, _), cell, runs in zip(spots, cells, found, strict=True):
        yield {
            "observer": observer,
            "strategy": strategy,
            **place.row(),
            "ridge": some.loss.l2,
            "learn_steps": some.learn_steps,
            "unlearn_steps": steps,
            **_numbers(cell, runs),
        }


def baselines(settings: Settings, task: Task, problem: Problem) -> Iterator[dict[str, Any]]:
    """Without noise: descent on all records, and the public records' minimiser (the placebo)."""
    some = noisy(problem, settings.ridge, task.learn_steps, settings.seed)
    clean = accuracies(some.without_noise(task.name), problem.test, problem.test_labels)
    yield {"baseline": "descent without noise", "share": None, **summary(clean[0], noisy=False)}
    for share, center in centers(settings, problem).items():
        yield {"baseline": "public records only", "share": share, **placebo(problem, center)}


def placebo(problem: Problem, center: np.ndarray) -> dict[str, Any]:
    """Accuracy of a model that never saw a private record: nothing to forget, no noise."""
    stacked = torch.from_numpy(center.astype(np.float32))[None, None]
    found = accuracies(stacked, problem.test, problem.test_labels)
    return summary(found[0], noisy=False)


def growth(settings: Settings, task: Task, problem: Problem) -> Iterator[dict[str, Any]]:
    """`langevin` as public records join a fixed private set; delta stays 1/n of the whole task.

    More records also teach more, so the same descent without noise and a model of the public
    records alone stand beside it: the first shows what noise costs, the second what the private
    records add.
    """
    plan = settings.growth
    private = slice(len(problem.rows) - plan.private, None)
    for public in plan.public:
        rows = np.concatenate([problem.rows[:public], problem.rows[private]])
        labels = np.concatenate([problem.labels[:public], problem.labels[private]])
        whole = replace(problem, rows=rows, labels=labels)
        plain = noisy(whole, settings.ridge, task.learn_steps, settings.seed)
        title = f"growth, {public} public"
        clean = accuracies(plain.without_noise(title), problem.test, problem.test_labels)
        center = public_minimiser(problem, public, settings.exact_ridge) if public else None
        shared = {
            "public": public,
            "private": plan.private,
            "without_noise": summary(clean[0])["accuracy"],
            "public_only": None if center is None else placebo(problem, center)["accuracy"],
        }
        stacks: list[tuple[str, Observer, Descent]] = [
            ("langevin", "final", plain),
            ("langevin", "all", plain),
        ]
        if center is not None:
            around = noisy(whole, settings.center_ridge, task.center_steps, settings.seed, center)
            stacks.append(("langevin_center", "all", around))
        for strategy, observer, some in stacks:
            for row in grown(settings, task, problem, some, observer, public, title):
                yield {"strategy": strategy, "observer": observer} | shared | row


def grown(
    settings: Settings,
    task: Task,
    problem: Problem,
    some: Descent,
    observer: Observer,
    public: int,
    title: str,
) -> Iterator[dict[str, Any]]:
    plan = settings.growth
    spots = [
        (deletion, division(public, plan.private, deletion), epsilon)
        for deletion in plan.deletions
        for epsilon in plan.epsilons
    ]
    cells = [
        langevin_cell(
            some.setting(where, observer),
            where,
            epsilon=epsilon,
            delta=problem.delta,
            unlearn_steps=1,
        )
        for _, where, epsilon in spots
    ]
    name = f"{title}, {observer}, {some.loss.l2:g}"
    theta = some.langevin(cells, runs=task.runs, unlearn_steps=1, title=name)
    found = accuracies(theta, problem.test, problem.test_labels)
    for (deletion, where, _), cell, runs in zip(spots, cells, found, strict=True):
        yield {"deletion": deletion, "forget": where.forget} | _numbers(cell, runs)


def _numbers(cell: Cell, runs: np.ndarray) -> dict[str, Any]:
    return {
        "epsilon": cell.epsilon,
        "certified": cell.certified,
        "sigma": float(f"{cell.sigma:.6g}"),
        **summary(runs),
    }
