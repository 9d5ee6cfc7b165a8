"""Test accuracy of unlearned and retrained LSTMs: without, with and with flipped public labels.

Paper: [tab:unlearning-LSTM-results]. Models of [subseq:ulira_details] at the last K, shared with
`ulira_reviews`; 40 % of public labels are turned over in the third row. Means are over models, with
standard errors; all models share one draw of the data and one test set, so the errors are not those
of another draw. With public data an epoch has more steps: more learning and more noise.
"""

import sys
from typing import Any

import numpy as np

from experiments.flipped_labels.settings import PAPER, Settings
from experiments.flipped_labels.verdicts import verdicts
from experiments.review_control import control
from experiments.review_models import list_cuts
from experiments.review_sweep import chosen_by_sweep
from experiments.reviews_lstm.corpus import reviews
from experiments.reviews_lstm.slices import Sampled, Sampler, arms_of, cell_of, record

__all__ = ["run"]

Row = dict[str, Any]


def run(settings: Settings) -> Row:
    models = settings.models
    sampler = Sampler(models, settings.keep, settings.slice_seconds)
    found = chosen_by_sweep(sampler) if settings.sweep else sampler.chosen()
    data = reviews(models.corpus, found["shape"]["words"])
    smaller = list_cuts(
        models,
        of_each_law=settings.blocks * models.chain.models,
        public=len(data.public.targets),
        forget=settings.forget,
    )
    smaller += [] if "paper" in settings.arms else ["the paper's sigma: not run"]
    print("  cut: " + "; ".join(smaller), file=sys.stderr)
    asked = [
        cell_of(found, arm, public, settings.forget)
        for arm in arms_of(found, settings.arms)
        for public in PAPER
    ]
    alone = control(sampler, found, settings.forget, settings.control) if settings.control else None
    sampled = sampler.sampled(asked, settings.blocks)
    cells = [_cell(one) for one in sampled]
    share = float(data.test.targets.float().mean())
    return {
        **record(settings, sampler, found, sampled, smaller),
        "majority": max(share, 1 - share),
        "without_noise": alone,
        "cells": cells,
        "verdicts": verdicts(cells, found, settings.level),
    }


def _cell(sampled: Sampled) -> Row:
    """Accuracies of every model: before unlearning, unlearned, retrained."""
    rows = sampled.rows
    found = sampled.row("arm", "sigma", "step_size", "public")
    if rows:
        found |= {
            "unlearn_epochs": rows[0]["unlearn_epochs"][-1],
            "learned": _all(rows, "unlearned", 0),
            "unlearned": _all(rows, "unlearned", 1),
            "retrained": _all(rows, "retrained", 1),
            "norm": float(np.mean([row["retrained"]["norm"] for row in rows])),
        }
    return found


def _all(rows: list[Row], law: str, place: int) -> list[float]:
    return [value for row in rows for value in row[law]["accuracy"][place]]
