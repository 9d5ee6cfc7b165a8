"""U-LiRA: is this model unlearned or retrained, judged by its confidence on what was forgotten.

    score = log( p / (1 - p) ),  p the model's confidence in the right label of a forgotten record
    llr   = sum over records  log N(score; unlearned's fit) - log N(score; retrained's fit)
    confidence = 1 / (1 + e^-llr)            posterior of "unlearned" under a uniform prior

Fits come from `shadow` models of each law, confidences from the others. Paper:
[subseq:ulira_details], after Hayes et al. 2024. A forget set of one is one column of scores (E38);
a larger one may also be taken as one score, its mean, as records' scores are not independent.

`trend` tells whether confidences fall with K, from repetitions of the whole attack: test models
share their shadows' fits, so their spread alone would understate the error. `measure_leak` asks
what retained records show of their membership: AUC of their scores against those of records that
no model saw, unlearned models against retrained ones, beside a second retrained sample as the
null.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from scipy.stats import norm, rankdata
from scipy.stats import t as student
from sklearn.metrics import roc_auc_score
from torch import Tensor

from expunge.audit.lower_bound import EpsilonLowerBound, Method, epsilon_lower_bound
from expunge.audit.verdict import Verdict, judge
from expunge.core.checks import array, count, open_share

__all__ = ["Leak", "Trend", "Ulira", "logit_scores", "measure_leak", "trend", "ulira"]


@dataclass(frozen=True)
class Ulira:
    """How well unlearned models are told from retrained ones.

    Args:
        confidences: That each test model is an unlearned one: of unlearned models, of retrained.
        accuracy: Of calling a model unlearned when its confidence is above one half.
        power_at: Unlearned models recognised at these rates of false alarms.
        epsilon_lower_bound: From the test models' log-likelihood ratios.
    """

    confidences: tuple[np.ndarray, np.ndarray]
    accuracy: float
    auc: float
    power_at: dict[float, float]
    epsilon_lower_bound: EpsilonLowerBound

    def judge(self, epsilon: float) -> Verdict:
        """What the attack says of a certificate of this epsilon, at its delta."""
        return judge(self.epsilon_lower_bound, epsilon=epsilon)

    @property
    def in_the_right_law(self) -> np.ndarray:
        """What the paper draws: confidence in a test model's own law, unlearned ones first."""
        return np.concatenate([self.confidences[0], 1 - self.confidences[1]])


@dataclass(frozen=True)
class Trend:
    """Whether the attack's confidence falls as unlearning takes more steps.

    Args:
        slope: Change of the mean confidence in the right law for each further step.
        interval: Of the slope, over repetitions of the whole attack.
        excess: Mean confidence above 1/2 at the first K, with its interval: what there is to fall.
    """

    slope: float
    interval: tuple[float, float]
    excess: float
    excess_interval: tuple[float, float]
    level: float

    @property
    def verdict(self) -> str:
        if self.excess_interval[0] <= 0:
            return "cannot conclude: at the smallest K the attack is not better than guessing"
        if self.interval[1] < 0:
            return "falls"
        return (
            "rises" if self.interval[0] > 0 else "cannot conclude: the slope may have either sign"
        )


@dataclass(frozen=True)
class Leak:
    """How much more unlearned models show of who was retained than retrained models do.

    Args:
        unlearned, retrained: Mean over models of the AUC of retained records against unseen ones.
        difference: unlearned - retrained, with its interval.
        null: The same between two samples of retrained models.
    """

    unlearned: float
    retrained: float
    difference: float
    interval: tuple[float, float]
    null: float
    null_interval: tuple[float, float]
    level: float

    @property
    def verdict(self) -> str:
        if not self.null_interval[0] <= 0 <= self.null_interval[1]:
            return "cannot conclude: two samples of one law differ"
        if self.interval[0] > 0:
            return "retained records leak more than under retraining"
        return f"no more than under retraining, up to {max(self.interval[1], 0):.2g} in AUC"


def logit_scores(logits: Tensor, targets: Tensor) -> Tensor:
    """log(p/(1-p)) of the right label: (models, records) from (models, records, classes).

    Binary heads have one logit: its sign follows the target. Computed without p, so that models
    that are sure of themselves do not give infinities.
    """
    if logits.shape[-1] == 1:
        return torch.where(targets > 0, logits[..., 0], -logits[..., 0])
    index = targets.long().expand(logits.shape[:-1])[..., None]
    right = logits.gather(-1, index)[..., 0]
    others = logits.scatter(-1, index, -torch.inf).logsumexp(-1)
    return right - others


def ulira(
    *,
    unlearned: np.ndarray,
    retrained: np.ndarray,
    shadow: int = 50,
    delta: float = 1e-5,
    level: float = 0.95,
    method: Method = "gaussian",
) -> Ulira:
    """Tell unlearned test models from retrained ones, and report how well that works.

    Args:
        unlearned, retrained: Scores (models,) or (models, records), in random order.
        method: As in `epsilon_lower_bound`.

    Raises:
        ValueError: fewer than `shadow` + 16 models of a law, or scores that are not finite.
    """
    count(2)("shadow", shadow)
    given = {"unlearned": unlearned, "retrained": retrained}
    scores = [np.atleast_1d(array(name, values)) for name, values in given.items()]
    scores = [values.reshape(len(values), -1) for values in scores]
    for name, values in zip(("unlearned", "retrained"), scores, strict=True):
        if len(values) < shadow + 16:
            raise ValueError(f"{name}: {len(values)} models; {shadow} shadows need 16 test models")
        if not np.isfinite(values).all():
            raise ValueError(f"{name}: scores are not all finite")
    if scores[0].shape[1] != scores[1].shape[1]:
        raise ValueError("unlearned and retrained: scores of different records")
    fits = [(v[:shadow].mean(0), v[:shadow].std(0, ddof=1) + 1e-12) for v in scores]
    ratios = [
        (norm.logpdf(v[shadow:], *fits[0]) - norm.logpdf(v[shadow:], *fits[1])).sum(1)
        for v in scores
    ]
    confidences = tuple(_sigmoid(values) for values in ratios)
    truth = np.repeat([1, 0], [len(values) for values in ratios])
    return Ulira(
        confidences=(confidences[0], confidences[1]),
        accuracy=float((np.concatenate([confidences[0] > 0.5, confidences[1] <= 0.5])).mean()),
        auc=float(roc_auc_score(truth, np.concatenate(ratios))),
        power_at={rate: _power_at(ratios[0], ratios[1], rate) for rate in (0.01, 0.05, 0.1)},
        epsilon_lower_bound=epsilon_lower_bound(
            of=ratios[0], against=ratios[1], delta=delta, level=level, method=method
        ),
    )


def trend(repetitions: Sequence[dict[int, Ulira]], *, level: float = 0.95) -> Trend:
    """Whether the mean confidence in the right law falls with K.

    Args:
        repetitions: Attacks by K, each repetition with its own shadow and test models.

    Raises:
        ValueError: fewer than four repetitions, fewer than two K, or not the same K in each.
    """
    open_share("level", level)
    _check_repetitions(repetitions)
    steps = sorted(repetitions[0]) if repetitions else []
    if len(repetitions) < 4 or any(sorted(attacks) != steps for attacks in repetitions):
        raise ValueError("repetitions: at least four, with the same K in each")
    if len(steps) < 2:
        raise ValueError("repetitions: at least two K")
    means = np.array([[by_k[k].in_the_right_law.mean() for k in steps] for by_k in repetitions])
    centred = np.array(steps) - np.mean(steps)
    slope, interval = _mean(means @ centred / float(centred @ centred), level)
    return Trend(slope, interval, *_mean(means[:, 0] - 0.5, level), level)


def measure_leak(
    *,
    unlearned: tuple[np.ndarray, np.ndarray],
    retrained: tuple[np.ndarray, np.ndarray],
    retrained_again: tuple[np.ndarray, np.ndarray],
    level: float = 0.95,
) -> Leak:
    """Measure what retained records show of their membership in unlearned and retrained models.

    Args:
        unlearned, retrained, retrained_again: Each a pair of scores (models, records): of retained
            records, of unseen ones.

    Raises:
        ValueError: not such pairs, fewer than two models, or scores that are not finite.
    """
    open_share("level", level)
    named = {"unlearned": unlearned, "retrained": retrained, "retrained_again": retrained_again}
    unlearned, retrained, retrained_again = (_pair(n, given) for n, given in named.items())
    aucs = [_aucs(*scores) for scores in (unlearned, retrained, retrained_again)]
    difference, interval = _difference(aucs[0], aucs[1], level)
    null, null_interval = _difference(aucs[2], aucs[1], level)
    means = float(aucs[0].mean()), float(aucs[1].mean())
    return Leak(*means, difference, interval, null, null_interval, level)


def _check_repetitions(repetitions: Sequence[dict[int, Ulira]]) -> None:
    if not isinstance(repetitions, list | tuple) or not all(
        isinstance(attacks, dict) and all(isinstance(attack, Ulira) for attack in attacks.values())
        for attacks in repetitions
    ):
        raise ValueError("repetitions: must be a list of attacks by K")


def _pair(name: str, given: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    if not isinstance(given, list | tuple) or len(given) != 2:
        raise ValueError(f"{name}: must be a pair of scores")
    seen, unseen = (array(name, part) for part in given)
    if not seen.ndim == unseen.ndim == 2 or len(seen) != len(unseen) or len(seen) < 2:
        raise ValueError(f"{name}: must be scores (models, records) of at least two models")
    if not seen.size or not unseen.size:
        raise ValueError(f"{name}: no records")
    if not (np.isfinite(seen).all() and np.isfinite(unseen).all()):
        raise ValueError(f"{name}: scores are not all finite")
    return seen, unseen


def _aucs(seen: np.ndarray, unseen: np.ndarray) -> np.ndarray:
    """How often, in each model, a retained record scores above an unseen one."""
    ranks = rankdata(np.concatenate([seen, unseen], axis=1), axis=1)
    count, others = seen.shape[1], unseen.shape[1]
    return (ranks[:, :count].sum(1) - count * (count + 1) / 2) / (count * others)


def _mean(values: np.ndarray, level: float) -> tuple[float, tuple[float, float]]:
    mean, error = float(values.mean()), float(values.std(ddof=1)) / len(values) ** 0.5
    reach = float(student.ppf((1 + level) / 2, len(values) - 1)) * error
    return mean, (mean - reach, mean + reach)


def _difference(
    first: np.ndarray, second: np.ndarray, level: float
) -> tuple[float, tuple[float, float]]:
    """The difference of two independent samples' means, with its interval."""
    error = (first.var(ddof=1) / len(first) + second.var(ddof=1) / len(second)) ** 0.5
    reach = float(student.ppf((1 + level) / 2, min(len(first), len(second)) - 1) * error)
    value = float(first.mean() - second.mean())
    return value, (value - reach, value + reach)


def _power_at(unlearned: np.ndarray, retrained: np.ndarray, alarms: float) -> float:
    threshold = np.quantile(retrained, 1 - alarms, method="higher")
    return float((unlearned > threshold).mean())


def _sigmoid(values: np.ndarray) -> np.ndarray:
    return np.exp(-np.logaddexp(0, -values))
