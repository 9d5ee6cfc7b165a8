"""Models of public records alone, and how they do on public records that were held out.

What is computed here depends on public records and settings, never on a private record, so a
certificate, a warning or an exit code may tell it. The split is the same in every run: folds are
dealt from an order that a fixed public seed draws, class by class.
"""

import math
from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from expunge.core.sparse_rows import SparseRows
from expunge.losses.linear import LinearLoss
from expunge.losses.objective import Objective
from expunge.losses.solver import solve
from expunge.losses.tolerances import Resolution

__all__ = ["SEED", "deal_folds", "learn", "narrow", "parts_of", "take_evenly"]

SEED = 0  # public: it hides nothing, and everybody may split as we did
NARROWED = 1000  # rows at most that are brought to fewer columns; it takes their number cubed
CLOSE = 1e-4  # to the least objective, in units of the largest loss at zero


def take_evenly(rows: int, most: int) -> np.ndarray:
    """At most so many places, spread evenly over all."""
    return np.linspace(0, rows - 1, min(rows, most)).astype(np.int64)


def deal_folds(targets: np.ndarray, folds: int, *, classes: bool) -> np.ndarray:
    """The fold of each record, 0 to `folds` - 1; every class is spread over all of them."""
    order = np.random.default_rng(SEED).permutation(len(targets))
    if classes:
        order = order[np.argsort(targets[order], kind="stable")]
    fold = np.empty(len(targets), dtype=np.int64)
    fold[order] = np.arange(len(targets)) % folds
    return fold


def learn(
    loss: LinearLoss,
    rows: Tensor | SparseRows,
    targets: Tensor,
    start: Tensor | None = None,
) -> Tensor:
    """Weights whose objective is within `CLOSE` of the least: ||g||^2 <= 2 l2 CLOSE.

    Raises:
        NotConverged: no solver got there.
    """
    objective = Objective(loss, rows, targets)
    if start is None:
        start = torch.zeros(*objective.shape, dtype=torch.float64)
    scale = loss.largest_at_zero if math.isfinite(loss.largest_at_zero) else 1.0
    least = Resolution(loss, len(rows), rows.shape[1]).least_tolerance()
    tolerance = max(math.sqrt(2 * loss.l2 * CLOSE * scale), least)
    return solve(objective, start, tolerance=tolerance, gram=objective.gram())


def narrow(rows: Tensor | SparseRows) -> Tensor | SparseRows:
    """The rows in coordinates of their own span, where they have more columns than rows.

    Inner products stay, so that whatever is learned from some of them with a ridge scores the
    others as before; where there are many leaves or words it takes much less time.
    """
    if rows.shape[1] <= len(rows) or len(rows) > NARROWED:
        return rows
    whole = rows.double()
    if isinstance(whole, SparseRows):
        alike = torch.from_numpy((whole.matrix @ whole.matrix.T).toarray())
    else:
        alike = whole @ whole.T
    squares, axes = torch.linalg.eigh(alike)
    return axes * squares.clamp_min(0).sqrt()


def parts_of(fold: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Places to learn from and places that are held out, fold by fold."""
    for one in range(int(fold.max()) + 1):
        yield np.flatnonzero(fold != one), np.flatnonzero(fold == one)
