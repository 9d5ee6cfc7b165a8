"""Rényi divergence on a line from nearest neighbours: no model of the laws, a small bias.

    D_a ~ 1/(a-1) log( mean_i ((N-1) rho_i / (M nu_i))^(1-a) ) + log B /(a-1)
    B = Gamma(k)^2 / (Gamma(k-a+1) Gamma(k+a-1)),   k > |a - 1|

rho_i: from a point of `of` to its k-th neighbour there, nu_i: to the k-th of `against`
(Póczos and Schneider 2011, AISTATS, eq. 4). Ties are not broken: give continuous samples.
"""

import math

import numpy as np
from scipy.spatial import KDTree
from scipy.special import gammaln

__all__ = ["nearest_neighbours"]


def nearest_neighbours(
    of: np.ndarray, against: np.ndarray, *, order: float, neighbours: int = 20
) -> float:
    """Estimate D_a of two samples on a line from distances to their nearest neighbours.

    Args:
        of, against: (N,) and (M,) numbers.

    Raises:
        ValueError: an order or a count of neighbours that makes no sense.
    """
    if order <= 0 or order == 1 or neighbours <= abs(order - 1):
        raise ValueError(f"order: {order} needs more than {abs(order - 1):g} neighbours, and != 1")
    first, second = np.reshape(of, (-1, 1)), np.reshape(against, (-1, 1))
    inside = KDTree(first).query(first, neighbours + 1)[0][:, -1]  # the point itself is nearest
    across = KDTree(second).query(first, neighbours)[0][:, -1]
    ratios = np.log(len(first) - 1) + np.log(inside) - np.log(len(second)) - np.log(across)
    powers = (1 - order) * ratios
    largest = float(powers.max())
    mean = largest + math.log(float(np.exp(powers - largest).mean()))
    constant = 2 * gammaln(neighbours) - gammaln(neighbours - order + 1)
    constant -= gammaln(neighbours + order - 1)
    return (mean + float(constant)) / (order - 1)
