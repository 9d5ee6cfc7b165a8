"""Handwritten digits: MNIST from its four idx files, or scikit-learn's embedded ones.

An idx file is a big-endian header (two zero bytes, a type byte, 8 for unsigned bytes, the number
of dimensions; then each dimension in 4 bytes) and the values, plain or gzipped. Each may be called
`train-images-idx3-ubyte`, as published, or `mnist-train-images-idx3-ubyte`, with or without .gz.
"""

import gzip
import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from sklearn.datasets import load_digits

from experiments.datasets.files import VARIABLE, BadData, DataMissing, data_folder

__all__ = ["VARIABLE", "BadData", "DataMissing", "Digits", "Source", "load", "mnist"]

Source = Literal["mnist", "embedded"]
UNSIGNED_BYTE = 8
COUNTS = {"train": 60_000, "t10k": 10_000}
SHAPE = (28, 28)


@dataclass(frozen=True)
class Digits:
    """Rows of pixels in [0, 1], float32, and labels; `source` says where they come from."""

    source: str
    train: np.ndarray  # (records, pixels)
    train_labels: np.ndarray  # (records,) int64
    test: np.ndarray
    test_labels: np.ndarray

    def of_classes(self, classes: Sequence[int]) -> "Digits":
        """Only these digits, labelled 0, 1, ... in the given order."""
        parts = []
        for rows, labels in ((self.train, self.train_labels), (self.test, self.test_labels)):
            new = np.full(10, -1)
            new[list(classes)] = np.arange(len(classes))
            chosen = new[labels] >= 0
            parts += [rows[chosen], new[labels[chosen]]]
        return Digits(self.source, *parts)

    def with_unit_rows(self) -> "Digits":
        """Every row scaled to norm 1, by a rule that looks at that row alone."""
        return Digits(
            self.source, _unit(self.train), self.train_labels, _unit(self.test), self.test_labels
        )


def load(source: Source, folder: Path | None = None) -> Digits:
    return embedded() if source == "embedded" else mnist(folder)


def mnist(folder: Path | None = None, counts: dict[str, int] | None = None) -> Digits:
    """MNIST from a folder, or from its `digits` sub-folder.

    Args:
        folder: The environment variable EXPUNGE_DATA if None.
        counts: Records to expect in `train` and `t10k`; MNIST's own if None.

    Raises:
        DataMissing: no folder, or a file that is not in it.
        BadData: a file with another magic number, size or count.
    """
    folder = data_folder(folder, "MNIST's idx files")
    parts = []
    for part, count in (counts or COUNTS).items():
        images = _read(folder, f"{part}-images-idx3-ubyte", (count, *SHAPE))
        labels = _read(folder, f"{part}-labels-idx1-ubyte", (count,))
        if labels.max(initial=0) > 9:
            raise BadData(f"{part}-labels-idx1-ubyte: label {labels.max()} is no digit")
        parts += [images.reshape(count, -1).astype(np.float32) / 255, labels.astype(np.int64)]
    return Digits("MNIST", *parts)


def embedded() -> Digits:
    """scikit-learn's 1,797 digits of 8 x 8 pixels; the last quarter is the test set."""
    found = load_digits(return_X_y=True)
    rows = np.asarray(found[0], dtype=np.float32) / 16
    labels = np.asarray(found[1], dtype=np.int64)
    split = 3 * len(rows) // 4
    return Digits("scikit-learn digits", rows[:split], labels[:split], rows[split:], labels[split:])


def _read(folder: Path, name: str, shape: tuple[int, ...]) -> np.ndarray:
    path = _find(folder, name)
    try:
        content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise BadData(f"{path}: not a whole gzip file; fetch it again") from error
    start = 4 + 4 * len(shape)
    if len(content) < start or content[:4] != bytes([0, 0, UNSIGNED_BYTE, len(shape)]):
        raise BadData(f"{path}: not an idx file of {len(shape)} dimensions (magic number)")
    stated = tuple(np.frombuffer(content, ">u4", len(shape), offset=4).tolist())
    if stated != shape:
        raise BadData(f"{path}: holds {stated}, expected {shape}")
    if len(content) != start + math.prod(shape):
        raise BadData(f"{path}: {len(content)} bytes, expected {start + math.prod(shape)}")
    return np.frombuffer(content, np.uint8, offset=start).reshape(shape)


def _find(folder: Path, name: str) -> Path:
    for place in (folder, folder / "digits"):
        for prefix in ("mnist-", ""):
            for suffix in (".gz", ""):
                path = place / f"{prefix}{name}{suffix}"
                if path.is_file():
                    return path
    raise DataMissing(
        f"{folder}: no {name}[.gz] here or in digits/; set {VARIABLE} to a folder with MNIST's "
        "four idx files (or run --scale smoke, which needs none)"
    )


def _unit(rows: np.ndarray) -> np.ndarray:
    norms = np.linalg.norm(rows.astype(np.float64), axis=1, keepdims=True)
    return (rows / np.where(norms > 0, norms, 1.0)).astype(np.float32)
