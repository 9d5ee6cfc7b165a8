"""Pairs of handwritten digits: MNIST and USPS at 16 x 16, and scikit-learn's own, shifted.

MNIST's central 20 x 20 pixels are brought to USPS's 16 x 16 by areas: pixel i of 16 covers 1.25
pixels of 20. The embedded pair needs no file: its public images are moved right by 0, 1 or 2 of
their 8 pixels, which dials how well public data fits.
"""

from pathlib import Path
from typing import Literal

import numpy as np

from experiments.datasets.files import BadData, arrays, find
from experiments.datasets.mnist import embedded, mnist
from experiments.datasets.records import DataSet, Pair

__all__ = ["mnist16", "shifted_digits", "usps"]

CLASSES = tuple("0123456789")
PRIVATE, PUBLIC = 500, 700  # of the 1,797 embedded images


def usps(folder: Path | None = None) -> DataSet:
    """USPS: 7,291 + 2,007 images of 16 x 16, pixels in [0, 1]."""
    path = find(folder, ["digits/usps16x16.npz", "usps16x16.npz"], "digits/usps16x16.npz")
    found = arrays(path, ["x_train", "y_train", "x_test", "y_test"])
    pixels = np.concatenate([found["x_train"], found["x_test"]])
    labels = np.concatenate([found["y_train"], found["y_test"]]).astype(np.int64)
    if pixels.shape != (len(labels), 256) or labels.max(initial=0) > 9:
        raise BadData(f"{path}: expected images of 256 pixels and digits, not {pixels.shape}")
    is_test = np.arange(len(labels)) >= len(found["y_train"])
    return DataSet("USPS 16 x 16", pixels.astype(np.float32) / 255, labels, CLASSES, is_test)


def mnist16(folder: Path | None = None, counts: dict[str, int] | None = None) -> DataSet:
    """MNIST at USPS's size."""
    digits = mnist(folder, counts)
    pixels = np.concatenate([digits.train, digits.test])
    labels = np.concatenate([digits.train_labels, digits.test_labels])
    is_test = np.arange(len(labels)) >= len(digits.train)
    return DataSet("MNIST, resized to 16 x 16", _smaller(pixels), labels, CLASSES, is_test)


def shifted_digits(pixels: Literal[0, 1, 2] = 0, *, seed: int = 0) -> Pair:
    """500 private and 700 public embedded digits, the latter moved right; the rest is the test."""
    digits = embedded()
    rows = np.concatenate([digits.train, digits.test])
    labels = np.concatenate([digits.train_labels, digits.test_labels])
    order = np.random.default_rng(seed).permutation(len(rows))
    public, private = order[:PUBLIC], order[PUBLIC:]
    moved = np.zeros((PUBLIC, 8, 8), np.float32)
    moved[:, :, pixels:] = rows[public].reshape(-1, 8, 8)[:, :, : 8 - pixels]
    is_test = np.arange(len(private)) >= PRIVATE
    name = "scikit-learn digits"
    return Pair(
        f"digits moved by {pixels}",
        DataSet(
            f"{name} moved by {pixels}", moved.reshape(PUBLIC, -1), labels[public], CLASSES,
            np.zeros(PUBLIC, bool),
        ),
        DataSet(name, rows[private], labels[private], CLASSES, is_test),
    )  # fmt: skip


def _smaller(rows: np.ndarray) -> np.ndarray:
    """(rows, 784) to (rows, 256)."""
    edges = np.arange(17) * 1.25
    pixel = np.arange(20)
    upper = np.minimum(edges[1:, None], pixel + 1)
    share = (upper - np.maximum(edges[:-1, None], pixel)).clip(0) / 1.25  # (16, 20), rows sum to 1
    centre = rows.reshape(-1, 28, 28)[:, 4:24, 4:24]
    small = np.einsum("ia,nab,jb->nij", share, centre, share, optimize=True)
    return small.reshape(len(rows), -1).astype(np.float32)
