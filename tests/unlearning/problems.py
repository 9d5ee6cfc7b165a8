"""Jobs for strategies, without an estimator around them."""

from dataclasses import replace

import numpy as np
import torch

from expunge.accounting.target import EpsilonDelta
from expunge.losses import Logistic
from expunge.unlearning.job import Job
from tests.unlearning.records import labelled


def job_of(loss=None, *, private=60, public=40, target=(1.0, 1e-5), observer="final", seed=None):
    """Public rows first, within the unit ball."""
    loss = Logistic(l2=0.1) if loss is None else loss
    rows = private + public
    features, targets = labelled(rows, features=5, classes=max(2, loss.outputs), seed=3)
    features /= np.maximum(1, np.linalg.norm(features, axis=1))[:, None]
    return Job(
        loss=loss,
        features=torch.from_numpy(features),
        targets=torch.from_numpy(targets),
        keep=torch.ones(rows, dtype=torch.bool),
        left=torch.zeros(rows, dtype=torch.int64),
        keys=torch.arange(rows),
        public=public,
        private=private,
        target=EpsilonDelta(*target),
        observer=observer,
        seed=seed,
    )


def without(job, rows):
    """The job after one more request for these rows."""
    keep, left = job.keep.clone(), job.left.clone()
    left[rows] = int(left.max()) + 1
    keep[rows] = False
    return replace(job, keep=keep, left=left)
