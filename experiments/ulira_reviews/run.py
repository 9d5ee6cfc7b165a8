"""U-LiRA on LSTMs of movie reviews, with and without public reviews, K = 1..15 epochs.

Paper: [fig:mia_results], [subseq:mias], [subseq:ulira_details]; THEORY E38. At the paper's
sigma^2 = 0.01 and at a sigma at which models learn; forget sets of 100 (the text) and of one (the
appendix's words on the attack). Beside each: the positive control (never unlearned), the null
(retrained against retrained, half the models each), test accuracy and norms of weights. Models are
kept in blocks: a run that was stopped, or a longer one, adds to the same results.
"""

import sys
from dataclasses import asdict
from typing import Any

import numpy as np

from experiments.review_models import list_cuts
from experiments.review_sweep import chosen_by_sweep
from experiments.reviews_lstm.corpus import reviews
from experiments.reviews_lstm.slices import Sampled, Sampler, arms_of, cell_of, record
from experiments.ulira_reviews.attacks import Attack, Gaps, attacked, gaps
from experiments.ulira_reviews.settings import Settings
from experiments.ulira_reviews.verdicts import verdicts
from expunge.audit.lower_bound import ceiling

__all__ = ["attack_on", "gaps_of", "run", "summary"]

POINTS = 101  # quantiles kept of each K's confidences
DELTA = 1e-5
LEAST, FEW = 16, 8  # test and shadow models below which there is no attack
Row = dict[str, Any]


def run(settings: Settings) -> Row:
    models = settings.models
    asked = settings.models_of_each_law
    most = max(forget for _, _, forget in settings.cells)
    sampler = Sampler(models, settings.keep, settings.slice_seconds)
    found = chosen_by_sweep(sampler) if settings.sweep else sampler.chosen()
    data = reviews(models.corpus, found["shape"]["words"])
    public = len(data.public.targets)
    smaller = list_cuts(models, of_each_law=asked, public=public, forget=most)
    print("  cut: " + "; ".join(smaller), file=sys.stderr)
    arms = arms_of(found, [arm for arm, _, _ in settings.cells])
    sampled = sampler.sampled(
        [cell_of(found, *one) for one in settings.cells if one[0] in arms], settings.blocks
    )
    cells, attacks, apart = [], {}, {}
    for one in sampled:
        row, attack = _cell(settings, one)
        cells.append(row)
        if attack is not None:
            key = one.cell.arm, one.cell.public, one.cell.forget
            attacks[key] = attack
            apart[key] = gaps_of(settings, one.rows)
    return {
        **record(settings, sampler, found, sampled, smaller),
        "ceiling": ceiling(settings.test, delta=DELTA, level=settings.level, method="any test"),
        "cells": cells,
        "verdicts": verdicts(cells, attacks, apart, found, asked),
    }


def attack_on(settings: Settings, rows: list[Row], *, control: bool = False) -> Attack:
    """Attack the models of one cell at every K.

    Args:
        control: Attack at K = 0 instead: models that were never unlearned.
    """
    return _attacked(settings, *_scores(rows, control))


def gaps_of(settings: Settings, rows: list[Row], *, control: bool = False) -> Gaps:
    """Compute the gaps of one cell's mean scores at every K.

    Args:
        control: At K = 0 instead.
    """
    return gaps(
        *_scores(rows, control),
        resamples=settings.resamples, level=settings.level, seed=settings.seed,
    )  # fmt: skip


def _scores(rows: list[Row], control: bool) -> tuple[np.ndarray, np.ndarray, tuple[int, ...]]:
    """Of unlearned and of retrained models (K, models), and K."""
    laws = [
        np.concatenate([np.array(row[law]["scores"]) for row in rows], axis=1)
        for law in ("unlearned", "retrained")
    ]
    kept = slice(0, 1) if control else slice(1, None)
    return laws[0][kept], laws[1][kept], tuple(rows[0]["unlearn_epochs"][kept])


def summary(attack: Attack, apart: Gaps, place: int) -> Row:
    above, gap = attack.at(place), apart.at(place)
    return {
        "unlearn_epochs": attack.steps[place],
        "confidence": 0.5 + above.value,
        "interval": [0.5 + above.low, 0.5 + above.high],
        "accuracy": attack.accuracy(place),
        "confident": attack.confident(place),
        "gap": gap.value,
        "gap_interval": [gap.low, gap.high],
    }


def _attacked(
    settings: Settings, unlearned: np.ndarray, retrained: np.ndarray, steps: tuple[int, ...]
) -> Attack:
    """With as many shadows as there are models for, where a cell is not complete."""
    models = unlearned.shape[1]
    test = min(settings.test, max(LEAST, models // 3))
    return attacked(
        unlearned, retrained, steps,
        shadow=min(settings.shadow, models - test), test=test,
        resamples=settings.resamples, level=settings.level, seed=settings.seed,
    )  # fmt: skip


def _cell(settings: Settings, sampled: Sampled) -> tuple[Row, Attack | None]:
    rows = sampled.rows
    found = sampled.row("arm", "sigma", "step_size", "public", "forget")
    if found["models"] < LEAST + FEW:
        return found, None
    attack, apart = attack_on(settings, rows), gaps_of(settings, rows)
    quantiles = np.quantile(attack.values, np.linspace(0, 1, POINTS), axis=1).T
    trend = attack.trend
    found |= {
        "trend": asdict(trend) | {"verdict": trend.verdict},
        "steps": [
            summary(attack, apart, place) | {"confidences": quantiles[place].round(4).tolist()}
            for place in range(len(attack.steps))
        ],
        "never_unlearned": summary(
            attack_on(settings, rows, control=True), gaps_of(settings, rows, control=True), 0
        ),
        "null": _null(settings, rows),
        **_utility(rows),
    }
    return found, attack


def _null(settings: Settings, rows: list[Row]) -> Row | None:
    """Retrained models against retrained ones at the last K; None where halves are too small."""
    scores = np.concatenate([np.array(row["retrained"]["scores"]) for row in rows], axis=1)[-1:]
    half = scores.shape[1] // 2
    if half < LEAST + FEW:
        return None
    laws = scores[:, :half], scores[:, half : 2 * half], (rows[0]["unlearn_epochs"][-1],)
    apart = gaps(*laws, resamples=settings.resamples, level=settings.level, seed=settings.seed)
    return summary(_attacked(settings, *laws), apart, 0)


def _utility(rows: list[Row]) -> Row:
    """Test accuracy at the last K with its standard error, and norms of weights, by law."""
    found: Row = {"test_accuracy": {}, "norm": {}}
    for law in ("unlearned", "retrained"):
        values = np.concatenate([row[law]["accuracy"][-1] for row in rows])
        error = float(values.std(ddof=1)) / len(values) ** 0.5
        found["test_accuracy"][law] = {"mean": float(values.mean()), "standard_error": error}
        found["norm"][law] = float(np.mean([row[law]["norm"] for row in rows]))
    return found
