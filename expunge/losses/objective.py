"""The objective of a data set: summed in chunks, with a proven bound on its arithmetic error.

    F(theta) = (1/nbar) sum_i loss(theta x_i, y_i) + (l2/2) ||theta - center||^2

Rows are dense or sparse; sparse ones cost what their non-zeros cost (`core.row_products`), in the
same chunks, so the bound on the error is the same.

Every pass is made of stretches (`losses.passes`), which an engine computes here or elsewhere.
Memory beyond the data is one chunk's float64 rows and, for Hessian products, all scores; of rows
that lie on disk one stretch, and as many scores as their table has room for. Values and gradients
are float64; Hessian products and Gram matrices, which only steer solvers, are coarser. Rows may lie
on any device; theta and what is returned stay where theta is.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import torch
from torch import Tensor

from expunge.core.part_engine import HERE, PartEngine
from expunge.core.stored_rows import StoredColumn
from expunge.losses.linear import LinearLoss
from expunge.losses.passes import (
    CHUNK,
    GradientAt,
    GramOf,
    HessianAlong,
    PresentRows,
    Rows,
    RowStretch,
    Targets,
)

__all__ = ["Gram", "Objective", "Rows", "Targets", "gradient_rounding", "gram_width"]

SAMPLE = 2048  # rows of a Gram matrix, at least where there are as many
STEPS = 2.0**16  # of a coordinate from 0 to the row norm, in a Gram matrix
UNIT = 2.0**-53
GRAM_PARTS = 8  # at most; each has a matrix of its own
WIDE = 5000  # features beyond which a Gram matrix is its diagonal


def gram_width(features: int) -> int:
    """How many numbers of each feature's row a Gram matrix has: all of them, or the diagonal's."""
    return features if features <= WIDE else 1


class Gram(NamedTuple):
    """Sum of q q' over some rows, q = round(x STEPS / B): whole numbers below 2^53.

    So it is exact in any order, and what is left after subtracting rows is, to the last bit, the
    sum over the others. Of wide rows there is the diagonal alone.
    """

    total: Tensor  # (features, features), or (features,)
    rows: int
    places: int  # sum of their places in the table: with `rows`, tells one set from another

    def without(self, gone: "Gram") -> "Gram":
        return Gram(self.total - gone.total, self.rows - gone.rows, self.places - gone.places)


@dataclass(frozen=True)
class Objective:
    """The objective of a data set: the mean loss of the rows that are present, plus the ridge.

    Args:
        features, targets: Rows as given, float32 or float64, in memory or on disk.
        keep: (rows,) which rows are present; all of them if None.
        divisor: nbar; the rows present if None.
        center: Of the ridge; the origin if None.
        engine: Computes the parts of passes.
    """

    loss: LinearLoss
    features: Rows
    targets: Targets
    keep: Tensor | None = None
    divisor: float | None = None
    center: Tensor | None = None
    engine: PartEngine = HERE

    @property
    def rows(self) -> int:
        return len(self.features) if self.keep is None else int(self.keep.sum())

    @property
    def nbar(self) -> float:
        return self.rows if self.divisor is None else self.divisor

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of theta: (outputs, features)."""
        return self.loss.outputs, self.features.shape[1]

    @cached_property
    def table(self) -> PresentRows:
        """The rows that are present."""
        whole = self.keep is None or bool(self.keep.all())
        return PresentRows(self.features, self.targets, None if whole else self.keep)

    @cached_property
    def _parts(self) -> list[tuple[RowStretch, ...]]:
        every, size = self.table.stretches(), self.engine.together
        return [tuple(every[at : at + size]) for at in range(0, len(every), size)]

    def over_parts(self, compute: Callable[[PresentRows, Any], Any]) -> Iterator[Any]:
        """What each part of a pass comes to, in order."""
        return self.engine.map(compute, self.table, self._parts)

    def chunks(self) -> Iterator[tuple[Any, Tensor]]:
        """The rows that are present as they are stored, a chunk at a time."""
        for stretch in self.table.stretches():
            yield from self.table.chunks(stretch)

    def gradient(self, theta: Tensor) -> Tensor:
        """Gradient at theta (outputs, features), float64."""
        return self._summed(theta, valued=False)[1]

    def value_and_gradient(self, theta: Tensor) -> tuple[float, Tensor]:
        summed, gradient = self._summed(theta, valued=True)
        offset = self._offset(theta)
        return summed / self.nbar + self.loss.l2 / 2 * float((offset * offset).sum()), gradient

    def _summed(self, theta: Tensor, *, valued: bool) -> tuple[float, Tensor]:
        """The sum of the rows' losses if it is asked for, and the gradient, at theta."""
        at = theta.to(self.features.device)
        value, total = at.new_zeros(()), torch.zeros_like(at)
        for part in self.over_parts(GradientAt(self.loss, at, valued)):
            for one in part:
                total += one.gradient
                if one.value is not None:
                    value += one.value
        gradient = total.to(theta.device) / self.nbar + self.loss.l2 * self._offset(theta)
        return float(value), gradient

    def hessian_product(
        self, theta: Tensor, dtype: torch.dtype | None = None
    ) -> Callable[[Tensor], Tensor]:
        """v -> F''(theta) v, only ever a direction to try.

        Args:
            dtype: Of its products; the rows' own precision if None.
        """
        dtype = self.features.dtype if dtype is None else dtype
        at = theta.to(self.features.device, dtype)
        room = self.features.table.room if isinstance(self.features, StoredColumn) else None
        hessian = HessianAlong(self.loss, at, room)

        def product(direction: Tensor) -> Tensor:
            total = torch.zeros_like(at, dtype=torch.float64)
            for part in self.over_parts(hessian.along(direction.to(at))):
                for one in part:
                    total += one
            return total.to(direction.device) / self.nbar + self.loss.l2 * direction

        return product

    @property
    def sampled(self) -> Tensor:
        """Which rows a Gram matrix counts, by their place among all, absent ones too: (rows,)."""
        rows = len(self.features)
        return torch.arange(rows) % self._every(rows) == 0

    @property
    def gram_rule(self) -> list[float]:
        """What Gram matrices of this table must have in common to be subtracted."""
        return [float(self._every(len(self.features))), STEPS, self.loss.row_norm]

    @property
    def gram_dimensions(self) -> int:
        """2, or 1 where rows are so wide that a Gram matrix is its diagonal."""
        return 2 if self.features.shape[1] <= WIDE else 1

    def gram(self, among: Tensor | None = None) -> Gram:
        """The Gram matrix of rows spread evenly over those present, as if no others ever were.

        Args:
            among: (rows,) take the `sampled` ones of these instead.
        """
        if among is not None:
            places = (self.sampled & among.cpu()).nonzero()[:, 0]
        elif self.keep is None:
            places = torch.arange(0, self.rows, self._every(self.rows))
        else:
            places = self.keep.nonzero()[:, 0].cpu()[:: self._every(self.rows)]
        device, width = self.features.device, self.features.shape[1]
        shape = (width,) * self.gram_dimensions
        total = torch.zeros(shape, dtype=torch.float64, device=device)
        unit = self.loss.row_norm / STEPS or 1.0  # rows of norm 0 are whole anyway
        parts = places.to(device).split(max(CHUNK, -(-len(places) // GRAM_PARTS)))
        for one in self.engine.map(GramOf(unit, shape), self.table, parts):
            total += one
        return Gram(total.cpu(), len(places), int(places.sum()))

    def approximate_inverse(self, gram: Gram, curvature: float) -> Callable[[Tensor], Tensor]:
        """g -> g (curvature G + l2 I)^-1, row by row; G the mean of x x' by `gram`."""
        share = curvature * (self.loss.row_norm / STEPS) ** 2 / max(1, gram.rows)
        if gram.total.ndim == 1:
            diagonal = share * gram.total + self.loss.l2
            usable = bool((diagonal.isfinite() & (diagonal > 0)).all())
            return lambda gradient: gradient / diagonal if usable else gradient
        matrix = share * gram.total
        matrix.diagonal().add_(self.loss.l2)
        factor, failed = torch.linalg.cholesky_ex(matrix)
        if failed or not bool(factor.isfinite().all()):
            return lambda gradient: gradient
        return lambda gradient: torch.cholesky_solve(gradient.T, factor).T

    def _every(self, rows: int) -> int:
        """A Gram matrix takes one row in so many."""
        return max(1, rows // max(SAMPLE, 4 * self.features.shape[1]))

    def _offset(self, theta: Tensor) -> Tensor:
        return theta if self.center is None else theta - self.center


def gradient_rounding(
    loss: LinearLoss,
    *,
    rows: int,
    features: int,
    divisor: float,
    theta_norm: float,
    center_norm: float = 0.0,
) -> float:
    """A bound on the Euclidean error of `Objective.gradient` for ||theta|| <= theta_norm.

    With g(k) = k u/(1 - k u), u = 2^-53, and any order of summation inside a product:

    - a chunk of c rows and the sum of its ceil(n/c) chunks, in whatever stretches they are added
      up:  g(c + n/c) sum ||r_i|| ||x_i||,
      because the matrix of absolute values of a sum of outer products has at most that norm;
    - a score's error is at most g(D) ||x|| ||theta||, which moves r_i by at most as much (softmax,
      sigmoid and the identity are 1-Lipschitz) or curvature/B^2 times as much, by a user's word;
      exp, its sum over C outputs and the division add at most g(C + 16) (1 + ||r||); all of this
      times the largest weight, where rows are weighted, and the product with a weight is one more
      operation on each summand, of the two that the sum's g(c + n/c + 2) has to spare;
    - division by nbar, the ridge product and the final sum add
      8 u (M n/nbar + l2 (||theta|| + ||center||)).

    All of it depends on public constants only (THEORY 5.1).
    """

    def g(operations: float) -> float:
        return operations * UNIT / (1 - operations * UNIT)

    chunks = -(-rows // CHUNK)
    share = rows / divisor
    steepest = loss.gradient_bound(theta_norm)  # bounds ||r_i|| ||x_i||
    bend = max(loss.largest_weight, loss.curvature / loss.row_norm**2)
    scores = bend * g(features + 2) * loss.row_norm * theta_norm
    transcendental = g(loss.outputs + 16) * (loss.largest_weight + steepest / loss.row_norm)
    residuals = (scores + transcendental) * loss.row_norm
    summation = g(min(CHUNK, rows) + chunks + 2) * steepest
    ridge = 8 * UNIT * (steepest * share + loss.l2 * (theta_norm + center_norm))
    return (summation + residuals) * share * (1 + 1e-6) + ridge
