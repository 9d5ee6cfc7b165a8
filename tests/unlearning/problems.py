"""Jobs for strategies, without an estimator around them."""

import numpy as np
import torch

from expunge.accounting.target import EpsilonDelta
from expunge.losses import Logistic
from expunge.unlearning.ids import id_rows
from expunge.unlearning.linear.linear_job import LinearJob
from expunge.unlearning.roster import Roster
from tests.unlearning.records import labelled


def job_of(loss=None, *, private=60, public=40, target=(1.0, 1e-5), observer="final", seed=None):
    """Public rows first, within the unit ball."""
    loss = Logistic(l2=0.1) if loss is None else loss
    rows = private + public
    features, targets = labelled(rows, features=5, classes=max(2, loss.outputs), seed=3)
    features /= np.maximum(1, np.linalg.norm(features, axis=1))[:, None]
    return LinearJob(
        loss=loss,
        features=torch.from_numpy(features),
        targets=torch.from_numpy(targets),
        roster=Roster(id_rows(None, private, public), public),
        target=EpsilonDelta(*target),
        observer=observer,
        seed=seed,
    )


def without(job, rows):
    """The job after one more request for these rows."""
    return job.without(rows)
