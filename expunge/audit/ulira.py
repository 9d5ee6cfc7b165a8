"""U-LiRA: is this model unlearned or retrained, judged by its confidence on what was forgotten.

    score = log( p / (1 - p) ),  p the model's confidence in the right label of a forgotten record
    llr   = sum over records  log N(score; unlearned's fit) - log N(score; retrained's fit)
    confidence = 1 / (1 + e^-llr)            posterior of "unlearned" under a uniform prior

Fits come from `shadow` models of each law, confidences from the others. Paper:
[subseq:ulira_details], after Hayes et al. 2024. A forget set of one is one column of scores (E38).
"""

from dataclasses import dataclass

import numpy as np
import torch
from scipy.stats import norm
from sklearn.metrics import roc_auc_score
from torch import Tensor

from expunge.audit.lower_bound import EpsilonLowerBound, epsilon_lower_bound

__all__ = ["Ulira", "logit_scores", "ulira"]


@dataclass(frozen=True)
class Ulira:
    """Args:
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

    @property
    def quartiles(self) -> tuple[float, float, float]:
        """Of the confidences of unlearned models, as the paper draws them."""
        low, middle, high = np.quantile(self.confidences[0], (0.25, 0.5, 0.75))
        return float(low), float(middle), float(high)


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
) -> Ulira:
    """Args: unlearned, retrained: Scores (models,) or (models, records), in random order.

    Raises:
        ValueError: fewer than `shadow` + 16 models of a law, or scores that are not finite.
    """
    scores = [np.asarray(values, dtype=np.float64) for values in (unlearned, retrained)]
    scores = [values.reshape(len(values), -1) for values in scores]
    for name, values in zip(("unlearned", "retrained"), scores, strict=True):
        if len(values) < shadow + 16 or shadow < 2:
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
            of=ratios[0], against=ratios[1], delta=delta, level=level
        ),
    )


def _power_at(unlearned: np.ndarray, retrained: np.ndarray, alarms: float) -> float:
    threshold = np.quantile(retrained, 1 - alarms, method="higher")
    return float((unlearned > threshold).mean())


def _sigmoid(values: np.ndarray) -> np.ndarray:
    return np.exp(-np.logaddexp(0, -values))
