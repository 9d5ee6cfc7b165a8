"""A pair of your own: one .npz file of plain arrays, and a name PUBLIC/PRIVATE.

    public_x, public_y       records that are never deleted
    private_x, private_y     records that may be
    test_x, test_y           private test rows; without them a fifth of the private ones, at random

Features are numbers, one row for each record; labels are whole numbers or words. The file is named
in the environment, so that processes that share the work find it too.
"""

import os
from pathlib import Path

import numpy as np

from experiments.datasets.files import BadData, DataMissing, arrays
from experiments.datasets.records import DataSet, Pair

__all__ = ["declare_pair", "declared_pair", "own_pair"]

VARIABLE = "EXPUNGE_OWN_PAIR"
NEEDED = ("public_x", "public_y", "private_x", "private_y")
TEST = ("test_x", "test_y")
FIFTH = 5


def declare_pair(name: str, path: Path) -> None:
    """Let this name mean this file, here and in processes that are started from here."""
    if name.count("/") != 1 or "=" in name:
        raise BadData(f"{name!r}: a pair is called PUBLIC/PRIVATE")
    if not path.is_file():
        raise DataMissing(f"{path}: no such file; it should hold {', '.join(NEEDED)}")
    os.environ[VARIABLE] = f"{name}={path.absolute()}"


def declared_pair(name: str) -> Pair | None:
    """The pair of this name, if one was declared."""
    declared, _, path = os.environ.get(VARIABLE, "").partition("=")
    return own_pair(name, Path(path)) if path and declared == name else None


def own_pair(name: str, path: Path) -> Pair:
    """Read a pair from its file.

    Raises:
        BadData: arrays that are missing, of other lengths or widths, or not finite.
    """
    found = arrays(path, NEEDED)
    with np.load(path, allow_pickle=False) as file:
        present = [one for one in TEST if one in file.files]
    if len(present) == 1:
        raise BadData(f"{path}: {present[0]} without {', '.join({*TEST} - {*present})}")
    found |= arrays(path, present)
    labels = np.concatenate([found[one] for one in found if one.endswith("_y")])
    classes = np.unique(labels)
    if len(classes) < 2:
        raise BadData(f"{path}: one class only; a model needs two at least")
    public, private = (_side(path, found, side, classes) for side in ("public", "private"))
    if present:
        test = _side(path, found, "test", classes)
        features = np.concatenate([private[0], test[0]])
        targets = np.concatenate([private[1], test[1]])
        is_test = np.arange(len(targets)) >= len(private[1])
    else:
        features, targets = private
        is_test = np.random.default_rng(0).permutation(len(targets)) < len(targets) // FIFTH
    names = tuple(str(one) for one in classes)
    return Pair(
        name,
        DataSet(f"{path.name}, public", *public, names, np.zeros(len(public[1]), dtype=bool)),
        DataSet(f"{path.name}, private", features, targets, names, is_test),
    )


def _side(
    path: Path, found: dict[str, np.ndarray], side: str, classes: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Features as float32, targets as places among the classes."""
    features, labels = found[f"{side}_x"], found[f"{side}_y"]
    width = found["public_x"].shape[1:]
    if features.ndim != 2 or features.shape[1:] != width or labels.ndim != 1:
        raise BadData(f"{path}: {side}_x must be rows of {width[0] if width else '?'} numbers")
    if len(features) != len(labels):
        raise BadData(f"{path}: {len(features)} rows of {side}_x, {len(labels)} of {side}_y")
    rows = features.astype(np.float32)
    if not np.isfinite(rows).all() or not np.any(rows, axis=1).all():
        raise BadData(f"{path}: {side}_x has a row that is not finite, or all zero")
    return rows, np.searchsorted(classes, labels).astype(np.int64)
