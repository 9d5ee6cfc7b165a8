"""Rows of a table for the choice of settings: encoded by public rows, with or without leaves."""

from typing import Any

import numpy as np

from experiments.datasets.packaged import TABLES, load_table
from experiments.public_settings.settings import Settings, Task
from experiments.table_splits import Sizes, encoder, split
from expunge.features import TreeLeaves
from expunge.features.public_fitting import fit_halves, fit_steps

__all__ = ["table_rows"]

Rows = tuple[Any, np.ndarray]
TEST = 3000


def table_rows(settings: Settings, task: Task, seed: int) -> tuple[Rows, Rows, Rows, list[Rows]]:
    """Public, private and test rows, and public ones apart where labels shaped the features."""
    table, (frame, labels) = TABLES[task.pair], load_table(task.pair)
    sizes = Sizes(settings.most, TEST, settings.share)
    places = split(sizes, frame, task.public, table.shift, seed)
    steps: list[tuple[str, Any]] = [("encode", encoder(table))]
    if task.features == "leaves":
        steps.append(("trees", TreeLeaves()))
    public, private, test = ((frame.iloc[part], labels[part]) for part in places)
    frozen = fit_steps(steps, public, public[0])
    encoded = [
        (frozen.transform(rows).astype(np.float32), known)
        for rows, known in (public, private, test)
    ]
    return encoded[0], encoded[1], encoded[2], fit_halves(frozen, public)
