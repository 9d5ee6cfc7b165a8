"""Deletion beside retraining in one run: ten of 200,000 made records."""

import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

__all__ = ["bought", "side_by_side"]

RECORDS, FEATURES, TESTED, FORGOTTEN = 200_000, 64, 20_000, 10


def side_by_side(records: int = RECORDS) -> dict[str, Any]:
    """Seconds and accuracies of a deletion, of retraining, and of the deletion's placebo."""
    from dataclasses import replace

    from expunge.losses.solver import solve
    from expunge.unlearning.linear.estimator import CertifiedClassifier

    rows, labels = _made(records + TESTED)
    model = CertifiedClassifier(strategy="residual", l2=1e-3, classes=[0, 1])
    model.fit(rows[:records], labels[:records])
    model.forget([records - 1])  # loads what is loaded once
    placebo = model.placebo(range(FORGOTTEN))
    start = time.perf_counter()
    certificate = model.forget(range(FORGOTTEN))
    forgot = time.perf_counter() - start
    job, head = model.fitted_.job, model.fitted_.head
    start = time.perf_counter()
    objective = job.objective
    retrained = solve(objective, job.origin, tolerance=1e-9, gram=objective.gram())
    again = time.perf_counter() - start
    heads = {"forget": head, "retrain": replace(head, theta=retrained), "placebo": placebo}
    test, test_labels = rows[records:], labels[records:]
    return {
        "records": records,
        "features": FEATURES,
        "forgotten": FORGOTTEN,
        "epsilon": certificate.epsilon,
        "delta": certificate.delta,
        "seconds": {"forget": forgot, "retrain": again},
        "accuracy": {
            name: float((each.predict(test) == test_labels).mean()) for name, each in heads.items()
        },
    }


def bought(found: dict[str, Any]) -> str:
    """What the deletion bought over retraining and over a placebo, in words."""
    seconds, accuracy = found["seconds"], found["accuracy"]
    return (
        f"Beside it, {found['forgotten']} of {found['records']:,} made records x "
        f"{found['features']}: the deletion took {1000 * seconds['forget']:.1f} ms, retraining "
        f"{seconds['retrain']:.2g} s; accuracy {accuracy['forget']:.2%} and "
        f"{accuracy['retrain']:.2%}. What the deletion's few operations can buy from nothing (the "
        f"placebo, trained on a few records) has {accuracy['placebo']:.2%}."
    )


def _made(count: int) -> "tuple[np.ndarray, np.ndarray]":
    """Rows of norm 1 with a decaying spectrum, and noisy labels of a linear rule."""
    import numpy as np

    rng = np.random.default_rng(0)
    rows = rng.standard_normal((count, FEATURES), dtype=np.float32)
    rows *= np.logspace(0, -1.5, FEATURES, dtype=np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    rule = 8 * rng.standard_normal(FEATURES, dtype=np.float32)
    return rows, (rows @ rule + rng.logistic(size=count) > 0).astype(np.int64)
