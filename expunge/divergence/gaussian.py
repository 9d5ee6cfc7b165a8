"""Rényi divergences between Gaussians, in closed form, mean and covariance parts apart.

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

__all__ = ["Parts", "renyi_gaussians"]


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


def _log_det(matrix: np.ndarray) -> float:
    sign, value = np.linalg.slogdet(matrix)
    if sign <= 0:
        raise ValueError("covariance: not positive definite")
    return float(value)
