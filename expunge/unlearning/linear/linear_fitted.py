"""What a fitted linear model knows: its state, its labels, and what predictions need."""

from dataclasses import dataclass

import numpy as np

from expunge.features.frozen_steps import FrozenSteps
from expunge.losses import Weighted
from expunge.unlearning import model_file
from expunge.unlearning.fitted import Fitted
from expunge.unlearning.linear.growing_rows import GrowingRows
from expunge.unlearning.linear.linear_head import LinearHead
from expunge.unlearning.linear.linear_job import LinearJob
from expunge.unlearning.linear.public_ridge import PublicRidge, marked

__all__ = ["LinearFitted"]

PREPROCESSING = (
    "preprocessing before fit is unknown and not checked: what was fitted on private records voids "
    "this certificate (CertifiedPipeline fits it on public records alone); it and the choice of "
    "all parameters are the caller's"
)
WEIGHTS = (
    "labels have weights that were fixed in advance, by the caller's word, not counted on records"
)


@dataclass(frozen=True, repr=False, kw_only=True)
class LinearFitted(Fitted):
    """The state of a fitted estimator.

    Args:
        classes: Labels of a classifier, sorted; None for a regression.
        ridge: What the ridge was chosen from; None if it was given.
        preprocessing: The steps that rows went through before; None if the caller prepared them.
    """

    job: LinearJob
    rows: GrowingRows
    classes: np.ndarray | None
    preprocessing: FrozenSteps | None = None
    ridge: PublicRidge | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "outcome", marked(self.outcome, self.ridge))
        super().__post_init__()

    @property
    def head(self) -> LinearHead:
        """What predictions need."""
        return LinearHead(self.outcome.theta, self.job.loss, self.classes)

    @property
    def remarks(self) -> tuple[str, ...]:
        prepared = (PREPROCESSING,) if self.preprocessing is None else self.preprocessing.lines
        chosen = () if self.ridge is None else (self.ridge.remark,)
        weighted = (WEIGHTS,) if isinstance(self.job.loss, Weighted) else ()
        return (*prepared, *chosen, *weighted)

    @property
    def model_bytes(self) -> bytes:
        return model_file.model_bytes(self.outcome.theta, self.outcome.salt)
