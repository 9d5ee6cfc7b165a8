"""How much raw columns count beside leaves, chosen on public rows alone.

    K(r) = K_leaves + r^2 K_raw,   r in 0.4, 1, 2, 4, 8, 16, or raw columns alone

The choice is r with the least leave-one-out error of ridge regression (closed form: the residual
over 1 - leverage), at whatever ridge suits it. Trees are grown on one half of the public rows and
the error is that of the other, both ways: a tree's leaves flatter the rows that it was grown on.
Which rows fall in which half matters where they are few, or few of one label, so a row's error is
its mean over several ways to halve them.

Few public rows hardly tell neighbouring weights apart. Of those whose error is within a third of a
standard error of the least (of the differences, row by row) the largest finite one is taken: what
leaves add has to show, and so has that they are in the way. (A third, because a whole one would
leave nearly no weight to leaves on most real tables of 300 public rows: seed 0 of real_tables.)

Labels that nearly all rows share tell less than their number says, as the few others do the
telling. Rows count by the variance of their labels, in units of labels that are evenly split:

    worth = rows (1 - sum p_c^2) / (1 - 1/classes)        two labels: 4 p (1 - p) rows

Below 100 nothing is chosen. Where there are few rows leaves and columns count alike: private rows
will tell. Where one label is rare it is rare among these too, and thousands of leaves would be
weighed by few records: columns count as much as a finite weight lets them.

More records make the same ridge, as a sum over records, weigh less for leaves and columns alike, so
the choice does not depend on how many records there will be.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from scipy import sparse

__all__ = [
    "FEWEST",
    "RARE",
    "UNCHOSEN",
    "Part",
    "choose_raw_weight",
    "halves",
    "least_errors",
    "worth",
]

WEIGHTS = (0.4, 1.0, 2.0, 4.0, 8.0, 16.0, np.inf)
UNCHOSEN = 1.0  # where there are too few rows to choose on
RARE = 16.0  # where there are enough, but one label is too rare
FEWEST = 100  # public rows of evenly split labels that say something about a weight
MOST = 1000  # of a half that take part: what the choice may cost is bounded
WAYS = 3  # to halve the rows, where all of them take part in each
RIDGES = 10.0 ** np.arange(-6.0, 1.5, 0.5)  # of the kernel's trace
TIED = 1 / 3  # of a standard error
ROUNDING = 1e-9  # of the error
SEED = 0  # public: it hides nothing


class Part(NamedTuple):
    """Rows that no tree was grown on.

    Args:
        places: Their numbers among all rows; a row may be in several parts.
        raw: Their raw columns, of norm 1 at most.
    """

    places: np.ndarray
    leaves: sparse.csr_array
    raw: np.ndarray
    targets: np.ndarray


def worth(targets: np.ndarray) -> float:
    """How many rows of evenly split labels tell as much as these, of labels 0, 1, ... or more."""
    shares = np.bincount(targets) / len(targets)
    return float(len(targets) * (1 - np.sum(shares**2)) / (1 - 1 / len(shares)))


def halves(targets: np.ndarray, *, classes: bool) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Places to grow trees on and places to try them on, both ways; classes fall in halves too."""
    draws = np.random.default_rng(SEED)
    for _ in range(max(1, min(WAYS, 2 * MOST // max(1, len(targets))))):
        order = draws.permutation(len(targets))
        if classes:
            order = order[np.argsort(targets[order], kind="stable")]
        yield order[::2], order[1::2]
        yield order[1::2], order[::2]


def choose_raw_weight(parts: Sequence[Part]) -> float:
    """The weight under which the parts' targets are told best; infinity leaves leaves out."""
    count = 1 + max(int(part.places.max()) for part in parts)
    summed, times = np.zeros((len(WEIGHTS), count)), np.zeros(count)
    for part in parts:
        taken = np.linspace(0, len(part.raw) - 1, min(len(part.raw), MOST)).astype(np.int64)
        places, leaves, raw, targets = (kept[taken] for kept in part)
        alike = sparse.csr_array(leaves @ leaves.T).toarray(), raw @ raw.T
        kernels = (
            alike[1] if np.isinf(weight) else alike[0] + weight**2 * alike[1] for weight in WEIGHTS
        )
        summed[:, places] += np.stack([least_errors(kernel, targets) for kernel in kernels])
        times[places] += 1
    errors = summed[:, times > 0] / times[times > 0]  # (weights, rows)
    best = int(np.argmin(errors.mean(axis=1)))
    behind = errors - errors[best]
    room = TIED * behind.std(axis=1) / np.sqrt(behind.shape[1])
    room += ROUNDING * errors[best].mean()
    tied = (behind.mean(axis=1) <= room) & np.isfinite(WEIGHTS)
    return WEIGHTS[int(np.flatnonzero(tied).max())] if tied.any() else np.inf


def least_errors(kernel: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Each row's squared leave-one-out error at the ridge with the least mean: (rows,).

    An intercept counts as a column.
    """
    room = float(np.mean(np.diag(kernel))) or 1.0
    values, vectors = np.linalg.eigh(kernel + room)
    turned = vectors.T @ targets
    least = np.full(len(kernel), np.inf)
    for ridge in RIDGES * room * len(kernel):
        shrunk = ridge / (np.maximum(values, 0.0) + ridge)
        residual = vectors @ (shrunk[:, None] * turned)
        apart = np.square(vectors) @ shrunk  # 1 - leverage
        errors = np.mean((residual / apart[:, None]) ** 2, axis=1)
        least = errors if errors.mean() < least.mean() else least
    return least
