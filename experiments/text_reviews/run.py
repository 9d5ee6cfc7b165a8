"""Certified models of sparse words beside scikit-learn's, and deletion beside its refit.

Words are those of public reviews, or hashed; rows stay sparse from the text to the certificate. The
certified pipeline learns from public and private reviews, the yardsticks are scikit-learn's
logistic regression of the same rows (with the same ridge, and with its default), and a certified
model's own loss on public reviews alone.
"""

import time
import warnings
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import HashingVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression

from experiments.datasets.pairs import load_pair
from experiments.text_reviews.settings import Settings
from expunge.core.rows import bounded_sparse
from expunge.unlearning import CertifiedClassifier, CertifiedPipeline
from expunge.unlearning.linear.public_model import public_model

__all__ = ["load_texts", "run", "vectoriser"]

Reviews = tuple[list[str], np.ndarray]
GOOD = ("good", "great", "lovely", "fine", "perfect", "moving")
BAD = ("bad", "poor", "awful", "dull", "broken", "empty")
NEUTRAL = ("the", "a", "this", "it", "was", "with", "and", "story", "price", "page", "box", "plot")


def run(settings: Settings) -> dict[str, Any]:
    texts = load_texts(settings)
    rows = [_compared(settings, kind, *texts) for kind in settings.features]
    return {"settings": asdict(settings), "rows": rows}


def load_texts(settings: Settings) -> tuple[Reviews, Reviews, Reviews]:
    """Public, private and test reviews."""
    if settings.pair == "made":
        counts = settings.public, settings.private, settings.test
        return tuple(_made(count, settings.seed + i) for i, count in enumerate(counts))  # pyright: ignore[reportReturnType]
    pair = load_pair(settings.pair)
    sets = (pair.public.train, pair.private.train, pair.private.test)
    counts = (settings.public, settings.private, settings.test)
    draws = np.random.default_rng(settings.seed)
    taken = []
    for each, count in zip(sets, counts, strict=True):
        chosen = draws.permutation(len(each))[:count]
        taken.append(([str(text) for text in each.features[chosen]], each.targets[chosen]))
    return tuple(taken)  # pyright: ignore[reportReturnType]


def _made(count: int, seed: int) -> Reviews:
    """Reviews of made words, three in four of which say what their label says."""
    draws = np.random.default_rng(seed)
    labels = draws.integers(0, 2, count)
    texts = []
    for label in labels:
        told = draws.choice(np.array(GOOD if (draws.random() < 0.75) == label else BAD), 2)
        texts.append(" ".join([*draws.choice(np.array(NEUTRAL), 8), *told]))
    return texts, labels


def vectoriser(kind: str, width: int) -> Any:
    """The step from texts to rows, in single precision."""
    shared: dict[str, Any] = {"ngram_range": (1, 2), "dtype": np.float32}
    if kind == "tfidf":
        return TfidfVectorizer(min_df=2, max_features=width, sublinear_tf=True, **shared)
    return HashingVectorizer(n_features=width, alternate_sign=False, **shared)


def _compared(
    settings: Settings, kind: str, public: Reviews, private: Reviews, test: Reviews
) -> dict[str, Any]:
    """Accuracies and seconds of one kind of features."""
    estimator = CertifiedClassifier(l2="public", row_norm="public", strategy="residual")
    pipeline = CertifiedPipeline([("words", vectoriser(kind, settings.width))], estimator)
    _, fit = _timed(lambda: pipeline.fit(*private, public=public))
    fitted = pipeline.fitted_
    before = float(pipeline.score(*test))
    draws = np.random.default_rng(settings.seed)
    order = draws.permutation(len(private[1]))
    deletions, first = [], 0
    for count in settings.forget:
        gone = order[first : first + count]
        first += count
        _, seconds = _timed(lambda gone=gone: pipeline.forget(gone))
        deletions.append({"records": count, "seconds": seconds})
    kept = np.setdiff1d(np.arange(len(private[1])), order[:first])
    steps: Any = fitted.preprocessing
    rows = {name: steps.transform(each[0]) for name, each in zip("upt", (public, private, test))}  # noqa: B905
    everything = _stacked(rows["u"], rows["p"][kept], fitted.head.loss.row_norm)
    labels = np.concatenate([public[1], private[1][kept]])
    unseen = _plain(rows["t"], fitted.head.loss.row_norm)
    refit = _refits(settings, everything, labels, unseen, test[1], fitted.head.loss.l2)
    alone = public_model(fitted.head, rows["u"], public[1])
    return {
        "features": kind,
        "width": int(rows["u"].shape[1]),
        "non_zeros": int(rows["u"].nnz + rows["p"].nnz),
        "public": len(public[1]),
        "private": len(private[1]),
        "test": len(test[1]),
        "l2": fitted.head.loss.l2,
        "row_norm": fitted.head.loss.row_norm,
        "epsilon": estimator.epsilon,
        "delta": estimator.delta,
        "accuracy": {
            "certified, before deletions": before,
            "certified, after deletions": float(pipeline.score(*test)),
            "public reviews alone": float((alone.predict(rows["t"]) == test[1]).mean()),
            **{name: each["accuracy"] for name, each in refit.items()},
        },
        "seconds": {"fit": fit, **{name: each["seconds"] for name, each in refit.items()}},
        "deletions": deletions,
    }


def _refits(
    settings: Settings, rows: Any, labels: np.ndarray, unseen: Any, truth: np.ndarray, l2: float
) -> dict[str, dict[str, float]]:
    """scikit-learn's logistic regression on the retained rows: what a deletion costs without us.

    Rows are the certified model's own, bounded and with its intercept, so that one of the two has
    the same objective.
    """
    arms = {"scikit-learn, same ridge": 1 / (l2 * len(labels)), "scikit-learn, default": 1.0}
    made = {}
    for name, strength in arms.items():
        least, accuracy = float("inf"), 0.0
        for _ in range(settings.refits):
            model = LogisticRegression(C=strength, max_iter=1000, fit_intercept=False)
            _, seconds = _timed(lambda model=model: model.fit(rows, labels))
            least, accuracy = min(least, seconds), float(model.score(unseen, truth))
        made[name] = {"seconds": least, "accuracy": accuracy}
    return made


def _plain(rows: Any, row_norm: float) -> Any:
    """The rows as the certified model has them."""
    return bounded_sparse(rows, row_norm).matrix


def _stacked(first: Any, second: Any, row_norm: float) -> Any:
    return sparse.vstack([_plain(first, row_norm), _plain(second, row_norm)], format="csr")


def _timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """The result, and the processor's seconds: others on the machine do not lengthen them."""
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        result = work()
    return result, round(time.process_time() - start, 4)
