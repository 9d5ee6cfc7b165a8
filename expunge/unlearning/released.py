"""What may be handed out: a plain predictor with its certificate. No records, no secrets.

`release()` returns it, and it is all that pickle writes of a fitted estimator.
"""

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from torch import nn

from expunge.accounting.certificate import Certificate
from expunge.features.frozen_steps import FrozenSteps
from expunge.losses import Declared, Squared
from expunge.unlearning.linear.checked_rows import plain
from expunge.unlearning.linear.linear_head import LinearHead
from expunge.unlearning.model_file import model_bytes

if TYPE_CHECKING:
    from expunge.unlearning.linear.linear_fitted import LinearFitted

__all__ = ["PICKLED", "RELEASED_ONLY", "Released", "ReleasedNetwork"]

PICKLED = (
    "pickling writes the released model alone, without records and secret state: what is loaded "
    "predicts and cannot forget; to go on from disk use save() and load()"
)
RELEASED_ONLY = (
    "only the released model is here, without records and secret state, so it predicts and cannot "
    "forget; load() the folder that save() wrote"
)


@dataclass(frozen=True)
class ReleasedNetwork:
    """A network as it may be handed out: the module and its certificate.

    Args:
        model: In evaluation mode, on the CPU.
        certificate: None before the first deletion.
    """

    model: nn.Module
    certificate: Certificate | None


@dataclass(frozen=True)
class Released:
    """A model as it may be handed out.

    Args:
        head: Weights, the bound that rows are scaled to, and labels.
        certificate: None before the first deletion.
        salt: The salt in the file of a model without noise; None with noise.
        preprocessing: The steps that rows go through first; None if the caller prepares them.
    """

    head: LinearHead
    certificate: Certificate | None
    salt: str | None
    preprocessing: FrozenSteps | None = None

    @classmethod
    def of(cls, fitted: "LinearFitted") -> "Released":
        """The part of a fitted state that may be handed out, copied."""
        head = fitted.head
        loss = head.loss
        if isinstance(loss, Declared):  # a function of the user's; predictions need none
            loss = Squared(loss.l2, loss.row_norm)
        return cls(
            LinearHead(head.theta.clone(), loss, copy.deepcopy(head.classes)),
            copy.deepcopy(fitted.certificate),
            fitted.outcome.salt,
            copy.deepcopy(fitted.preprocessing),
        )

    @property
    def classes_(self) -> np.ndarray | None:
        """The labels of a classifier, sorted; None for a regression."""
        return self.head.classes

    def predict(self, rows: Any) -> np.ndarray:
        """Predict labels, or values of a regression, of rows as they were given to `fit`."""
        return self.head.predict(self._features(rows))

    def predict_proba(self, rows: Any) -> np.ndarray:
        """The probability of every class: (rows, classes)."""
        return self.head.probabilities(self._features(rows))

    def _features(self, rows: Any) -> Any:
        """What the weights are for: rows as they are, or what the steps make of them."""
        return plain(rows) if self.preprocessing is None else self.preprocessing.transform(rows)

    @property
    def model_bytes(self) -> bytes:
        """The model's file, whose hash the certificate names."""
        return model_bytes(self.head.theta, self.salt)
