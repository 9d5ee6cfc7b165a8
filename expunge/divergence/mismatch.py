"""How far private features are from public ones: a classifier's calibrated density ratio.

    f(x) = log p_priv(x)/p_pub(x) = logit of a classifier's P(private | x) - log(n_priv/n_pub)

always at rows that were not used to fit it (folds). With P private and Q public,

    KL   >= E_P f - log E_Q e^f                                            (Donsker-Varadhan)
    D_2  >= 2 log E_P e^f - log E_Q e^(2f)                                 (THEORY E17's family)
    D_inf   the `share` quantile of f under P, at its upper confidence limit

so the first two are lower estimates whatever the classifier, and D_inf is neither a bound nor a
certificate: a share of private mass lies beyond the quantile, and f is itself an estimate. Nothing
above log n_pub can be told from infinity (McAllester and Stratos 2020, arXiv:1811.04251v4): there
f is cut for the first two, at log(n_pub)/a for order a, they end at log n_pub, and D_inf is
infinite.

Logistic regression calibrated by Platt's two parameters: exact for Gaussians of equal covariance,
and its ratios are smooth and finite. Isotonic calibration answers 0 and 1 at the ends, where D_2
and D_inf are decided. Give another classifier where differences are not linear.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.stats import binom
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from expunge.divergence.estimate import Estimate

__all__ = ["DensityRatio", "density_ratio"]

FOLDS, INNER = 5, 4
RESAMPLES = 400
BEYOND = 0.01  # of private rows: above it an estimate says that it is cut
Statistic = Callable[[np.ndarray, np.ndarray], float]


@dataclass(frozen=True)
class DensityRatio:
    """log p_priv/p_pub at held-out rows.

    Args:
        private, public: The log ratios at the rows of each side.
        accuracy: How often the classifier is right about the side, each side counting half.
    """

    private: np.ndarray
    public: np.ndarray
    accuracy: float
    level: float = 0.95
    seed: int = 0

    @cached_property
    def kl(self) -> Estimate:
        """KL divergence of private against public."""
        return self._estimate(_donsker_varadhan, 1.0, "Donsker-Varadhan")

    @cached_property
    def renyi_2(self) -> Estimate:
        """D_2 of private against public."""
        return self._estimate(_renyi_2, 2.0, "Rényi-Donsker-Varadhan")

    def d_infinity(self, share: float = 0.99) -> Estimate:
        """The quantile of f under P, at its upper limit: `share` of private mass lies below it.

        Infinite if it is beyond what the rows can tell, or if they are too few for a limit.
        """
        ordered = np.sort(self.private)
        # The smallest order statistic that is above the quantile with this confidence.
        place = int(binom.ppf(self.level, len(ordered), share))
        ceiling = math.log(len(self.public))
        value = float(ordered[place]) if place < len(ordered) else math.inf
        notes = (f"a share of {1 - share:.2g} of private mass lies beyond it; not a certificate",)
        if value > ceiling:
            value = math.inf
            notes = (
                f"cannot conclude: beyond log n_pub = {ceiling:.3g}, where a ratio cannot be told "
                "from infinity",
                *notes,
            )
        return Estimate(
            max(value, 0.0),
            None,
            f"{share:.3g} quantile at its upper limit",
            "upper estimate",
            math.inf,
            self.level,
            "the classifier's calibrated ratio",
            notes,
        )

    def _estimate(self, statistic: Statistic, order: float, method: str) -> Estimate:
        """Estimate with an interval by resampling the rows of each side, without refitting."""
        most = math.log(len(self.public)) / order
        private, public = np.minimum(self.private, most), np.minimum(self.public, most)
        beyond, notes = float((self.private > most).mean()), ()
        if beyond > BEYOND:
            notes = (
                f"cannot conclude how large: {beyond:.0%} of private rows have a log ratio above "
                f"{most:.3g}, more than {len(public)} public rows can show",
            )
        rng = np.random.default_rng(self.seed)
        drawn = [
            statistic(rng.choice(private, len(private)), rng.choice(public, len(public)))
            for _ in range(RESAMPLES)
        ]
        drawn, value = np.minimum(drawn, order * most), statistic(private, public)
        low, high = np.quantile(drawn, ((1 - self.level) / 2, (1 + self.level) / 2))
        return Estimate(
            min(value, order * most),
            (float(low), float(high)),
            f"classifier, {method}",
            "lower estimate",
            order,
            self.level,
            "none: held-out rows, any classifier",
            notes,
        )


def density_ratio(
    *,
    public: np.ndarray,
    private: np.ndarray,
    classifier: Any = None,
    seed: int = 0,
    level: float = 0.95,
) -> DensityRatio:
    """Estimate how far private features are from public ones, by a classifier's odds.

    Args:
        public, private: Features (rows, d) of each side.
        classifier: With scikit-learn's fit and predict_proba or decision_function; standardised
            logistic regression if None. It is calibrated by Platt's method inside each fold.

    Raises:
        ValueError: too few rows, other widths, or features that are not finite.
    """
    sides = [np.asarray(rows, dtype=np.float64) for rows in (public, private)]
    for name, rows in zip(("public", "private"), sides, strict=True):
        if rows.ndim != 2 or len(rows) < 10 * FOLDS:
            raise ValueError(f"{name}: {rows.shape}; at least {10 * FOLDS} rows of features")
        if not np.isfinite(rows).all():
            raise ValueError(f"{name}: features must be finite")
    if sides[0].shape[1] != sides[1].shape[1]:
        raise ValueError("public and private rows have different features")
    features = np.concatenate(sides)
    labels = np.repeat([0, 1], [len(rows) for rows in sides])
    if classifier is None:
        classifier = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    logits = np.empty(len(labels))
    for fitted, held_out in StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(
        features, labels
    ):
        inner = StratifiedKFold(INNER, shuffle=True, random_state=seed)
        model = CalibratedClassifierCV(classifier, method="sigmoid", cv=inner, ensemble=False)  # pyright: ignore[reportArgumentType]
        model.fit(features[fitted], labels[fitted])
        odds = model.predict_proba(features[held_out])
        logits[held_out] = _log(odds[:, 1]) - _log(odds[:, 0])
    ratios = logits - math.log(len(sides[1]) / len(sides[0]))
    there, here = ratios[labels == 0], ratios[labels == 1]
    accuracy = (float((there <= 0).mean()) + float((here > 0).mean())) / 2
    return DensityRatio(here, there, accuracy, level, seed)


def _donsker_varadhan(private: np.ndarray, public: np.ndarray) -> float:
    return float(private.mean() - _log_mean_exp(public))


def _renyi_2(private: np.ndarray, public: np.ndarray) -> float:
    return float(2 * _log_mean_exp(private) - _log_mean_exp(2 * public))


def _log_mean_exp(values: np.ndarray) -> float:
    largest = values.max()
    return float(largest + np.log(np.exp(values - largest).mean()))


def _log(share: np.ndarray) -> np.ndarray:
    return np.log(np.clip(share, 1e-12, None))
