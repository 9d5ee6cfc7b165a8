"""What predictions need: weights, the bound that rows are scaled to, and the labels."""

import json
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from torch import Tensor

from expunge.accounting.json_text import parse_json
from expunge.core.row_products import products
from expunge.core.rows import bounded_values
from expunge.losses import Logistic, Softmax, Squared, Weighted
from expunge.losses.linear import LinearLoss
from expunge.unlearning.linear.checked_rows import table_of
from expunge.unlearning.linear.label_weights import unweighted, weighted

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

    def scores(self, features: Any) -> Tensor:
        """Scores of rows, dense or sparse: (rows, outputs), float64.

        Raises:
            InvalidInput: no table of numbers, or one of another width.
        """
        table = table_of(features, self.theta.shape[1] - 1)
        rows = bounded_values(table, self.loss.row_norm).double()
        return products(rows, self.theta)

    def probabilities(self, features: Any) -> np.ndarray:
        """Probabilities of every class: (rows, classes)."""
        assert self.classes is not None
        if len(self.classes) == 1:
            return np.ones((features.shape[0], 1))
        assert isinstance(self.loss, Logistic | Softmax | Weighted)
        return self.loss.probabilities(self.scores(features)).numpy()

    def predict(self, features: Any) -> np.ndarray:
        if self.classes is None:
            return self.scores(features).numpy()[:, 0]
        return self.classes[self.probabilities(features).argmax(1)]

    def document(self) -> str:
        """JSON of everything but the weights."""
        plain, weights = unweighted(self.loss)
        loss = {"kind": type(plain).__name__, **asdict(plain), **weights}  # pyright: ignore[reportArgumentType]
        labels = None
        if self.classes is not None:
            labels = {"values": self.classes.tolist(), "dtype": self.classes.dtype.str}
        return json.dumps({"loss": loss, "labels": labels})

    @classmethod
    def of(cls, theta: Tensor, document: str) -> "LinearHead":
        """Build the head from its `document` and the weights.

        Raises:
            ValueError: the document is not one, or weights, loss and labels do not belong together.
        """
        stored: Any = parse_json(document)
        try:
            kind, labels = LOSSES[stored["loss"].pop("kind")], stored["labels"]
            weights = stored["loss"].pop("weights", None)
            loss = kind(**stored["loss"])
            loss = weighted(loss, weights)
            classes = None if labels is None else _labels(labels["values"], labels["dtype"])
        except (LookupError, TypeError, AttributeError, ArithmeticError) as error:
            raise ValueError(f"not the head of a model ({error})") from error
        counts = {Logistic: (1, 2), Softmax: (loss.outputs,), Squared: (None,)}[kind]
        if (None if classes is None else len(classes)) not in counts:
            raise ValueError(f"{kind.__name__} has another number of labels")
        if theta.ndim != 2 or len(theta) != loss.outputs:
            raise ValueError(
                f"{kind.__name__} has {loss.outputs} outputs, not {tuple(theta.shape)}"
            )
        return cls(theta, loss, classes)


def _labels(values: list[Any], written: str) -> np.ndarray:
    """The labels of a document: numbers or texts of one kind, sorted, none of them twice.

    Raises:
        ValueError: they are not.
    """
    kind, given = np.dtype(written), np.asarray(values)
    longest = max((len(value) for value in values if isinstance(value, str)), default=0)
    plain = all(isinstance(value, str | int | float) for value in values)
    if kind.kind not in "biufUO" or not plain or kind.itemsize > max(8, 4 * longest):
        raise ValueError(f"labels of the type {written!r}")
    labels = np.unique(given.astype(kind))
    if labels.tolist() != values:
        raise ValueError("labels that are not in order, not all different, or of another type")
    return labels
