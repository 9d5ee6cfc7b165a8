"""Attacks on samples of two laws: what epsilon can be proven from them at a given delta.

Statistics and thresholds are chosen on one half of the samples, rates are counted on the other,
each with a one-sided 99 % Clopper-Pearson limit. What comes out is a lower bound on epsilon.
"""

import numpy as np
from scipy.stats import beta

CONFIDENCE = 0.99
THRESHOLDS = 60


def empirical_epsilon(first: np.ndarray, second: np.ndarray, delta: float) -> float:
    """The largest epsilon that any of the attacks proves, in either direction."""
    fitted = [samples[: len(samples) // 2] for samples in (first, second)]
    held_out = [samples[len(samples) // 2 :] for samples in (first, second)]
    found = [0.0]
    for statistic in (discriminant(*fitted), likelihood_ratio(*fitted), distance(*fitted)):
        fit = [statistic(samples) for samples in fitted]
        test = [statistic(samples) for samples in held_out]
        for sign in (1, -1):  # both tails, and with them both directions
            for p, q in ((0, 1), (1, 0)):
                found.append(_one_sided(sign, fit[p], fit[q], test[p], test[q], delta))
    return max(found)


def _one_sided(sign, fit_p, fit_q, test_p, test_q, delta):
    cuts = np.quantile(sign * np.concatenate([fit_p, fit_q]), np.linspace(0.02, 0.9995, THRESHOLDS))
    proven = [_proven(sign * fit_p > cut, sign * fit_q > cut, delta) for cut in cuts]
    cut = cuts[int(np.argmax(proven))]
    return _proven(sign * test_p > cut, sign * test_q > cut, delta)


def _proven(in_p: np.ndarray, in_q: np.ndarray, delta: float) -> float:
    """log (P(S) - delta)/Q(S), P(S) at its lower and Q(S) at its upper limit."""
    hits, others = int(in_p.sum()), int(in_q.sum())
    low = beta.ppf(1 - CONFIDENCE, hits, len(in_p) - hits + 1) if hits else 0.0
    high = beta.ppf(CONFIDENCE, others + 1, len(in_q) - others) if others < len(in_q) else 1.0
    return float(np.log((low - delta) / high)) if low > delta else -np.inf


def discriminant(p: np.ndarray, q: np.ndarray):
    """Fisher's linear discriminant."""
    pooled = np.atleast_2d(np.cov(p.T) + np.cov(q.T)) / 2
    direction = np.linalg.lstsq(pooled, p.mean(0) - q.mean(0), rcond=1e-12)[0]
    return lambda samples: samples @ direction


def likelihood_ratio(p: np.ndarray, q: np.ndarray):
    """Between Gaussians fitted to each side."""
    one, other = distance(p, p), distance(q, q)
    return lambda samples: other(samples) - one(samples)


def distance(p: np.ndarray, _: np.ndarray):
    """Squared Mahalanobis distance from the first law."""
    mean, precision = p.mean(0), np.linalg.pinv(np.atleast_2d(np.cov(p.T)), rcond=1e-12)

    def squared(samples):
        centred = samples - mean
        return np.einsum("ij,jk,ik->i", centred, precision, centred)

    return squared
