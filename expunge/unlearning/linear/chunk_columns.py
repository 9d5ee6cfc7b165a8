"""The columns of a chunk as arrays: dense ones as they are, sparse rows as three arrays.

    features                                     (rows, width)
    features.lengths, .columns, .values, .width  non-zeros of each row; the width alone

An erased sparse row has no numbers left: neither their values, nor their columns, nor how many
there were.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from expunge.core.sparse_rows import SparseRows
from expunge.store import Chunk, NewChunk, pack, unpack

__all__ = ["chunk_of", "columns_in", "zero_rows"]

ROWS = "rows"
FEATURES = "features"
PARTS = ("lengths", "columns", "values", "width")


def chunk_of(columns: Mapping[str, Any], first: int) -> NewChunk:
    """The chunk of these columns, whose first row has this number."""
    count = len(columns[FEATURES])
    return NewChunk(ROWS, first, first + count, pack(_arrays(columns)))


def columns_in(content: bytes) -> dict[str, Any]:
    """The columns of a chunk: tensors, or sparse rows.

    Raises:
        ValueError: the arrays are not those of such columns.
    """
    arrays = unpack(content)
    names = [f"{FEATURES}.{part}" for part in PARTS]
    kept = [arrays.pop(name) for name in names if name in arrays]
    columns: dict[str, Any] = {n: torch.from_numpy(value) for n, value in arrays.items()}
    if len(kept) == len(PARTS) and FEATURES not in columns:
        lengths, places, values, width = kept
        columns[FEATURES] = SparseRows.of_arrays(lengths, places, values, int(width[0]))
    elif kept:
        raise ValueError("a chunk holds a part of sparse rows")
    return columns


def zero_rows(content: bytes, _: Chunk, places: Sequence[int]) -> bytes:
    """A chunk's content with these rows zero in every column."""
    columns = columns_in(content)
    for values in columns.values():
        values[list(places)] = 0
    return pack(_arrays(columns))


def _arrays(columns: Mapping[str, Any]) -> dict[str, np.ndarray]:
    arrays: dict[str, np.ndarray] = {}
    for name, values in columns.items():
        if isinstance(values, SparseRows):
            width = np.array([values.width], dtype=np.int64)
            parts = values.arrays() | {"width": width}
            arrays |= {f"{name}.{part}": array for part, array in parts.items()}
        else:
            arrays[name] = values.cpu().numpy()
    return arrays
