"""Random trees over declared ranges: cells that no record shaped, private or public.

A tree cuts the box of all declared ranges: of its cells of least depth one is drawn, one declared
column, and a place to cut, uniformly within the cell. Trees grown on public rows have no cut where
no public row lies; these cut everywhere.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["RandomTrees"]


@dataclass(frozen=True)
class RandomTrees:
    """Trees as arrays: the columns and places of their cuts, and where each side leads.

    Args:
        columns, places: (trees, cuts): column and place of each cut.
        sides: (trees, cuts, 2): the next cut for values up to the place and for others; a leaf is
            given as -1 - its number.
    """

    columns: np.ndarray
    places: np.ndarray
    sides: np.ndarray

    @classmethod
    def draw(
        cls, low: np.ndarray, high: np.ndarray, trees: int, leaves: int, seed: int
    ) -> "RandomTrees":
        """Draw trees over the columns that have a range; NaN says that a column has none."""
        draws = np.random.default_rng(seed)
        declared = np.flatnonzero(np.isfinite(low) & np.isfinite(high))
        shape = (trees, leaves - 1)
        columns, places = np.zeros(shape, dtype=np.int64), np.zeros(shape)
        sides = np.zeros((*shape, 2), dtype=np.int64)
        for tree in range(trees):
            _grow(draws, declared, (low, high), (columns[tree], places[tree], sides[tree]))
        return cls(columns, places, sides)

    def leaves(self, rows: np.ndarray) -> np.ndarray:
        """The leaf of each row in each tree: (rows, trees). A missing value goes far."""
        found = np.empty((len(rows), len(self.columns)), dtype=np.int64)
        numbers = np.arange(len(rows))
        for tree, (columns, places, sides) in enumerate(
            zip(self.columns, self.places, self.sides, strict=True)
        ):
            at = np.zeros(len(rows), dtype=np.int64)
            while (inner := at >= 0).any():
                cut = at[inner]
                beyond = ~(rows[numbers[inner], columns[cut]] <= places[cut])
                at[inner] = sides[cut, beyond.astype(np.int64)]
            found[:, tree] = -1 - at
        return found


def _grow(
    draws: np.random.Generator,
    declared: np.ndarray,
    box: tuple[np.ndarray, np.ndarray],
    tree: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> None:
    """Fill one tree's arrays, cutting a cell of least depth until there are leaves enough."""
    columns, places, sides = tree
    # A cell: depth, its box, and the place in `sides` that leads to it.
    cells: list[tuple[int, np.ndarray, np.ndarray, Any]] = [(0, *box, None)]
    for cut in range(len(columns)):
        least = min(cell[0] for cell in cells)
        shallow = [number for number, cell in enumerate(cells) if cell[0] == least]
        depth, low, high, door = cells.pop(shallow[draws.integers(len(shallow))])
        column = declared[draws.integers(len(declared))]
        place = draws.uniform(low[column], high[column])
        columns[cut], places[cut] = column, place
        if door is not None:
            sides[door] = cut
        below, above = high.copy(), low.copy()
        below[column], above[column] = place, place
        cells.append((depth + 1, low, below, (cut, 0)))
        cells.append((depth + 1, above, high, (cut, 1)))
    for leaf, (_, _, _, door) in enumerate(cells):
        if door is not None:
            sides[door] = -1 - leaf
