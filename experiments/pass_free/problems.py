"""Records for the experiment on requests without a pass: rows of norm at most 1, shuffled."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from torch import Tensor

from experiments.datasets import load, load_pair
from experiments.datasets.pacs import pacs
from expunge.core.rows import bounded_rows
from expunge.losses import Logistic, Softmax

__all__ = ["PROBLEMS", "Problem", "load_problem", "made_rows"]

BLOCK = 65_536
FEATURES, TESTED = 64, 50_000  # of a made set
Raw = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]  # rows, labels; of training and test


@dataclass(frozen=True)
class Problem:
    """Bounded rows with an intercept, and labels; test rows likewise."""

    name: str
    classes: int
    features: Tensor
    targets: Tensor
    test: Tensor
    test_targets: Tensor

    def loss(self, l2: float) -> Logistic | Softmax:
        return Logistic(l2) if self.classes == 2 else Softmax(self.classes, l2)

    def of(self, records: int) -> "Problem":
        """The problem of the first records alone."""
        return Problem(
            self.name, self.classes, self.features[:records], self.targets[:records], self.test,
            self.test_targets,
        )  # fmt: skip

    def accuracy(self, theta: Tensor) -> float:
        """The share of test rows that weights (outputs, features) predict."""
        scores = self.test @ theta.T
        guesses = (scores[:, 0] > 0).long() if self.classes == 2 else scores.argmax(1)
        return float((guesses == self.test_targets).double().mean())


def load_problem(name: str, records: int, seed: int) -> Problem:
    """So many records of a data set, in a random order that the seed fixes."""
    rows, labels, test, test_labels = PROBLEMS[name](records, seed)
    order = np.random.default_rng(seed).permutation(len(rows))[:records]
    made = name.startswith("made")  # drawn independently, and large
    chosen = rows if made else rows[order]
    features = np.empty((len(chosen), rows.shape[1] + 1), np.float32)
    return Problem(
        name,
        int(max(labels.max(), test_labels.max())) + 1,
        torch.from_numpy(bounded_rows(chosen, 1.0, out=features)),
        torch.from_numpy(labels if made else labels[order]),
        torch.from_numpy(bounded_rows(test.astype(np.float64), 1.0)),
        torch.from_numpy(test_labels),
    )


def made_rows(
    records: int, features: int, classes: int, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Rows of norm 1 with a decaying spectrum and noisy labels of a linear rule; and test rows."""
    rng = np.random.default_rng(seed)
    outputs = 1 if classes == 2 else classes
    rule = (8 * rng.standard_normal((features, outputs))).astype(np.float32)
    rows = np.empty((records + TESTED, features), np.float32)
    labels = np.empty(records + TESTED, np.int64)
    for start in range(0, len(rows), BLOCK):
        part = rows[start : start + BLOCK]
        rng.standard_normal(out=part, dtype=np.float32)
        part *= np.logspace(0, -1.5, features, dtype=np.float32)
        part /= np.linalg.norm(part, axis=1, keepdims=True)
        scores = part @ rule
        noise = rng.logistic if classes == 2 else rng.gumbel
        scores += noise(size=scores.shape)
        labels[start : start + BLOCK] = (
            scores[:, 0] > 0 if classes == 2 else scores.argmax(1)
        )  # fmt: skip
    return rows[:records], labels[:records], rows[records:], labels[records:]


def _made(classes: int, records: int, seed: int) -> Raw:
    return made_rows(records, FEATURES, classes, seed)


def _embedded(records: int, seed: int) -> Raw:
    del records, seed
    digits = load("embedded").with_unit_rows()
    return digits.train, digits.train_labels, digits.test, digits.test_labels


def _digits(classes: tuple[int, ...], records: int, seed: int) -> Raw:
    del records, seed
    private = load_pair("usps/mnist").private
    parts = []
    for part in (private.train, private.test):
        chosen = np.isin(part.targets, classes)
        rows = part.features[chosen]
        rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        parts += [rows, np.searchsorted(classes, part.targets[chosen])]
    return parts[0], parts[1], parts[2], parts[3]


def _reviews(records: int, seed: int) -> Raw:
    del records, seed
    pair = load_pair("amazon/imdb")
    rows = np.concatenate([pair.public.features, pair.private.train.features])
    labels = np.concatenate([pair.public.targets, pair.private.train.targets])
    return rows, labels, pair.private.test.features, pair.private.test.targets


def _images(records: int, seed: int) -> Raw:
    del records, seed
    domains = [pacs(name) for name in ("art_painting", "cartoon", "photo", "sketch")]
    parts = []
    for sets in ([one.train for one in domains], [one.test for one in domains]):
        rows = np.concatenate([one.features for one in sets])
        parts.append(rows / np.linalg.norm(rows, axis=1, keepdims=True))
        parts.append(np.concatenate([one.targets for one in sets]))
    return parts[0], parts[1], parts[2], parts[3]


PROBLEMS: dict[str, Callable[[int, int], Raw]] = {
    "reviews": _reviews,
    "digits": partial(_digits, tuple(range(10))),
    "digits 3, 5, 8": partial(_digits, (3, 5, 8)),
    "images": _images,
    "embedded digits": _embedded,
    "made, 2 classes": partial(_made, 2),
    "made, 5 classes": partial(_made, 5),
}
