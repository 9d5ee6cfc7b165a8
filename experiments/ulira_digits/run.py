"""U-LiRA over K = 1..15 with and without public data: does the attack's confidence fall?

Paper: [fig:mia_results], [subseq:ulira_details]; THEORY E38. The attack of the paper's size (50
shadow and 25 test models of each law) is repeated with fresh models, so that every verdict has an
interval. Beside it: the null (retrained against retrained), the positive control (no unlearning),
the prediction of D_2 that an attacker with all weights would face, one large attack for the bound
on epsilon, and what retained records leak.
"""

from dataclasses import asdict
from typing import Any

import numpy as np
import torch
from torch import Tensor

from experiments.datasets import BadData
from experiments.datasets.mnist import embedded
from experiments.head_problems import Rows, rows_of
from experiments.ulira_digits.settings import Settings
from expunge.audit.heads import Heads
from expunge.audit.lower_bound import ceiling
from expunge.audit.ulira import Ulira, logit_scores, measure_leak, trend, ulira
from expunge.losses import Softmax
from expunge.sampling import Ensemble, Problem, sample_ensemble

__all__ = ["run"]

Scores = dict[tuple[str, int], np.ndarray]  # law and K -> (models,)
POINTS = 101  # quantiles kept of each K's confidences


def run(settings: Settings) -> dict[str, Any]:
    cells = [
        cell(settings, forget, with_public)
        for forget in settings.forget
        for with_public in (False, True)
    ]
    return {
        "settings": asdict(settings),
        "cells": cells,
        "public": [
            helped(*[one for one in cells if one["forget"] == forget]) for forget in settings.forget
        ],
    }


def cell(settings: Settings, forget: int, with_public: bool) -> dict[str, Any]:
    """All attacks on one forget set."""
    problem, unseen = digits(settings, forget, with_public)
    models = settings.repetitions * (settings.shadow + settings.test)
    steps = settings.unlearn_steps
    found = sample_ensemble(
        problem,
        regimes=("learned", "unlearned", "retrained"),
        unlearn_steps=(0, *steps),
        models=models,
        seed=settings.seed,
    )
    again = sample_ensemble(
        problem,
        regimes=("retrained",),
        unlearn_steps=(steps[0], steps[-1]),
        models=models,
        seed=settings.seed + 1,
    )
    private, _ = problem.records_of()
    forgotten = private.features[problem.forgotten], private.targets[problem.forgotten]
    scores = {point: mean_scores(one, *forgotten) for point, one in found.items()}
    checked = steps[0], steps[-1]
    null = {("unlearned", k): mean_scores(again["retrained", k], *forgotten) for k in checked}
    attacks = repeated(settings, scores, steps)
    means = confidences(attacks)
    verdict = trend(attacks, level=settings.level)
    controls = {
        "null": repeated(settings, scores | null, checked),
        "positive": repeated(
            settings,
            {("unlearned", 0): scores["learned", 0], ("retrained", 0): scores["retrained", 0]},
            (0,),
        ),
    }
    return {
        "forget": forget,
        "with_public": with_public,
        "trend": asdict(verdict) | {"verdict": verdict.verdict},
        "repetitions": means.tolist(),
        "steps": [
            step(settings, problem, k, scores, [one[k] for one in attacks], controls["null"])
            for k in steps
        ],
        "positive_control": summary([one[0] for one in controls["positive"]]),
        "retained": [leak(settings, problem, k, found, again, unseen) for k in checked],
    }


def digits(
    settings: Settings, forget: int, with_public: bool
) -> tuple[Problem, tuple[Tensor, Tensor]]:
    """The problem, and records that no model sees. Forget sets are nested: the first rows."""
    private, public, unseen = sides(settings)
    problem = Problem(
        loss=Softmax(int(private.targets.max()) + 1, l2=0.0),
        private=private,
        public=public if with_public else None,
        forget=range(forget),
        step_size=settings.step_size,
        sigma=settings.sigma,
        learn_steps=settings.learn_steps,
        radius=settings.radius,
        init="zero",
    )
    return problem, unseen


def sides(settings: Settings) -> tuple[Rows, Rows, Rows]:
    """Private, public and unseen rows of norm 1, in a random order."""
    rng = np.random.default_rng(settings.seed)
    if settings.pair:
        public, private, test = rows_of(settings.pair)
        drawn = [
            _drawn(settings.pair, rows, most, rng)
            for rows, most in ((private, settings.private), (public, settings.public))
        ]
        return drawn[0], drawn[1], test
    found = embedded().with_unit_rows()
    order = rng.permutation(len(found.train))
    rows = torch.from_numpy(found.train[order]), torch.from_numpy(found.train_labels[order])
    end = settings.private + settings.public
    private, public = (
        Rows(*(part[place] for part in rows))
        for place in (slice(settings.private), slice(settings.private, end))
    )
    return private, public, Rows(torch.from_numpy(found.test), torch.from_numpy(found.test_labels))


def _drawn(pair: str, rows: Rows, most: int, rng: np.random.Generator) -> Rows:
    """This many rows at random."""
    if len(rows.targets) < most:
        raise BadData(f"{pair}: {len(rows.targets)} rows where {most} are asked for")
    chosen = torch.from_numpy(rng.permutation(len(rows.targets))[:most])
    return Rows(rows.features[chosen], rows.targets[chosen])


def scores_on(models: Ensemble, features: Tensor, targets: Tensor) -> np.ndarray:
    """(models, records)."""
    parts = [
        logit_scores(features @ block.transpose(1, 2), targets)
        for block in models.weights.split(256)
    ]
    return torch.cat(parts).double().numpy()


def mean_scores(models: Ensemble, features: Tensor, targets: Tensor) -> np.ndarray:
    """One score of a model: its mean over the forget set, whose records' scores are dependent."""
    return scores_on(models, features, targets).mean(1)


def repeated(settings: Settings, scores: Scores, steps: tuple[int, ...]) -> list[dict[int, Ulira]]:
    """Each repetition takes its own models, the same ones at every K."""
    size = settings.shadow + settings.test
    return [
        {
            k: ulira(
                unlearned=scores["unlearned", k][start : start + size],
                retrained=scores["retrained", k][start : start + size],
                shadow=settings.shadow,
                delta=settings.delta,
                level=settings.level,
            )
            for k in steps
        }
        for start in range(0, settings.repetitions * size, size)
    ]


def confidences(attacks: list[dict[int, Ulira]]) -> np.ndarray:
    """Mean confidence in the right law: (repetitions, K)."""
    return np.array([[one[k].in_the_right_law.mean() for k in sorted(one)] for one in attacks])


def step(
    settings: Settings,
    problem: Problem,
    k: int,
    scores: Scores,
    attacks: list[Ulira],
    null: list[dict[int, Ulira]],
) -> dict[str, Any]:
    large = ulira(
        unlearned=scores["unlearned", k],
        retrained=scores["retrained", k],
        shadow=len(scores["unlearned", k]) // 3,
        delta=settings.delta,
        level=settings.level,
        method="any test",
    )
    heads = Heads(problem, k)
    values = np.concatenate([one.in_the_right_law for one in attacks])
    return {
        "unlearn_steps": k,
        "predicted_renyi_2": heads.mean_part(heads.direction(2.0), 2.0),
        **summary(attacks),
        "null": summary([one[k] for one in null]) if k in null[0] else None,
        "ceiling": ceiling(
            settings.test, delta=settings.delta, level=settings.level, method="any test"
        ),
        "large_attack": {
            "models": large.epsilon_lower_bound.models,
            "auc": large.auc,
            "epsilon_lower_bound": large.epsilon_lower_bound.value,
            "ceiling": large.epsilon_lower_bound.ceiling,
        },
        "confidences": np.quantile(values, np.linspace(0, 1, POINTS)).round(4).tolist(),
    }


def summary(attacks: list[Ulira]) -> dict[str, Any]:
    """Means over repetitions, with standard errors."""
    found: dict[str, Any] = {}
    for name, values in (
        ("confidence", [one.in_the_right_law.mean() for one in attacks]),
        ("accuracy", [one.accuracy for one in attacks]),
        ("auc", [one.auc for one in attacks]),
    ):
        error = float(np.std(values, ddof=1)) / len(values) ** 0.5
        found[name] = {"mean": float(np.mean(values)), "standard_error": error}
    return found


def leak(
    settings: Settings,
    problem: Problem,
    k: int,
    found: dict[tuple[str, int], Ensemble],
    again: dict[tuple[str, int], Ensemble],
    unseen: tuple[Tensor, Tensor],
) -> dict[str, Any]:
    """Retained private records against unseen ones, in both laws; and the attack aimed at them."""
    private, _ = problem.records_of()
    last = slice(len(private.targets) - settings.retained, None)
    sides = (private.features[last], private.targets[last]), unseen
    pairs = [
        tuple(scores_on(one, *side) for side in sides)
        for one in (found["unlearned", k], found["retrained", k], again["retrained", k])
    ]
    check = measure_leak(
        unlearned=(pairs[0][0], pairs[0][1]),
        retrained=(pairs[1][0], pairs[1][1]),
        retrained_again=(pairs[2][0], pairs[2][1]),
        level=settings.level,
    )
    aimed = ulira(
        unlearned=pairs[0][0].mean(1),
        retrained=pairs[1][0].mean(1),
        shadow=len(pairs[0][0]) // 3,
        delta=settings.delta,
        level=settings.level,
    )
    return {
        "unlearn_steps": k,
        **asdict(check),
        "verdict": check.verdict,
        "attack_on_retained": {"auc": aimed.auc, "accuracy": aimed.accuracy},
    }


def helped(without: dict[str, Any], with_public: dict[str, Any]) -> dict[str, Any]:
    """Change of the mean confidence by public data, over repetitions and all K."""
    means = [np.array(one["repetitions"]).mean(1) for one in (with_public, without)]
    difference = float(means[0].mean() - means[1].mean())
    error = float(np.sqrt(sum(part.var(ddof=1) / len(part) for part in means)))
    return {"forget": without["forget"], "difference": difference, "standard_error": error}
