"""The objective of a data set: summed in chunks, with a proven bound on its arithmetic error.

    F(theta) = (1/nbar) sum_i loss(theta x_i, y_i) + (l2/2) ||theta - center||^2

Memory beyond the data is one chunk's scores and its float64 rows. Everything is float64.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from expunge.losses.linear import LinearLoss

__all__ = ["Objective", "gradient_rounding"]

CHUNK = 4096
UNIT = 2.0**-53


@dataclass(frozen=True)
class Objective:
    """Args:
    features, targets: Rows as given, float32 or float64.
    keep: (rows,) which rows are present; all of them if None. Nothing is copied.
    divisor: nbar; the rows present if None.
    center: Of the ridge; the origin if None.
    """

    loss: LinearLoss
    features: Tensor
    targets: Tensor
    keep: Tensor | None = None
    divisor: int | None = None
    center: Tensor | None = None

    @property
    def rows(self) -> int:
        return len(self.features) if self.keep is None else int(self.keep.sum())

    @property
    def nbar(self) -> int:
        return self.rows if self.divisor is None else self.divisor

    @property
    def shape(self) -> tuple[int, int]:
        """Of theta: (outputs, features)."""
        return self.loss.outputs, self.features.shape[1]

    def chunks(self) -> Iterator[tuple[Tensor, Tensor]]:
        for start in range(0, len(self.features), CHUNK):
            rows = slice(start, start + CHUNK)
            if self.keep is None:
                yield self.features[rows].double(), self.targets[rows]
            elif (keep := self.keep[rows]).any():
                yield self.features[rows][keep].double(), self.targets[rows][keep]

    def gradient(self, theta: Tensor) -> Tensor:
        """Gradient at theta (outputs, features), float64."""
        total = torch.zeros_like(theta)
        for rows, targets in self.chunks():
            total += self.loss.residual(rows @ theta.T, targets).T @ rows
        return total / self.nbar + self.loss.l2 * self._offset(theta)

    def value_and_gradient(self, theta: Tensor) -> tuple[float, Tensor]:
        value, total = 0.0, torch.zeros_like(theta)
        for rows, targets in self.chunks():
            scores = rows @ theta.T
            value += float(self.loss.value(scores, targets).sum())
            total += self.loss.residual(scores, targets).T @ rows
        offset = self._offset(theta)
        value = value / self.nbar + self.loss.l2 / 2 * float((offset * offset).sum())
        return value, total / self.nbar + self.loss.l2 * offset

    def hessian_product(self, theta: Tensor) -> Callable[[Tensor], Tensor]:
        """v -> F''(theta) v, by the derivative of the residuals along v."""

        def product(direction: Tensor) -> Tensor:
            total = torch.zeros_like(theta)
            for rows, _ in self.chunks():
                scores, moved = rows @ theta.T, rows @ direction.T
                total += self.loss.residual_derivative(scores, moved).T @ rows
            return total / self.nbar + self.loss.l2 * direction

        return product

    def gram(self) -> Tensor:
        """(1/nbar) sum x x', (features, features)."""
        features = self.features.shape[1]
        total = torch.zeros(features, features, dtype=torch.float64)
        for rows, _ in self.chunks():
            total += rows.T @ rows
        return total / self.nbar

    def _offset(self, theta: Tensor) -> Tensor:
        return theta if self.center is None else theta - self.center


def gradient_rounding(
    loss: LinearLoss, *, rows: int, features: int, divisor: int, theta_norm: float
) -> float:
    """A bound on the Euclidean error of `Objective.gradient` for ||theta|| <= theta_norm.

    With g(k) = k u/(1 - k u), u = 2^-53, and any order of summation inside a product:

    - a chunk of c rows and the sum of its ceil(n/c) chunks:  g(c + n/c) sum ||r_i|| ||x_i||,
      because the matrix of absolute values of a sum of outer products has at most that norm;
    - a score's error is at most g(D) ||x|| ||theta||, which moves r_i by at most 1 time as much
      (softmax, sigmoid and the identity are 1-Lipschitz); exp, its sum and the division add at
      most 16 u ||r||, rounded up to 16 u (r has entries of at most 1, or s - y);
    - division by nbar, the ridge product and the final sum add 4 u (M n/nbar + l2 ||theta||).

    All of it depends on public constants only (THEORY 5.1).
    """

    def g(operations: float) -> float:
        return operations * UNIT / (1 - operations * UNIT)

    chunks = -(-rows // CHUNK)
    share = rows / divisor
    steepest = loss.gradient_bound(theta_norm)  # bounds ||r_i|| ||x_i||
    scores = g(features + 2) * loss.row_norm * theta_norm
    residuals = (scores + 16 * UNIT * (1 + steepest / loss.row_norm)) * loss.row_norm
    summation = g(min(CHUNK, rows) + chunks + 2) * steepest
    ridge = 4 * UNIT * (steepest * share + loss.l2 * theta_norm)
    return (summation + residuals) * share * (1 + 1e-6) + ridge
