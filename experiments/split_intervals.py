"""Comparisons over splits: two points share a split's records, so each split gives one ratio."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from scipy.stats import t as student

__all__ = ["SplitInterval", "geometric", "mean_interval", "ratio", "splits_needed"]


@dataclass(frozen=True)
class SplitInterval:
    """A mean over splits and its interval at 95 %."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.3g} [{self.low:.3g}, {self.high:.3g}]"


def mean_interval(values: Sequence[float]) -> SplitInterval:
    """The mean over splits, with an interval by Student's law."""
    mean = fmean(values)
    reach = math.inf
    if len(values) > 1:
        error = stdev(values) / math.sqrt(len(values))
        reach = float(student.ppf(0.975, len(values) - 1)) * error
    return SplitInterval(mean, mean - reach, mean + reach)


def splits_needed(factor: SplitInterval, splits: int) -> int:
    """How many splits would tell this factor from 1, if it is the true one."""
    reach = math.log(factor.high / factor.low) / 2 if factor.high < math.inf else math.inf
    effect = abs(math.log(factor.value))
    return math.ceil(min(splits * (reach / max(effect, 1e-9)) ** 2, 1e9))


def geometric(values: Sequence[float]) -> SplitInterval:
    """The geometric mean over splits of what is positive; the plain mean of what is not."""
    if min(values) <= 0:
        return mean_interval(values)
    return ratio(values, [1.0] * len(values))


def ratio(of: Sequence[float], against: Sequence[float]) -> SplitInterval:
    """The geometric mean over splits of `of` over `against`, all positive."""
    logs = [math.log(a / b) for a, b in zip(of, against, strict=True)]
    logarithm = mean_interval(logs)
    return SplitInterval(math.exp(logarithm.value), math.exp(logarithm.low), _exp(logarithm.high))


def _exp(value: float) -> float:
    return math.exp(value) if value < 700 else math.inf
