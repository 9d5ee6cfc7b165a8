"""What every loader returns, and the pairs of a public and a private set."""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

__all__ = ["Alignment", "DataSet", "Pair"]

Alignment = Literal["aligned", "misaligned", ""]


@dataclass(frozen=True, eq=False)
class DataSet:
    """A set of labelled records, as every loader returns it.

    Args:
        source: What it is, in words that a table can carry.
        features: (rows, width) float32, or (rows,) of texts or of paths.
        targets: (rows,) int64, places in `classes`.
        is_test: (rows,) bool; all False where the set has no split.
        groups: (rows,) strings for natural forget sets (a film, a category), or None.
    """

    source: str
    features: np.ndarray
    targets: np.ndarray
    classes: tuple[str, ...]
    is_test: np.ndarray
    groups: np.ndarray | None = None

    def __post_init__(self):
        sizes = {len(self.features), len(self.targets), len(self.is_test)}
        if len(sizes) > 1:
            raise ValueError(f"{self.source}: features, targets and is_test differ in length")

    def __len__(self) -> int:
        return len(self.targets)

    def of(self, chosen: np.ndarray) -> "DataSet":
        """These rows: a mask or indices."""
        return replace(
            self,
            features=self.features[chosen],
            targets=self.targets[chosen],
            is_test=self.is_test[chosen],
            groups=None if self.groups is None else self.groups[chosen],
        )

    @property
    def train(self) -> "DataSet":
        return self.of(~self.is_test)

    @property
    def test(self) -> "DataSet":
        return self.of(self.is_test)


@dataclass(frozen=True, eq=False)
class Pair:
    """A public and a private set with the same classes.

    Args:
        public: Records that are never deleted; all of its rows may be used.
        private: Records that may be; it is tested on its own test rows.
        stands_for: The paper's pair in whose place this one is, or "".
        alignment: By measurement on these sets (docs/data.md), whatever the paper calls its own.
    """

    name: str
    public: DataSet
    private: DataSet
    stands_for: str = ""
    alignment: Alignment = ""

    def __post_init__(self):
        if self.public.classes != self.private.classes:
            raise ValueError(f"{self.name}: the two sets have different classes")
