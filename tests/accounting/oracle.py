"""Fifty-digit answers from the same doubles, by the slow and plain route.

Every float is taken exactly (`mpf(float)`); nothing here shares code, or a fast form, with
`expunge.accounting`. Hulls are gift-wrapped on increments from the first step on (the library
pools violators from the last step back); conversions are evaluated as THEORY 2.1 writes them,
with enough digits to survive the cancellation.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from mpmath import mp, mpf

# 50 digits are promised; the rest is for cancellation. A difference of two nearly equal tails
# at mu = 1e-8 and |a| <= 40 loses fewer than 20 digits.
mp.dps = 75

INFINITY = mpf("inf")


class Steps(NamedTuple):
    """`count` steps of modulus c z + s and noise std nu, all exact."""

    count: int
    c: mpf
    s: mpf
    nu: mpf


@dataclass(frozen=True)
class Loss:
    """Constants in the paper's letters, as doubles."""

    m: float
    L: float
    M: float = 1.0


def steps(
    loss: Loss,
    count: int,
    eta: float,
    sigma: float,
    samples: int,
    forgotten: int,
    fixed_count: int | None = None,
) -> Steps:
    """One phase of a (strongly) convex loss: THEORY 2.3 and 2.6."""
    eta_, m, L, M = mpf(eta), mpf(loss.m), mpf(loss.L), mpf(loss.M)
    c = max(abs(1 - eta_ * m), abs(1 - eta_ * L))
    share = M * eta_ * forgotten
    s = 2 * share / samples if fixed_count is None else share / fixed_count
    return Steps(count, c, s, mp.sqrt(2 * eta_) * mpf(sigma))


# ---- the shift bound ------------------------------------------------------------------------


def _geometric(ratio: mpf, terms: int) -> mpf:
    return mpf(terms) if ratio == 1 else (1 - ratio**terms) / (1 - ratio)


def shift_mu(phases: Sequence[Steps], initial: mpf | float = 0) -> mpf:
    """Greatest convex minorant; exact for c <= 1 or s = 0, else unroll to single steps first.

    With c <= 1 the points inside a phase lie above the chord between its ends, so only
    the ends can be corners.
    """
    increments = [(mpf(initial), mpf(0))]
    for p in phases:
        increments = [(ds * p.c**p.count, dv * p.c ** (2 * p.count)) for ds, dv in increments]
        increments.append((p.s * _geometric(p.c, p.count), p.nu**2 * _geometric(p.c**2, p.count)))
    return mp.sqrt(_wrapped(increments))


def _wrapped(increments: Sequence[tuple[mpf, mpf]]) -> mpf:
    """Gift wrapping: from each corner go to the point of least slope, the furthest on ties."""
    total, corner, count = mpf(0), 0, len(increments)
    while corner < count:
        ds = dv = mpf(0)
        best: tuple[mpf, int, mpf, mpf] | None = None
        for k in range(corner, count):
            ds, dv = ds + increments[k][0], dv + increments[k][1]
            if dv > 0 and (best is None or ds * best[3] <= best[2] * dv):
                best = (ds / dv, k, ds, dv)
        if best is None:  # no noise any more
            return INFINITY if ds > 0 else total
        total += best[2] ** 2 / best[3]
        corner = best[1] + 1
    return total


def unrolled(phases: Sequence[Steps]) -> list[Steps]:
    return [p._replace(count=1) for p in phases for _ in range(p.count)]


def capped_shift_mu(phases: Sequence[Steps], diameter: mpf | float, initial: mpf | float = 0):
    """Least over all starting points where the cap binds (THEORY 2.2); for few steps."""
    single, diameter = unrolled(phases), mpf(diameter)
    best, distance = shift_mu(single, initial), mpf(initial)
    for tau, p in enumerate(single, start=1):
        distance = min(diameter, p.c * distance + p.s)
        if distance == diameter:
            best = min(best, shift_mu(single[tau:], diameter))
    return best


# ---- the Rényi bounds: D_alpha <= alpha * slope * exp(-decay/alpha) --------------------------


class RenyiBound(NamedTuple):
    slope: mpf
    decay: mpf = mpf(0)

    def at(self, order: mpf | float) -> mpf:
        order = mpf(order)
        return order * self.slope * mp.exp(-self.decay / order)

    def derivative(self, order: mpf) -> mpf:
        return self.slope * mp.exp(-self.decay / order) * (1 + self.decay / order)


def log_sobolev(phases: Sequence[Steps], constant: mpf) -> RenyiBound:
    """THEORY 2.12, step by step."""
    D, C = mpf(0), constant
    for p in phases:
        c2, v = p.c**2, p.nu**2
        for _ in range(p.count):
            if p.s > 0:
                D = (D + p.s**2 / v) / (1 + (v / 2) / (c2 * C + v / 2))
            elif D:
                D = D / (1 + v / (c2 * C)) if c2 * C else mpf(0)
            C = c2 * C + v
    return RenyiBound(D)


def log_sobolev_paper(
    loss: Loss, *, learn: int, unlearn: int, eta: float, sigma: float, share: mpf
) -> RenyiBound:
    """THEORY 2.12; `share` is 2 rho under the mean normaliser, n_f/nbar under the fixed one."""
    m, M, eta_, sigma_ = mpf(loss.m), mpf(loss.M), mpf(eta), mpf(sigma)
    learned = M**2 * share**2 / (m * sigma_**2) * -mp.expm1(-m * eta_ * learn)
    return RenyiBound(learned, unlearn * eta_ * m)


def iteration(before: Sequence[Steps], after: Sequence[Steps], diameter=INFINITY) -> RenyiBound:
    """THEORY 2.9: alpha w^2 Z^2 / sum_j w_j^2 nu_j^2 over the trailing steps."""
    Z = mpf(0)
    for p in before:
        for _ in range(p.count if diameter < INFINITY else 1):
            n = 1 if diameter < INFINITY else p.count
            Z = min(diameter, p.c**n * Z + p.s * _geometric(p.c, n))
    w, V = mpf(1), mpf(0)
    for p in reversed(after):
        V += w**2 * p.nu**2 * _geometric(p.c**2, p.count)
        w *= p.c**p.count
    return RenyiBound(w**2 * Z**2 / V)


# ---- conversions ------------------------------------------------------------------------------


def gdp_delta(mu: mpf | float, epsilon: mpf | float) -> mpf:
    """Phi(-eps/mu + mu/2) - e^eps Phi(-eps/mu - mu/2)."""
    mu, epsilon = mpf(mu), mpf(epsilon)
    return _upper(epsilon / mu - mu / 2) - mp.exp(epsilon) * _upper(epsilon / mu + mu / 2)


def _upper(x: mpf) -> mpf:
    return mp.erfc(x / mp.sqrt(2)) / 2


def gdp_epsilon_within(
    mu: mpf, delta: float, reported: float, relative: mpf, absolute: mpf
) -> tuple[bool, bool]:
    """(not below the exact epsilon, not above it by more than the tolerance).

    delta(eps) falls, so two evaluations decide what a root would have to be found for.
    """
    if mu == 0:
        return reported >= 0, reported <= absolute
    not_below = gdp_delta(mu, reported) <= mpf(delta)
    lower = mpf(reported) - max(mpf(reported) * relative, absolute)
    return not_below, lower <= 0 or gdp_delta(mu, lower) >= mpf(delta)


def renyi_epsilon(bound: RenyiBound, delta: float) -> mpf:
    """min_{alpha>1} r(alpha) + log((alpha-1)/alpha) - (log delta + log alpha)/(alpha-1).

    The derivative times (alpha-1)^2 is (alpha-1)^2 r'(alpha) + log alpha + log delta, which
    rises from log delta < 0: one root, found by bisection in log(alpha-1).
    """
    log_delta = mp.log(mpf(delta))
    if bound.slope == 0:
        return mpf(0)

    def slope(x: mpf) -> mpf:
        a = 1 + mp.exp(x)
        return mp.exp(2 * x) * bound.derivative(a) + mp.log(a) + log_delta

    low, high = mpf(-120), -log_delta + 1
    found = _root(slope, low, high)
    excess = mp.exp(found)
    a = 1 + excess
    return max(mpf(0), bound.at(a) + mp.log(excess / a) - (log_delta + mp.log(a)) / excess)


def _root(f: Callable[[mpf], mpf], low: mpf, high: mpf) -> mpf:
    """Bisection, then secants: the minimum is flat, so 1e-25 here is 1e-50 in the value."""
    if f(low) > 0:
        return low
    while high - low > mpf("1e-6"):
        middle = (low + high) / 2
        low, high = (low, middle) if f(middle) > 0 else (middle, high)
    fl, fh = f(low), f(high)
    for _ in range(6):
        if fh == fl:
            break
        middle = high - fh * (high - low) / (fh - fl)
        low, fl, high, fh = high, fh, middle, f(middle)
    return high
