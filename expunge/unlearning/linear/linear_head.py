"""What predictions need: weights, the bound that rows are scaled to, and the labels."""

import json
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy import sparse
from torch import Tensor

from expunge.accounting.json_text import parse_json
from expunge.core.row_products import products
from expunge.core.rows import bounded_values
from expunge.errors import InvalidInput
from expunge.losses import Logistic, Softmax, Squared, Weighted
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

    def scores(self, features: Any) -> Tensor:
        """Scores of rows, dense or sparse: (rows, outputs), float64.

        Raises:
            InvalidInput: no table of numbers, or one of another width.
        """
        rows = bounded_values(self._table(features), self.loss.row_norm).double()
        return products(rows, self.theta)

    def _table(self, features: Any) -> Any:
        """Rows as numbers, one for each weight but the intercept's."""
        try:
            table = features if sparse.issparse(features) else np.asarray(features)
            table = table if table.dtype.kind in "biuf" else table.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise InvalidInput("X", "must be a table of numbers") from error
        width = self.theta.shape[1] - 1
        if table.ndim != 2 or table.shape[1] != width:
            raise InvalidInput("X", f"must have {width} columns, one row for each record")
        return table

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
        plain = self.loss.loss if isinstance(self.loss, Weighted) else self.loss
        loss = {"kind": type(plain).__name__, **asdict(plain)}  # pyright: ignore[reportArgumentType]
        if isinstance(self.loss, Weighted):
            loss["weights"] = list(self.loss.weights)
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
            loss = loss if weights is None else Weighted(loss, weights)
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
