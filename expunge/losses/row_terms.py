"""What each row adds to the gradient's and the Hessian's sum at a point, in whole numbers.

    gradient   r_i x_i'                       r the residual, (outputs, features)
    Hessian    w_i x_i x_i'  =  u_i u_i',     u = sqrt(w) x                logistic, squared
               (diag p - p p') (x) x x'       p the probabilities          softmax
    sharp      v_i v_i',                      v = sqrt(w (1 - 4 w)) x      logistic  ("A4")

Residuals, roots u, v and (for softmax) sqrt(p_c) x and p (x) x are rounded to whole multiples of a
public power of two, so that sums of products of 512 rows are whole numbers below 2^53: exact in any
order. A row's terms are functions of its own bits and of the point's: each score is added up for
itself, in one order, by operations that every machine rounds alike. So a row takes away exactly
what it brought. What rounding does to the sums is bounded by public constants (THEORY 6).

Sparse rows give the same whole numbers, from their non-zeros alone but for the scores.
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from expunge.core.sparse_rows import SparseRows
from expunge.losses.exact_sums import NonZeros
from expunge.losses.linear import LinearLoss
from expunge.losses.logistic import Logistic
from expunge.losses.repeatable_exp import EXP_ERROR, exp
from expunge.losses.softmax import Softmax
from expunge.losses.squared import Squared

__all__ = ["ROWS", "RowTerms", "Terms", "has_terms"]

ROWS = 512  # at once, at most
ROOT_BITS = 22  # 512 (2^22)^2 = 2^53
GRADIENT_BITS = 43
UNIT = 2.0**-53
TINY = 1e-150  # what exp leaves out far below 0, and its root


class Terms(NamedTuple):
    """Sums over some rows, as whole numbers (int64).

    `gradient` counts in units of `gradient_unit`, the others in units of `root_unit` squared.
    """

    gradient: Tensor  # (outputs, features)
    hessian: Tensor | NonZeros  # (outputs features, outputs features)
    sharp: Tensor | NonZeros | None  # of the same shape; logistic only


class _Weights(NamedTuple):
    """What the scores of some rows say: (outputs, rows) each."""

    residuals: np.ndarray
    roots: np.ndarray
    sharp: np.ndarray | None = None  # the roots of the sharper form
    shares: np.ndarray | None = None  # softmax's probabilities


def has_terms(loss: LinearLoss) -> bool:
    """Whether the terms of this loss are known here, and bounds on its third derivative."""
    return type(loss) in (Logistic, Softmax, Squared)


@dataclass(frozen=True)
class RowTerms:
    """The terms of rows at a point, and what rounding does to them.

    Args:
        features: Of a row, the intercept included.
        reach: A public bound on the point's norm.
    """

    loss: LinearLoss
    features: int
    reach: float

    @property
    def dimension(self) -> int:
        """How many numbers a point has."""
        return self.loss.outputs * self.features

    @property
    def gradient_unit(self) -> float:
        return _power_of_two_above(self.loss.gradient_bound(self.reach)) * 2.0**-GRADIENT_BITS

    @property
    def root_unit(self) -> float:
        largest = self.loss.row_norm / (2 if isinstance(self.loss, Logistic) else 1)
        return _power_of_two_above(largest) * 2.0**-ROOT_BITS

    def sum(self, point: Tensor, rows: Tensor | SparseRows, targets: Tensor) -> Terms:
        """The terms of up to 512 rows, summed.

        Raises:
            ValueError: a row is beyond the bound on its norm, so sums might not be exact.
        """
        assert len(rows) <= ROWS
        columns, dense = _columns(rows)  # (features, rows)
        if not np.abs(dense).max(initial=0.0) <= self.loss.row_norm:  # NaN is refused too
            raise ValueError("a stored row is beyond the bound on its norm")
        weights = _weights(self.loss, _scores(point.numpy(), dense), targets.cpu())
        return Terms(
            self._gradient(weights.residuals, columns),
            self._hessian(weights, columns),
            None if weights.sharp is None else _whole(self._roots(weights.sharp[0], columns)),
        )

    def _gradient(self, residuals: np.ndarray, columns: Any) -> Tensor:
        scale = 1 / self.gradient_unit
        sums = [np.asarray(_weighted(each, columns, scale).sum(1)) for each in residuals]
        return torch.from_numpy(np.stack(sums)).long()

    def _hessian(self, weights: _Weights, columns: Any) -> Tensor | NonZeros:
        if weights.shares is None:
            return _whole(self._roots(weights.roots[0], columns))
        features = columns.shape[0]
        together = [self._roots(each, columns) for each in weights.shares]
        own = (self._roots(each, columns) for each in weights.roots)
        if sparse.issparse(columns):
            stacked: Any = sparse.vstack(together, format="csr")
            blocks: Any = sparse.block_diag([each @ each.T for each in own], format="csr")
            return NonZeros.of(blocks - stacked @ stacked.T)
        total = -_product(np.concatenate(together))
        for i, each in enumerate(own):
            block = slice(i * features, (i + 1) * features)
            total[block, block] += _product(each)
        return total

    def _roots(self, weights: np.ndarray, columns: Any) -> Any:
        """The weighted rows as whole numbers: (features, rows)."""
        return _weighted(weights, columns, 1 / self.root_unit)

    @property
    def score_error(self) -> float:
        """A bound on the error of a row's scores, in Euclidean norm."""
        depth = math.ceil(math.log2(max(2, self.features))) + 4 + math.sqrt(self.loss.outputs)
        return 1.01 * UNIT * depth * self.loss.row_norm * self.reach

    @property
    def gradient_error(self) -> float:
        """A bound on the error of one row's share in the gradient's sum."""
        loss, error = self.loss, self.score_error
        largest = loss.gradient_bound(self.reach)
        residual = error + self._relative_error + 4 * UNIT * largest / loss.row_norm
        half_steps = 0.5 * self.gradient_unit * math.sqrt(self.dimension)
        return (loss.row_norm * residual + 4 * UNIT * largest + half_steps) * (1 + 1e-9)

    @property
    def root_error(self) -> float:
        """delta, a bound on the error of each row's root, in Euclidean norm.

        sqrt(w) moves by at most a quarter of what the score does, sqrt(w (1 - 4 w)) and softmax's
        sqrt(p) by at most a half.
        """
        return self._error_of_roots(self.score_error / 2, self.features)

    @property
    def shares_error(self) -> float:
        """The same of softmax's p (x) x; p moves by at most as much as the scores do."""
        return self._error_of_roots(self.score_error, self.dimension)

    def _error_of_roots(self, moved: float, numbers: int) -> float:
        weight = 0.0 if isinstance(self.loss, Squared) else moved + self._relative_error
        half_steps = 0.5 * self.root_unit * math.sqrt(numbers)
        return (self.loss.row_norm * (weight + 4 * UNIT) + half_steps) * (1 + 1e-9) + TINY

    @property
    def _relative_error(self) -> float:
        """Of weights of at most 1 that are exact but for exp, its sum, divisions and roots."""
        return 2 * EXP_ERROR + (2 * self.loss.outputs + 32) * UNIT


def _scores(point: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """The scores: (outputs, rows), each added up for itself by halves, in one order."""
    scores = np.empty((len(point), columns.shape[1]))
    for i, weights in enumerate(point):
        products = weights[:, None] * columns
        left = len(products)
        while left > 1:
            half = left // 2
            products[:half] += products[left - half : left]
            left -= half
        scores[i] = products[0]
    return scores


def _weights(loss: LinearLoss, scores: np.ndarray, targets: Tensor) -> _Weights:
    if isinstance(loss, Logistic):
        return _logistic(scores, (targets > 0).numpy())
    if isinstance(loss, Softmax):
        return _softmax(scores, targets.numpy())
    assert isinstance(loss, Squared)
    return _Weights(scores - loss.clipped(targets).numpy(), np.ones_like(scores))


def _logistic(scores: np.ndarray, positive: np.ndarray) -> _Weights:
    """w = e/(1 + e)^2 and 1 - 4 w = ((1 - e)/(1 + e))^2, e = exp(-|score|)."""
    small = exp(-np.abs(scores))
    total = 1 + small
    probability = np.where(scores >= 0, 1.0, small) / total
    roots = np.sqrt(small) / total
    return _Weights(probability - positive, roots, sharp=roots * ((1 - small) / total))


def _softmax(scores: np.ndarray, labels: np.ndarray) -> _Weights:
    shares = exp(scores - scores.max(0))
    total = shares[0].copy()
    for each in shares[1:]:  # in one order
        total += each
    shares = shares / total
    residuals = shares.copy()
    residuals[labels, np.arange(len(labels))] -= 1
    return _Weights(residuals, np.sqrt(shares), shares=shares)


def _columns(rows: Tensor | SparseRows) -> tuple[Any, np.ndarray]:
    """Rows as columns, sparse if they are, and with their zeros: (features, rows) float64."""
    if isinstance(rows, SparseRows):
        kept: Any = rows.double().matrix.T
        return kept, np.ascontiguousarray(kept.toarray())
    dense = np.ascontiguousarray(rows.double().cpu().numpy().T)
    return dense, dense


def _weighted(weights: np.ndarray, columns: Any, scale: float) -> Any:
    """Each row times its weight, in whole units."""
    if not sparse.issparse(columns):
        return np.rint(weights * columns * scale)
    each = np.repeat(weights, np.diff(columns.indptr))
    whole = np.rint(each * columns.data * scale)
    return type(columns)((whole, columns.indices, columns.indptr), shape=columns.shape)


def _whole(roots: Any) -> Tensor | NonZeros:
    """roots roots', exact because roots are whole."""
    return NonZeros.of(roots @ roots.T) if sparse.issparse(roots) else _product(roots)


def _product(roots: np.ndarray) -> Tensor:
    return torch.from_numpy(roots @ roots.T).long()


def _power_of_two_above(value: float) -> float:
    return 2.0 ** math.ceil(math.log2(value))
