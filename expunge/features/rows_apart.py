"""A row's features must be a function of that row: tried on public rows, and on every block.

A step that looks at other rows when it transforms, a batch's mean for example, would carry a
deleted record into the rows of others. Three tries, none of them a proof:

one by one          rows alone give what they give together, up to rounding
other neighbours    whoever else is in a block changes no bit of a row
again               what went through a step changes nothing of what it does
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from expunge.core.sparse_rows import canonical
from expunge.errors import InvalidInput
from expunge.features.row_blocks import count_rows, dense, take_rows

__all__ = ["PROBE", "check_neighbours", "check_one_by_one", "check_unmoved"]

PROBE = 32  # rows that are tried one by one
CLOSE = 1e-5  # rounding differs between a product of one row and of many
Transform = Callable[[Any], Any]


def check_one_by_one(step: str, transform: Transform, rows: Any) -> None:
    """Check that rows give alone what they give together.

    Raises:
        InvalidInput: they do not; the step is named.
    """
    together = transform(rows)
    alone = [
        transform(take_rows(rows, slice(number, number + 1))) for number in range(count_rows(rows))
    ]
    same_count = count_rows(together) == len(alone) and all(count_rows(row) == 1 for row in alone)
    if not same_count:
        raise InvalidInput(
            step, "gives another number of rows than it is given; a step must keep every row"
        )
    for number, row in enumerate(alone):
        if not _close(take_rows(together, slice(number, number + 1)), row):
            raise InvalidInput(
                step,
                "mixes rows: a row's features depend on the other rows in its batch, so a deleted "
                "record would stay in those of others; take what it needs from public rows in fit",
            )


def check_neighbours(
    block: Any, features: Any, transform: Transform, draws: np.random.Generator
) -> None:
    """Check that every row of a block keeps its bits when half of its neighbours are replaced.

    Raises:
        InvalidInput: a row does not.
    """
    count = features.shape[0]
    if count < 2:
        return
    shuffled = draws.permutation(count)
    for kept in (np.sort(shuffled[: count // 2]), np.sort(shuffled[count // 2 :])):
        numbers = np.full(count, kept[0])
        numbers[kept] = kept
        again = transform(take_rows(block, numbers))
        if again.shape != features.shape or not _same_bits(again[kept], features[kept]):
            raise InvalidInput(
                "steps",
                "a row's features depend, if only in their last bits, on the other rows in its "
                "batch; take out the step that mixes them",
            )


def check_unmoved(before: Any, after: Any) -> None:
    """Check that the same rows give the same features again, after others went through.

    Raises:
        InvalidInput: they do not.
    """
    if not _same_bits(before, after):
        raise InvalidInput(
            "steps",
            "the same rows give other features the second time: a step remembers what went "
            "through it, or draws at random; take it out",
        )


def _same_bits(first: Any, other: Any) -> bool:
    if first.shape != other.shape or sparse.issparse(first) != sparse.issparse(other):
        return False
    if sparse.issparse(first):
        pairs = [canonical(each) for each in (first, other)]
        parts = zip(*((each.indptr, each.indices, each.data) for each in pairs), strict=True)
        return all(np.array_equal(*pair, equal_nan=True) for pair in parts)
    return np.array_equal(first, other, equal_nan=True)


def _close(first: Any, other: Any) -> bool:
    """Whether two rows are the same up to rounding; texts exactly."""
    if sparse.issparse(first) and sparse.issparse(other):
        if first.shape != other.shape:
            return False
        apart = abs(first - other)
        return apart.max() <= CLOSE * (1 + abs(other).max()) if apart.nnz else True
    first, other = dense(first), dense(other)
    if first.shape != other.shape:
        return False
    try:
        numbers = first.astype(np.float64), other.astype(np.float64)
    except (TypeError, ValueError):
        return all(_equal(*pair) for pair in zip(first.flat, other.flat, strict=True))
    room = CLOSE * (1 + np.nan_to_num(np.abs(numbers[1])).max(initial=0.0))
    return np.allclose(*numbers, rtol=0, atol=room, equal_nan=True)


def _equal(first: Any, other: Any) -> bool:
    return bool(first == other) or (first != first and other != other)  # NaN is NaN
