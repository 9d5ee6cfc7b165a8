"""An oracle: Rényi divergences between Gaussians in closed form, mean and covariance parts apart.

    S = (1 - a) S_p + a S_q                        positive definite, or the divergence is infinite
    mean part        (a/2) (m_p - m_q)' S^-1 (m_p - m_q)
    covariance part  -1/(2 (a - 1)) log( det S / (det S_p^(1-a) det S_q^a) )

Their sum is D_a(P || Q); a = 1 is the Kullback-Leibler divergence (van Erven and Harremoës 2014,
arXiv:1206.2459v2, and Gil, Alajaji and Linder 2013).
"""

import math
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

__all__ = ["Parts", "renyi_gaussians", "renyi_on_a_line"]


class Parts(NamedTuple):
    mean: float
    covariance: float

    @property
    def total(self) -> float:
        return self.mean + self.covariance


def renyi_gaussians(
    mean_of: np.ndarray,
    covariance_of: np.ndarray,
    mean_against: np.ndarray,
    covariance_against: np.ndarray,
    *,
    order: float,
) -> Parts:
    """D_order(N(mean_of, ...) || N(mean_against, ...)) by parts; infinite where it is."""
    if not order > 0:
        raise ValueError(f"order: {order} must be positive")
    shift = np.asarray(mean_of, dtype=np.float64) - np.asarray(mean_against, dtype=np.float64)
    p, q = np.atleast_2d(covariance_of), np.atleast_2d(covariance_against)
    if order == 1:
        factor = cho_factor(q, lower=True)
        trace = float(np.trace(cho_solve(factor, p)))
        covariance = (trace - len(p) + _log_det(q) - _log_det(p)) / 2
        return Parts(float(shift @ cho_solve(factor, shift)) / 2, covariance)
    mixed = (1 - order) * p + order * q
    try:
        factor = cho_factor(mixed, lower=True)
    except LinAlgError:
        return Parts(math.inf, math.inf)
    log_det = 2 * float(np.log(np.diag(factor[0])).sum())
    covariance = -(log_det - (1 - order) * _log_det(p) - order * _log_det(q)) / (2 * (order - 1))
    return Parts(order / 2 * float(shift @ cho_solve(factor, shift)), covariance)


def renyi_on_a_line(
    order: float, *, mean_gap: float, of_variance: float, against_variance: float
) -> float:
    """D_alpha(N(gap, v1) || N(0, v2)) = alpha gap^2/(2 v) + log(v/(v1^(1-a) v2^a))/(2(1-a)).

    v = a v2 + (1-a) v1; infinite where v <= 0.
    """
    if not order > 0 or order == 1:
        raise ValueError("order: must be positive and not 1")
    if not (of_variance > 0 and against_variance > 0):
        raise ValueError("variance: must be positive")
    # v/(v1^(1-a) v2^a) from the ratio r = v1/v2, so that equal variances give an exact 0
    excess = of_variance / against_variance - 1
    mixed = 1 + (1 - order) * excess  # v / v2
    if mixed <= 0:
        return math.inf
    log_part = math.log1p((1 - order) * excess) - (1 - order) * math.log1p(excess)
    return order * mean_gap**2 / (2 * mixed * against_variance) + log_part / (2 * (1 - order))


def _log_det(matrix: np.ndarray) -> float:
    sign, value = np.linalg.slogdet(matrix)
    if sign <= 0:
        raise ValueError("covariance: not positive definite")
    return float(value)
