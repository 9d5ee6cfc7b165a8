"""One classification task, its records in a fixed random order.

Public records come first, then private ones, and the first private ones are those that go: every
share and every deletion is a slice.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import torch

from experiments.datasets import Digits
from expunge.losses import Logistic, Softmax
from expunge.losses.objective import Objective
from expunge.losses.solver import solve

__all__ = ["Division", "Problem", "division", "public_minimiser", "summary"]


@dataclass(frozen=True)
class Division:
    """How many records are public and private, and how many of the private ones go."""

    public: int
    private: int
    forget: int

    @property
    def records(self) -> int:
        return self.public + self.private

    @property
    def gone(self) -> slice:
        return slice(self.public, self.public + self.forget)


@dataclass(frozen=True)
class Problem:
    name: str
    classes: int
    source: str
    rows: np.ndarray  # (records, features), norm 1
    labels: np.ndarray
    test: np.ndarray
    test_labels: np.ndarray

    @classmethod
    def of(cls, digits: Digits, name: str, classes: tuple[int, ...], seed: int) -> "Problem":
        chosen = digits.of_classes(classes).with_unit_rows()
        order = np.random.default_rng(seed).permutation(len(chosen.train))
        return cls(
            name,
            len(classes),
            digits.source,
            chosen.train[order],
            chosen.train_labels[order],
            chosen.test,
            chosen.test_labels,
        )

    @property
    def delta(self) -> float:
        """1/n, as in the published comparison."""
        return 1 / len(self.rows)

    def divided(self, share: float, deletion: int | float) -> Division:
        """A share of the records public; a deletion by count or share of the private ones."""
        public = round(share * len(self.rows))
        return division(public, len(self.rows) - public, deletion)

    def described(self) -> dict[str, object]:
        return {
            "task": self.name,
            "source": self.source,
            "records": len(self.rows),
            "test": len(self.test),
            "features": self.rows.shape[1],
            "classes": self.classes,
            "delta": self.delta,
        }


def division(public: int, private: int, deletion: int | float) -> Division:
    if isinstance(deletion, int):
        return Division(public, private, deletion)
    return Division(public, private, math.ceil(Fraction(str(deletion)) * private))


def public_minimiser(problem: Problem, public: int, ridge: float) -> np.ndarray:
    """(outputs, features) of the public records alone, rows as they are, no intercept."""
    loss = Logistic(ridge) if problem.classes == 2 else Softmax(problem.classes, ridge)
    rows, labels = problem.rows[:public], problem.labels[:public]
    objective = Objective(loss, torch.from_numpy(rows), torch.from_numpy(labels))
    start = torch.zeros(*objective.shape, dtype=torch.float64)
    return solve(objective, start, tolerance=1e-8, gram=objective.gram()).numpy()


def summary(accuracies: np.ndarray, *, noisy: bool = True) -> dict[str, float | int | None]:
    """Mean in percent, its standard error, and runs.

    The error is 0 where nothing is random, and None where a single noisy run cannot tell.
    """
    percent = 100 * np.asarray(accuracies, dtype=np.float64)
    spread = 0.0 if not noisy else None
    if len(percent) > 1:
        spread = round(float(percent.std(ddof=1)) / math.sqrt(len(percent)), 4)
    return {
        "accuracy": round(float(percent.mean()), 4),
        "standard_error": spread,
        "runs": len(percent),
    }
