"""U-LiRA on kept scores at every K, and intervals by drawing shadow and test models again.

    confidence in the right law of test models, fits from shadow models, as `audit.ulira` computes
    gap        mean score of unlearned models - of retrained ones, in pooled standard deviations

The gap is what the attack lives on, of all models and without fits or tests: it is seen with fewer
models. Laws that lie d apart give a perfectly fitted attack a mean confidence of about 1/2 + d^2/8.

One attack of the paper's size has too few models for repetitions of the whole attack, which
`ulira_digits` affords. Shadow and test models of each law are therefore drawn again with
replacement, each among their own, the same ones at every K: both the fits and the tests vary. An
interval is the estimate +- z standard deviations of the resamples. Against fresh attacks on known
laws these are too wide, never too narrow: 1.7 times where nothing can be told apart, 1.15 times at
1.5 standard deviations. Those of gaps and their slopes are right to 7 %. All is conditional on
the data and on the forget set.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit
from scipy.stats import beta, norm

from experiments.power import Interval
from expunge.audit.ulira import Trend

__all__ = ["Attack", "Gaps", "attacked", "confidences", "difference", "gaps"]


@dataclass(frozen=True)
class Gaps:
    """Mean gaps between the two laws' scores at every K, with their resamples.

    Args:
        steps: K, ascending.
        means: At each K: (K,).
        resampled: The same of each resample: (resamples, K).
    """

    steps: tuple[int, ...]
    means: np.ndarray
    resampled: np.ndarray
    level: float

    def at(self, place: int) -> Interval:
        return self.interval(self.means[place], self.resampled[:, place])

    @property
    def slope(self) -> Interval:
        """Change for each further epoch."""
        return self.interval(self._slope(self.means), self._slope(self.resampled))

    def _slope(self, means: np.ndarray) -> Any:
        centred = np.array(self.steps) - np.mean(self.steps)
        return means @ centred / float(centred @ centred)

    def interval(self, value: float, drawn: np.ndarray) -> Interval:
        """Return the interval around a value that its resamples give.

        Args:
            drawn: The value in each resample.
        """
        reach = norm.ppf((1 + self.level) / 2) * float(drawn.std(ddof=1))
        return Interval(float(value), float(value - reach), float(value + reach))


@dataclass(frozen=True)
class Attack(Gaps):
    """Means are of confidences.

    Args:
        values: Confidence of every test model in its own law: (K, tests of all repetitions).
    """

    values: np.ndarray

    def at(self, place: int) -> Interval:
        """Mean confidence above one half at a K; an interval ends where confidences do."""
        above = self.interval(self.means[place] - 0.5, self.resampled[:, place] - 0.5)
        return Interval(above.value, max(above.low, -0.5), min(above.high, 0.5))

    @property
    def trend(self) -> Trend:
        slope, first = self.slope, self.at(0)
        return Trend(
            slope.value, (slope.low, slope.high), first.value, (first.low, first.high), self.level
        )

    def accuracy(self, place: int) -> float:
        """Share of test models whose own law is the likelier one."""
        return float((self.values[place] > 0.5).mean())

    def confident(self, place: int) -> float:
        """Share of test models with confidence above 0.9 in their own law."""
        return float((self.values[place] > 0.9).mean())

    def confident_at_most(self, place: int) -> float:
        """Upper Clopper-Pearson limit of that share, at these fits."""
        tests = self.values.shape[1]
        found = int((self.values[place] > 0.9).sum())
        return 1.0 if found == tests else float(beta.ppf(self.level, found + 1, tests - found))


def confidences(unlearned: np.ndarray, retrained: np.ndarray, shadow: int) -> np.ndarray:
    """In the right law, unlearned tests first: (..., tests) from scores (..., models)."""
    laws = unlearned, retrained
    fits = [
        (v[..., :shadow].mean(-1, keepdims=True), v[..., :shadow].std(-1, ddof=1, keepdims=True))
        for v in laws
    ]
    ratios = [
        norm.logpdf(v[..., shadow:], fits[0][0], fits[0][1] + 1e-12)
        - norm.logpdf(v[..., shadow:], fits[1][0], fits[1][1] + 1e-12)
        for v in laws
    ]
    return np.concatenate([expit(ratios[0]), expit(-ratios[1])], axis=-1)


def attacked(
    unlearned: np.ndarray,
    retrained: np.ndarray,
    steps: tuple[int, ...],
    *,
    shadow: int,
    test: int,
    resamples: int,
    level: float,
    seed: int,
) -> Attack:
    """As many attacks as there are models for.

    Args:
        unlearned, retrained: Scores (K, models).

    Raises:
        ValueError: fewer models than one attack needs.
    """
    size = shadow + test
    repetitions = unlearned.shape[1] // size
    if repetitions == 0:
        raise ValueError(f"{unlearned.shape[1]} models of a law; an attack needs {size}")
    generator = np.random.default_rng(seed)
    values, resampled = [], []
    for start in range(0, repetitions * size, size):
        laws = [law[:, start : start + size] for law in (unlearned, retrained)]
        values.append(confidences(laws[0], laws[1], shadow))
        drawn = [_drawn(generator, law, shadow, resamples) for law in laws]
        resampled.append(confidences(drawn[0], drawn[1], shadow).mean(-1))
    found = np.concatenate(values, axis=1)
    return Attack(steps, found.mean(1), np.mean(resampled, axis=0), level, found)


def gaps(
    unlearned: np.ndarray,
    retrained: np.ndarray,
    steps: tuple[int, ...],
    *,
    resamples: int,
    level: float,
    seed: int,
) -> Gaps:
    """Compute the gap of mean scores at every K, and again on resampled models.

    Args:
        unlearned, retrained: Scores (K, models); a model is drawn again with all its K.
    """
    generator = np.random.default_rng(seed)
    drawn = [
        law[:, generator.integers(0, law.shape[1], (resamples, law.shape[1]))].transpose(1, 0, 2)
        for law in (unlearned, retrained)
    ]
    return Gaps(steps, _gap(unlearned, retrained), _gap(drawn[0], drawn[1]), level)


def _gap(unlearned: np.ndarray, retrained: np.ndarray) -> np.ndarray:
    pooled = (unlearned.var(-1, ddof=1) + retrained.var(-1, ddof=1)) / 2
    return (unlearned.mean(-1) - retrained.mean(-1)) / (pooled**0.5 + 1e-12)


def _drawn(
    generator: np.random.Generator, scores: np.ndarray, shadow: int, resamples: int
) -> np.ndarray:
    """(resamples, K, models): shadows from shadows, tests from tests."""
    models = scores.shape[1]
    places = np.concatenate(
        [
            generator.integers(0, shadow, (resamples, shadow)),
            generator.integers(shadow, models, (resamples, models - shadow)),
        ],
        axis=1,
    )
    return scores[:, places].transpose(1, 0, 2)


def difference(of: Attack, against: Attack) -> Interval:
    """Of the mean confidence over all K; the two attacks share no model."""
    value = float(of.means.mean() - against.means.mean())
    return of.interval(value, of.resampled.mean(1) - against.resampled.mean(1))
