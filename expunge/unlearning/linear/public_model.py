"""The model that public records alone would give: what private ones have to beat.

Same loss, ridge and bound on rows as the model it stands beside; no private record is read.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import torch

from expunge.core.rows import bounded_values
from expunge.losses.objective import Objective
from expunge.losses.solver import solve
from expunge.losses.tolerances import Resolution
from expunge.unlearning.linear.linear_head import LinearHead

__all__ = ["public_model"]

TOLERANCE = 1e-8  # of the gradient's norm; nothing is certified about this model


def public_model(beside: LinearHead, rows: Any, labels: np.ndarray) -> LinearHead:
    """Learn from public rows alone.

    Args:
        beside: The model whose loss and labels it takes; rows may have other columns.
        labels: Of the rows, each one that `beside` knows; values of a regression.
    """
    known = beside.classes
    targets = labels.astype(np.float64) if known is None else np.searchsorted(known, labels)
    features = bounded_values(rows, beside.loss.row_norm)
    objective = Objective(beside.loss, features, torch.from_numpy(targets))
    least = Resolution(beside.loss, len(features), features.shape[1]).least_tolerance()
    start = torch.zeros(len(beside.theta), features.shape[1], dtype=torch.float64)
    return replace(beside, theta=solve(objective, start, tolerance=max(TOLERANCE, least)))
