"""What an attack proves: a lower bound on epsilon, at a stated confidence.

    epsilon >= log( (power - delta) / alarm )                     from any test
    mu      >= Phi^-1(power) - Phi^-1(alarm)                      against a Gaussian claim

Power and alarm are Clopper-Pearson limits at (1 + level)/2 each, on scores that had no part in
choosing the test: its threshold and direction come from the first half, the counts from the second.
Both laws take both roles, because a claim holds in both directions.

A bound is shown at its own level, 95 % by default. What is decided on it (a contradiction, a
control that alarms) is decided at DECISIVE, from the same counts: `audit.verdict`.
"""

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from scipy.stats import binom, norm

from expunge.accounting.conversions import epsilon_from_gdp
from expunge.audit.rates import at_least, at_most
from expunge.core.checks import array, choice, count, not_negative, open_share

__all__ = [
    "DECISIVE",
    "EpsilonLowerBound",
    "ceiling",
    "epsilon_lower_bound",
    "least_models",
    "models_needed",
]

Method = Literal["any test", "gaussian"]
METHOD = choice("any test", "gaussian")
THRESHOLDS = 200  # tried on the first half
DECISIVE = 1 - 1e-6  # confidence at which a claim is refuted: a true one is, once in a million


@dataclass(frozen=True)
class EpsilonLowerBound:
    """What the counts of one test prove, at one confidence.

    Args:
        value: epsilon is above it at confidence `level`; 0 where nothing was shown.
        mu: The same for a Gaussian claim; 0 where nothing was shown.
        power, alarm: Counted on the second half.
        ceiling: What a perfect attack on as many models could have shown.
        hits: Alarms among models that should cause one, and among the others.
        counts: Test models of the two laws, in that order.
    """

    value: float
    mu: float
    method: Method
    power: float
    alarm: float
    ceiling: float
    delta: float
    level: float
    models: int
    hits: tuple[int, int]
    counts: tuple[int, int]

    def at(self, level: float) -> "EpsilonLowerBound":
        """What the same counts prove at another confidence."""
        return _bound_of(self.hits, self.counts, delta=self.delta, level=level, method=self.method)

    @property
    def decided(self) -> "EpsilonLowerBound":
        """What they prove at the confidence at which claims are refuted."""
        return self.at(max(DECISIVE, self.level))

    def contradicts(self, epsilon: float) -> bool:
        """Whether a certificate of this epsilon, at the same delta, is refuted: at DECISIVE.

        What an audit says takes its controls into account too: `audit.verdict.judge`.
        """
        return self.decided.value > epsilon

    @property
    def tells_apart(self) -> bool:
        """Whether the two laws were shown to differ at all, at DECISIVE: mu above 0."""
        return self.decided.mu > 0


class _Test(NamedTuple):
    threshold: float
    above: bool  # alarm when the score lies above
    swapped: bool  # `against` plays the part that alarms


def epsilon_lower_bound(
    *,
    of: np.ndarray,
    against: np.ndarray,
    delta: float,
    level: float = 0.95,
    method: Method = "gaussian",
) -> EpsilonLowerBound:
    """What the best of many tests proves about two laws, from scores of their models.

    Args:
        of, against: (N,) scores of models from the two laws, in random order.

    `method="any test"` is valid against every claim; "gaussian" is sharper, and valid against
    claims that come from mu (the `shift` bound's do).

    Raises:
        ValueError: too few scores, or ones that are not finite.
    """
    scores = [array(n, values).ravel() for n, values in (("of", of), ("against", against))]
    for values in scores:
        if len(values) < 8:
            raise ValueError(f"scores: {len(values)} are too few")
        if not np.isfinite(values).all():
            raise ValueError("scores: not all are finite")
    open_share("delta", delta)
    open_share("level", level)
    METHOD("method", method)
    halves = [(values[: len(values) // 2], values[len(values) // 2 :]) for values in scores]
    chosen = _best_test([first for first, _ in halves], delta, level, method)
    hits, counts = _count_alarms(chosen, [second for _, second in halves])
    return _bound_of(hits, counts, delta=delta, level=level, method=method)


def ceiling(
    models: int, *, delta: float, level: float = 0.95, method: Method = "gaussian"
) -> float:
    """The epsilon that a perfect attack on this many test models of each law would prove."""
    count(1)("models", models)
    METHOD("method", method)
    open_share("delta", delta)
    open_share("level", level)
    return _epsilon(*_limits((models, 0), (models, models), level), delta, method)


def least_models(*, level: float = DECISIVE) -> int:
    """The smallest number of test models of each law with which anything at all can be shown.

    A perfect attack's limits are x and 1 - x with x = ((1 - level)/2)^(1/N); power must lie above.
    """
    return math.floor(math.log((1 - level) / 2) / math.log(0.5)) + 1


def models_needed(
    *, mu: float, claimed: float, level: float = 0.95, power: float = 0.8, most: int = 10**9
) -> int | None:
    """Test models of each law with which a shift of mu refutes a claim of `claimed` < mu.

    For the test at the midpoint between the laws, with this probability; None if `most` are too
    few. Twice as many are needed in all, because half of them choose the test.
    """
    not_negative("mu", mu)
    not_negative("claimed", claimed)
    count(1)("most", most)
    open_share("level", level)
    open_share("power", power)
    if not mu > claimed:
        return None
    rate = float(norm.cdf(mu / 2))

    def enough(models: int) -> bool:
        # Each rate is this good or better with probability sqrt(power).
        hits = int(binom.ppf(1 - math.sqrt(power), models, rate))
        return _mu(*_limits((hits, models - hits), (models, models), level)) > claimed

    low, high = 1, 2
    while not enough(high):
        low, high = high, 2 * high
        if high > most:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _bound_of(
    hits: tuple[int, int], counts: tuple[int, int], *, delta: float, level: float, method: Method
) -> EpsilonLowerBound:
    power, alarm = _limits(hits, counts, level)
    smallest = min(counts)
    return EpsilonLowerBound(
        value=_epsilon(power, alarm, delta, method),
        mu=_mu(power, alarm),
        method=method,
        power=hits[0] / counts[0],
        alarm=hits[1] / counts[1],
        ceiling=ceiling(smallest, delta=delta, level=level, method=method),
        delta=delta,
        level=level,
        models=smallest,
        hits=hits,
        counts=counts,
    )


def _best_test(scores: list[np.ndarray], delta: float, level: float, method: Method) -> _Test:
    """Find the best threshold among quantiles and the place midway between the means.

    Midway is the best place against a Gaussian claim. There the best of many thresholds on as many
    noisy counts must be better by two standard errors of mu, sqrt(pi / N), to be taken instead.
    """
    pooled = np.concatenate(scores)
    midway = (scores[0].mean() + scores[1].mean()) / 2
    quantiles = np.quantile(pooled, np.linspace(0, 1, THRESHOLDS + 2)[1:-1])
    thresholds = np.unique(np.append(quantiles, midway))
    handicap = np.zeros(len(thresholds))
    if method == "gaussian":
        error = math.sqrt(math.pi / min(len(values) for values in scores))
        handicap = np.where(thresholds == midway, 0.0, 2 * error)
    below = [np.searchsorted(np.sort(values), thresholds, side="right") for values in scores]
    best, chosen = -math.inf, _Test(float(thresholds[0]), True, False)
    for above in (False, True):
        alarms = [len(v) - b if above else b for v, b in zip(scores, below, strict=True)]
        for swapped in (False, True):
            hit, miss = alarms[::-1] if swapped else alarms
            counts = [len(v) for v in (scores[::-1] if swapped else scores)]
            power = at_least(hit, counts[0], (1 + level) / 2)
            alarm = at_most(miss, counts[1], (1 + level) / 2)
            if method == "gaussian":
                worth = norm.ppf(power) - norm.ppf(alarm) - handicap
            else:
                worth = np.log(np.maximum(power - delta, 1e-300) / alarm)
            place = int(np.argmax(np.nan_to_num(worth, nan=-math.inf)))
            if worth[place] > best:
                best = float(worth[place])
                chosen = _Test(float(thresholds[place]), above, swapped)
    return chosen


def _count_alarms(test: _Test, scores: list[np.ndarray]) -> tuple[tuple[int, int], tuple[int, int]]:
    """Count alarms among models that should cause one and among the others, and the models."""
    ordered = scores[::-1] if test.swapped else scores
    alarms = [
        int((values > test.threshold).sum() if test.above else (values <= test.threshold).sum())
        for values in ordered
    ]
    return (alarms[0], alarms[1]), (len(ordered[0]), len(ordered[1]))


def _limits(hits: tuple[int, int], counts: tuple[int, int], level: float) -> tuple[float, float]:
    """The least power and the most alarms; both limits hold at once with confidence `level`."""
    each = (1 + level) / 2
    return float(at_least(hits[0], counts[0], each)), float(at_most(hits[1], counts[1], each))


def _mu(power: float, alarm: float) -> float:
    """The mu that these two rates prove; 0 where they prove none."""
    if power <= alarm:
        return 0.0
    return float(norm.ppf(power) - norm.ppf(alarm))


def _epsilon(power: float, alarm: float, delta: float, method: Method) -> float:
    plain = math.log((power - delta) / alarm) if power - delta > alarm else 0.0
    if method == "any test":
        return plain
    mu = _mu(power, alarm)
    # Conversions round up by at most 1e-9; a lower bound goes the other way.
    gaussian = epsilon_from_gdp(mu, delta) * (1 - 1e-8) if mu > 0 else 0.0
    return max(plain, gaussian)
