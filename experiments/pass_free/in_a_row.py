"""Many requests for one record each: every certificate verified, accuracy beside retraining."""

import time
from typing import Any

import numpy as np
import torch

from experiments.pass_free.problems import made_rows
from experiments.pass_free.settings import InARow
from expunge.accounting.verification import differences
from expunge.losses.solver import solve
from expunge.unlearning.linear.estimator import CertifiedClassifier
from expunge.unlearning.linear.residual import Residual

__all__ = ["run_in_a_row"]


def run_in_a_row(settings: InARow, seed: int) -> dict[str, Any]:
    """Forget one record after another; count passes, verify everything, compare at checkpoints.

    Raises:
        RuntimeError: a certificate that does not verify, or a broken chain of them.
    """
    rows, labels, test, test_labels = made_rows(settings.records, settings.features, 2, seed)
    model = CertifiedClassifier(strategy=Residual(), l2=settings.l2, classes=[0, 1])
    model.fit(rows, labels)
    del rows
    order = np.random.default_rng(seed).permutation(settings.records)[: settings.requests]
    checked = {round(x) for x in np.linspace(1, settings.requests, settings.checkpoints)}
    points, passes, previous, seconds = [], 0, None, []
    for request, record in enumerate(order.tolist(), start=1):
        start = time.process_time()
        certificate = model.forget(record)
        seconds.append(time.process_time() - start)
        passes += model.fitted_.outcome.read_every_row
        altered = differences(certificate)
        if altered or certificate.previous != previous or certificate.forgotten != request:
            raise RuntimeError(f"the certificate of request {request} does not verify: {altered}")
        previous = certificate.sha256
        if request in checked:
            points.append(_compare(model, request, test, test_labels))
    return {
        "records": settings.records,
        "features": settings.features,
        "l2": settings.l2,
        "requests": settings.requests,
        "certificates_verified": settings.requests,
        "requests_with_passes": passes,
        "median_seconds": float(np.median(seconds)),
        "checkpoints": points,
        "largest_gap_in_points": max(abs(p["released"] - p["retrained"]) for p in points) * 100,
    }


def _compare(
    model: CertifiedClassifier, request: int, test: np.ndarray, labels: np.ndarray
) -> dict[str, Any]:
    """Test accuracy of the released model and of one retrained exactly from nothing."""
    fitted = model.fitted_
    objective = fitted.job.objective
    start = torch.zeros(objective.shape, dtype=torch.float64)
    exact = solve(objective, start, tolerance=1e-9, gram=objective.gram())
    head = fitted.head
    retrained = type(head)(exact, head.loss, head.classes)
    return {
        "request": request,
        "released": float((model.predict(test) == labels).mean()),
        "retrained": float((retrained.predict(test) == labels).mean()),
    }
