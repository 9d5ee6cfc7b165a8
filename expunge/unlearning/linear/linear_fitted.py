"""What a fitted linear model knows: its state, its labels, and what predictions need."""

from dataclasses import dataclass

import numpy as np

from expunge.accounting.reservations import Origin
from expunge.features.frozen_steps import FrozenSteps
from expunge.unlearning import model_file
from expunge.unlearning.fitted import Fitted
from expunge.unlearning.linear.linear_head import LinearHead
from expunge.unlearning.linear.linear_job import LinearJob

__all__ = ["LinearFitted"]

PREPROCESSING = (
    "preprocessing before fit is unknown and not checked: what was fitted on private records voids "
    "this certificate (CertifiedPipeline fits it on public records alone); it and the choice of "
    "all parameters are the caller's"
)


@dataclass(frozen=True, repr=False, kw_only=True)
class LinearFitted(Fitted):
    """The state of a fitted estimator.

    Args:
        classes: Labels of a classifier, sorted; None for a regression.
        labels: Where the label set came from.
        preprocessing: The steps that rows went through before; None if the caller prepared them.
    """

    job: LinearJob
    classes: np.ndarray | None
    labels: Origin | None = None
    preprocessing: FrozenSteps | None = None

    @property
    def head(self) -> LinearHead:
        """What predictions need."""
        return LinearHead(self.outcome.theta, self.job.loss, self.classes)

    @property
    def label_origin(self) -> Origin | None:
        return self.labels

    @property
    def remarks(self) -> tuple[str, ...]:
        return (PREPROCESSING,) if self.preprocessing is None else self.preprocessing.lines

    @property
    def model_bytes(self) -> bytes:
        return model_file.model_bytes(self.outcome.theta, self.outcome.salt)
