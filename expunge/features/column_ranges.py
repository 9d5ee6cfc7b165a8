"""Ranges that the caller declares for columns, by name, by number, or for all of them in order."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from expunge.core.checks import number
from expunge.errors import InvalidInput

__all__ = ["declared_range", "range_columns"]


def range_columns(
    ranges: Any, width: int, names: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """The lowest and the highest value of each column; NaN where nothing is declared.

    Raises:
        InvalidInput: a column is not there, or its range is none; it is named.
    """
    low, high = np.full(width, np.nan), np.full(width, np.nan)
    if ranges is None:
        return low, high
    if not isinstance(ranges, Mapping):
        pairs = list(ranges) if isinstance(ranges, list | tuple | np.ndarray) else []
        if len(pairs) != width:
            raise InvalidInput("ranges", f"must be a dictionary, or {width} pairs (low, high)")
        ranges = dict(enumerate(pairs))
    places = {} if names is None else {name: place for place, name in enumerate(names)}
    for column, pair in ranges.items():
        place = places.get(column, column)
        if isinstance(place, bool) or not isinstance(place, int) or not 0 <= place < width:
            raise InvalidInput("ranges", f"no column {column!r} among the {width} that there are")
        low[place], high[place] = declared_range(f"ranges[{column!r}]", pair)
    return low, high


def declared_range(name: str, pair: Any) -> tuple[float, float]:
    """The lowest and the highest value that are declared.

    Raises:
        InvalidInput: it is no pair of finite numbers in order.
    """
    if not isinstance(pair, list | tuple | np.ndarray) or len(pair) != 2:
        raise InvalidInput(name, "must be a pair (low, high)")
    try:
        low, high = (float(number(name, value)) for value in pair)
    except ValueError as error:
        raise InvalidInput(name, "must be a pair of finite numbers (low, high)") from error
    if not low < high:
        raise InvalidInput(name, f"must be (low, high), not ({low:g}, {high:g})")
    return low, high
