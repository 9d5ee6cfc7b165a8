"""Requests without a pass: the proven distance against the true one, and when a pass is due.

For data sets of several sizes, ridges and orders of deletion: the bound z as records leave, the
true distance from the retrained minimiser, accuracies of what is released and of retraining, and
how many requests are honoured before z passes a limit. The limit's cost is the noise that covers
it; both over a grid justify the default of `distance`.
"""

import gc
import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from experiments.parts import Parts, begins_no_part
from experiments.pass_free.curves import Start
from experiments.pass_free.in_a_row import run_in_a_row
from experiments.pass_free.problems import Problem, load_problem
from experiments.pass_free.settings import SCALES, Series, Settings

__all__ = ["run"]

FOLDER = Path(__file__).parent


def run(settings: Settings) -> dict[str, Any]:
    said = json.dumps(asdict(settings), sort_keys=True)
    folder = None if settings == SCALES["smoke"] else FOLDER / "results" / "unfinished"
    parts = Parts(folder, said, FOLDER, only_kept=begins_no_part())
    curves: list[dict[str, Any]] = []
    for series in settings.series:
        for records in series.sizes:
            name = f"{series.name.replace(', ', '-').replace(' ', '-')}-{records}"
            curves += parts.rows(
                name, lambda series=series, records=records: _of_size(settings, series, records)
            )
    in_a_row = parts.rows("in-a-row", lambda: [run_in_a_row(settings.in_a_row, settings.seed)])
    parts.done()
    return {
        "settings": asdict(settings),
        "curves": [row for row in curves if "points" in row],
        "accuracies": [row for row in curves if "points" not in row],
        "in_a_row": in_a_row[0] if in_a_row else None,
        "part_seconds": parts.seconds,
        "missing": parts.missing,
    }


def _of_size(settings: Settings, series: Series, records: int) -> Iterator[dict[str, Any]]:
    """Curves and accuracies of one data set at one size, for every ridge."""
    problem = load_problem(series.name, records, settings.seed)
    gc.collect()
    for l2 in settings.ridges:
        start = Start(problem, l2)
        known = {
            "data": series.name,
            "records": len(problem.features),
            "classes": problem.classes,
            "weights": start.anchor.point.numel(),
            "l2": l2,
        }
        yield from ({**known, **row} for row in start.accuracies(settings))
        for name, order in _orders(settings, series, problem, start):
            points = list(start.curve(order, settings))
            yield {**known, "order": name, "points": points}


def _orders(
    settings: Settings, series: Series, problem: Problem, start: Start
) -> Iterator[tuple[str, np.ndarray]]:
    most = min(settings.most, len(problem.features) // 4)
    for seed in range(series.orders):
        order = np.random.default_rng([settings.seed, seed]).permutation(len(problem.features))
        yield f"random {seed}", order[:most]
    yield "most influential first", start.most_influential(most)
