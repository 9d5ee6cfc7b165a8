"""What a fitted linear model knows: its state, its labels, and what predictions need."""

from dataclasses import dataclass

import numpy as np

from expunge.accounting.reservations import Origin
from expunge.unlearning import model_file
from expunge.unlearning.fitted import Fitted
from expunge.unlearning.linear.linear_head import LinearHead
from expunge.unlearning.linear.linear_job import LinearJob

__all__ = ["LinearFitted"]

PREPROCESSING = "preprocessing before fit, and the choice of all parameters, are the caller's"


@dataclass(frozen=True, repr=False, kw_only=True)
class LinearFitted(Fitted):
    """The state of a fitted estimator.

    Args:
        classes: Labels of a classifier, sorted; None for a regression.
        labels: Where the label set came from.
    """

    job: LinearJob
    classes: np.ndarray | None
    labels: Origin | None = None

    @property
    def head(self) -> LinearHead:
        """What predictions need."""
        return LinearHead(self.outcome.theta, self.job.loss, self.classes)

    @property
    def label_origin(self) -> Origin | None:
        return self.labels

    @property
    def remarks(self) -> tuple[str, ...]:
        return (PREPROCESSING,)

    @property
    def model_bytes(self) -> bytes:
        return model_file.model_bytes(self.outcome.theta, self.outcome.salt)
