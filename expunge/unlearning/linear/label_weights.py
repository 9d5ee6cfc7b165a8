"""Weights of labels, which are fixed in advance; those of single records are refused."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from expunge.core.checks import positive
from expunge.errors import InvalidInput
from expunge.losses import Weighted

__all__ = [
    "label_weight_mapping",
    "label_weights",
    "plain_pairs",
    "refuse_weights",
    "unweighted",
    "weighted",
]


def label_weight_mapping(name: str, value: Any) -> Any:
    """A rule: a positive number for each label that is named.

    Weights that are counted from records are refused: one record less changes those of all others,
    so that the model without it is no comparator (THEORY 2.6).
    """
    if isinstance(value, str):
        raise ValueError(
            f"{name}: {value!r} would count private records, and a deletion then changes every "
            "row's weight; give a number for each label, fixed in advance"
        )
    if not isinstance(value, Mapping) or not value:
        raise ValueError(
            f"{name}: must be a mapping from labels to numbers, not {type(value).__name__}"
        )
    for label, weight in value.items():
        if not isinstance(label, str | int | float | np.generic):
            raise ValueError(f"{name}: {label!r} is no label; texts and numbers are")
        positive(f"{name} of {label!r}", weight)
    return value


def label_weights(
    given: Mapping[Any, float] | None, labels: np.ndarray
) -> tuple[float, ...] | None:
    """The weight of every label in order, 1 where none is given; None where nothing is weighted.

    Raises:
        ValueError: a label that is not known; it is named.
    """
    if given is None:
        return None
    known = labels.tolist()
    for label in given:
        if label not in known:
            raise ValueError(f"class_weight: label {label!r} is not one of the labels")
    weights = [float(given.get(label, 1.0)) for label in known]
    return tuple(weights if len(weights) > 1 else 2 * weights)


def refuse_weights(others: Mapping[str, Any]) -> None:
    """Refuse weights of single records, and whatever else `fit` does not take.

    Raises:
        InvalidInput: `sample_weight`, which no constant of the certificate knows.
        TypeError: another argument; it is named.
    """
    for name, value in others.items():
        if name != "sample_weight":
            raise TypeError(f"fit() got an unexpected keyword argument {name!r}")
        if value is not None:
            raise InvalidInput(
                name,
                "weights of single records are not certified: those that follow from other records "
                "change when one goes; class_weight takes a number for each label, fixed before",
            )


def plain_pairs(weights: Mapping[Any, Any]) -> list[list[Any]]:
    """Labels and weights as JSON brings them back, labels of any kind."""
    return [[np.asarray(label).item(), float(weight)] for label, weight in weights.items()]


def weighted(loss: Any, weights: Sequence[float] | None) -> Any:
    """A loss with these weights of its labels; the loss itself where there are none."""
    return loss if weights is None else Weighted(loss, tuple(weights))


def unweighted(loss: Any) -> tuple[Any, dict[str, list[float]]]:
    """A loss without weights of its labels, and those, for its document."""
    if isinstance(loss, Weighted):
        return loss.loss, {"weights": list(loss.weights)}
    return loss, {}
