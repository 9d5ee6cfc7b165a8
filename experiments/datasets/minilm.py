"""Sentence embeddings of reviews: IMDB and six categories of Amazon, 384 numbers of norm 1.

The embedder (all-MiniLM-L6-v2) saw no label of either set.
"""

from pathlib import Path

import numpy as np

from experiments.datasets.files import BadData, arrays, find
from experiments.datasets.records import DataSet

__all__ = ["amazon_minilm", "imdb_minilm"]

CLASSES = ("negative", "positive")


def imdb_minilm(folder: Path | None = None) -> DataSet:
    """8,362 + 4,150 reviews; groups are films."""
    found = _read(folder, "imdb_minilm384.npz", ["x", "y", "is_test", "movie"])
    targets = found["y"].astype(np.int64)
    features = found["x"].astype(np.float32)
    source = "IMDB reviews, MiniLM"
    return DataSet(source, features, targets, CLASSES, found["is_test"], found["movie"])


def amazon_minilm(category: str | None = None, folder: Path | None = None) -> DataSet:
    """10,526 reviews of all categories, or those of one; groups are categories."""
    name = "amazon_minilm384.npz"
    found = _read(folder, name, ["x", "y", "category", "category_names"])
    names = found["category_names"]
    groups = names[found["category"]]
    if category is not None and category not in names:
        raise BadData(f"{name}: no category {category!r}; there are {', '.join(names)}")
    whole = DataSet(
        f"Amazon {category or 'reviews'}, MiniLM",
        found["x"].astype(np.float32),
        found["y"].astype(np.int64),
        CLASSES,
        np.zeros(len(groups), bool),
        groups,
    )
    return whole if category is None else whole.of(groups == category)


def _read(folder: Path | None, name: str, names: list[str]) -> dict[str, np.ndarray]:
    return arrays(find(folder, [f"text_minilm/{name}", name], f"text_minilm/{name}"), names)
