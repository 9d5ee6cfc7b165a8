"""What predictions need: weights, the bound that rows are scaled to, and the labels."""

import json
from dataclasses import asdict, dataclass

import numpy as np
import torch
from torch import Tensor

from expunge.core.rows import bounded_rows
from expunge.losses import Logistic, Softmax, Squared
from expunge.losses.linear import LinearLoss

__all__ = ["LinearHead"]

LOSSES = {"Logistic": Logistic, "Softmax": Softmax, "Squared": Squared}


@dataclass(frozen=True)
class LinearHead:
    """A linear model that predicts: its weights, its loss and its labels.

    Args:
        theta: (outputs, features), the intercept's feature last.
        classes: Of a classifier, sorted; None for a regression.
    """

    theta: Tensor
    loss: LinearLoss
    classes: np.ndarray | None

    def scores(self, features: np.ndarray) -> Tensor:
        """Scores of rows: (rows, outputs), float64."""
        rows = torch.from_numpy(bounded_rows(features, self.loss.row_norm)).double()
        return rows @ self.theta.T

    def probabilities(self, features: np.ndarray) -> np.ndarray:
        """Probabilities of every class: (rows, classes)."""
        assert self.classes is not None
        if len(self.classes) == 1:
            return np.ones((len(features), 1))
        assert isinstance(self.loss, Logistic | Softmax)
        return self.loss.probabilities(self.scores(features)).numpy()

    def predict(self, features: np.ndarray) -> np.ndarray:
        if self.classes is None:
            return self.scores(features).numpy()[:, 0]
        return self.classes[self.probabilities(features).argmax(1)]

    def document(self) -> str:
        """JSON of everything but the weights."""
        loss = {"kind": type(self.loss).__name__, **asdict(self.loss)}  # pyright: ignore[reportArgumentType]
        labels = None
        if self.classes is not None:
            labels = {"values": self.classes.tolist(), "dtype": self.classes.dtype.str}
        return json.dumps({"loss": loss, "labels": labels})

    @classmethod
    def of(cls, theta: Tensor, document: str) -> "LinearHead":
        """Build the head from its `document` and the weights."""
        stored = json.loads(document)
        kind, labels = LOSSES[stored["loss"].pop("kind")], stored["labels"]
        classes = None
        if labels is not None:
            classes = np.asarray(labels["values"], dtype=np.dtype(labels["dtype"]))
        return cls(theta, kind(**stored["loss"]), classes)
