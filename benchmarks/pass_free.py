"""Seconds to honour a request without a pass, beside refitting scikit-learn, in one run.

Ten records of n x d float32 rows, two classes, l2 = 1e-3, (1, 1e-5): the library call `forget`,
certificate and exact noise included, a median of several. Scikit-learn's LogisticRegression is
refitted on the rows that are left, to a gradient norm that is measured here beside ours. Seconds
are of the processor, all threads together, so that other work on the machine does not count.
What a process loads once is not counted.

    python -m benchmarks forget --sizes 1e5x64,1e6x64,1e7x64,1e5x384,1e6x384 --merge

measures these sizes alone and puts them into benchmarks/pass_free.json and the pages that show it.
10,000,000 x 64 needs 9 GiB: the rows, ours, and ours once more with room for further ones; later
one copy in float64 for scikit-learn.
"""

import statistics
import time
import warnings
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression

from expunge.core.rows import bounded_rows
from expunge.losses import Logistic
from expunge.losses.objective import Objective
from expunge.unlearning.linear.anchor import Anchor
from expunge.unlearning.linear.by_passes import ByPasses
from expunge.unlearning.linear.estimator import CertifiedClassifier
from expunge.unlearning.linear.newton_step import newton_step
from expunge.unlearning.linear.pass_free import PassFree
from expunge.unlearning.linear.residual import Residual

__all__ = ["SIZES", "compare", "measure", "parse_sizes", "steadiness"]

L2, FORGOTTEN, REQUESTS = 1e-3, 10, 15
TOLERANCE = 1e-8  # about the least gradient that scikit-learn reaches; ours is at or below it
SIZES = ((100_000, 64), (1_000_000, 64), (100_000, 384))
STEADY = 1.5  # how much longer a request may take at one n than at another
SHARES = ((300_000_000, 1 / 500), (50_000_000, 1 / 200))  # of a refit, from so many numbers on
BLOCK = 65_536


def parse_sizes(text: str) -> list[tuple[int, int]]:
    """Sizes as `1e7x64,1e6x384` names them.

    Raises:
        ValueError: it names none.
    """
    return [
        (int(float(count)), int(features))
        for count, _, features in (size.partition("x") for size in text.split(","))
    ]


def measure(sizes: Iterable[tuple[int, int]] = SIZES) -> list[dict[str, Any]]:
    """Measure requests at every size beside a refit, and how they grow with the records."""
    rows = [compare(count, features) for count, features in sizes]
    return rows + steadiness(rows)


def steadiness(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """How much longer a request takes at the worst number of records than at the best."""
    by_width: dict[int, list[float]] = {}
    for row in rows:
        by_width.setdefault(row["features"], []).append(row["seconds"]["forget"])
    return [
        {
            "name": f"requests at the worst n over the best, d = {features}",
            "ratio": max(spent) / min(spent),
            "limit": STEADY,
        }
        for features, spent in by_width.items()
        if len(spent) > 1
    ]


def compare(count: int, features: int) -> dict[str, Any]:
    """Compare a request for ten of so many records with a refit."""
    rows, labels = make_rows(count, features)
    estimator = CertifiedClassifier(strategy=Residual(), l2=L2, classes=[0, 1])
    fit = seconds(partial(estimator.fit, rows, labels))
    spent, passes = requests(estimator)
    norm = gradient_norm(estimator)
    first, further = additions(estimator, rows[:FORGOTTEN], labels[:FORGOTTEN])
    del estimator
    left = FORGOTTEN * (REQUESTS + 1)
    bounded = np.empty((count - left, features + 1))  # float32 stops scikit-learn early
    bounded_rows(rows[left:], 1.0, out=bounded)
    del rows
    refit, reached = sklearn_refit(bounded, labels[left:])
    forget = statistics.median(spent)
    return {
        "name": f"forget ten of {count:,} x {features} over refitting scikit-learn",
        "ratio": forget / refit,
        "records": count,
        "features": features,
        "limit": next((share for size, share in SHARES if count * features >= size), 1.0),
        "seconds": {
            "forget": forget,
            "slowest": max(spent),
            "fit": fit,
            "sklearn": refit,
            "first_add": first,
            "add": further,
        },
        "requests": REQUESTS,
        "requests_with_passes": passes,
        "gradient_norm": norm,
        "sklearn_gradient_norm": reached,
    }


def requests(model: CertifiedClassifier) -> tuple[list[float], int]:
    """The seconds of each request for ten records, and how many took passes."""
    model.forget(range(FORGOTTEN))  # loads what is loaded once
    spent, passes = [], 0
    for request in range(1, REQUESTS + 1):
        ids = range(FORGOTTEN * request, FORGOTTEN * (request + 1))
        spent.append(seconds(lambda ids=ids: model.forget(ids)))
        passes += model.fitted_.outcome.read_every_row
    return spent, passes


def additions(
    model: CertifiedClassifier, rows: np.ndarray, labels: np.ndarray
) -> tuple[float, float]:
    """The seconds of the first addition of ten records, and a median of further ones.

    The first moves what is stored to where there is room behind it.
    """
    spent = [seconds(lambda: model.add(rows, labels)) for _ in range(1 + REQUESTS)]
    return spent[0], statistics.median(spent[1:])


def gradient_norm(model: CertifiedClassifier) -> float:
    """The norm of the gradient at the point of the last request, before its noise."""
    fitted = model.fitted_
    job, strategy = fitted.job, fitted.strategy
    anchor = Anchor.of(fitted.outcome.secret)
    assert anchor is not None
    rule = PassFree(ByPasses(job, strategy.tolerance), strategy.reach(job), strategy.max_anchor_age)
    step = newton_step(anchor, rule.terms, center=job.center, intercept=job.intercept)
    return float(job.objective.gradient(step.theta).norm())


def make_rows(count: int, features: int) -> tuple[np.ndarray, np.ndarray]:
    """Make rows of norm 1 with a decaying spectrum, and noisy labels of a linear rule."""
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((count, features), dtype=np.float32)
    rows *= np.logspace(0, -1.5, features, dtype=np.float32)
    for start in range(0, count, BLOCK):
        part = rows[start : start + BLOCK]
        part /= np.linalg.norm(part, axis=1, keepdims=True)
    rule = 8 * rng.standard_normal(features, dtype=np.float32)
    return rows, (rows @ rule + rng.logistic(size=count) > 0).astype(np.int64)


def sklearn_refit(bounded: np.ndarray, labels: np.ndarray) -> tuple[float, float]:
    """Refit scikit-learn on our bounded rows; seconds, and the gradient norm it reaches."""
    objective = Objective(Logistic(L2), torch.from_numpy(bounded), torch.from_numpy(labels))
    model = LogisticRegression(
        C=1 / (L2 * len(bounded)), fit_intercept=False, tol=TOLERANCE, max_iter=5000
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        took = seconds(lambda: model.fit(bounded, labels))
    theta = torch.from_numpy(np.ascontiguousarray(model.coef_, dtype=np.float64))
    return took, float(objective.gradient(theta).norm())


def seconds(work: Callable[[], object]) -> float:
    """Processor seconds that the work takes."""
    start = time.process_time()
    work()
    return time.process_time() - start
