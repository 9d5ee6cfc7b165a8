"""How far a Newton step from an anchor can be from the minimiser: numbers in, a distance out.

    phi(s) = (e^s - 1)/s - 1,   kappa(x) = e^-s (1 - e^(-Q x))/(Q x)

    any x with  [rho + sqrt(rho^2 + l2 C^2/kappa(x))]/(2 l2) < x  bounds ||theta - theta*||

rho bounds what the step leaves of the quadratic model's gradient, C ||v||_A what the data's
curvature, which changes along the step, adds in any direction v, s the change of any row's score,
and Q how fast a row's curvature can change with the distance (THEORY 6). Everything is rounded
outward.
"""

import math

__all__ = ["distance_bound", "excess_curvature", "sharp_excess"]

OUTWARD = 1 + 1e-9
SERIES = 24  # terms, for scores that change by at most 1
MOST = 700.0  # beyond it exp overflows
HALVINGS = 60


def excess_curvature(moved: float) -> float:
    """phi(s), rounded up: what a row's curvature gains on average while its score moves by s."""
    return _series(moved, 1)


def sharp_excess(moved: float) -> float:
    """phi(s) - s/2, rounded up."""
    return _series(moved, 2)


def _series(moved: float, first: int) -> float:
    """sum over k >= first of s^k/(k + 1)!, rounded up."""
    if not moved <= MOST:
        return math.inf
    if moved > 1:
        return (math.expm1(moved) / moved - 1 - (moved / 2 if first == 2 else 0)) * OUTWARD
    terms = (moved**k / math.factorial(k + 1) for k in range(first, SERIES))
    return sum(terms) * OUTWARD


def distance_bound(rho: float, bent: float, *, moved: float, steepness: float, l2: float) -> float:
    """The least x that bounds the distance, from above; infinite where nothing can be said.

    Args:
        rho: A bound on the norm of the model's gradient after the step, rounding included.
        bent: C.
        moved: s, a bound on the change of any row's score.
        steepness: Q.
    """
    given = (rho, bent, moved, steepness, l2)
    if not all(math.isfinite(each) and each >= 0 for each in given) or not l2 > 0 or moved > MOST:
        return math.inf

    def holds(x: float) -> bool:
        return _solution(rho, bent, _least_curvature(x, moved, steepness), l2) < x

    above = max(_solution(rho, bent, math.exp(-moved), l2), 1e-300)
    while not holds(above):
        above *= 2
        if not above < 1e300:
            return math.inf
    below = above / 2
    for _ in range(HALVINGS):
        middle = (below + above) / 2
        below, above = (below, middle) if holds(middle) else (middle, above)
    return above


def _solution(rho: float, bent: float, least: float, l2: float) -> float:
    """The larger root of l2 x^2 = rho x + C^2/(4 kappa), rounded up."""
    if not least > 0:
        return math.inf
    return (rho + math.hypot(rho, bent * math.sqrt(l2 / least))) / (2 * l2) * OUTWARD


def _least_curvature(x: float, moved: float, steepness: float) -> float:
    """kappa(x), rounded down."""
    way = steepness * x
    share = 1.0 if way == 0 else -math.expm1(-way) / way
    return math.exp(-moved) * share / OUTWARD
