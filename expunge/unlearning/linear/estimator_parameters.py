"""The parameters of certified estimators, and what they may be; looked at when `fit` begins.

scikit-learn's estimators store what they are given, so that nothing is checked before. A
parameter without a rule here is refused by `tests/test_parameters.py`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from expunge.accounting.account import LARGEST_MEANINGFUL_EPSILON
from expunge.accounting.conversions import check_delta
from expunge.core.checks import (
    Rule,
    check_values,
    choice,
    device,
    either,
    flag,
    instance,
    integer,
    optional,
    positive,
    positive_or_infinite,
    share,
)
from expunge.losses import Declared
from expunge.unlearning.linear.label_weights import label_weight_mapping
from expunge.unlearning.linear.linear_job import LinearJob
from expunge.unlearning.strategy import Strategy

__all__ = [
    "LARGEST_ROW_NORM",
    "Parameters",
    "check_parameters",
    "row_bound",
    "target_epsilon",
]

SMALLEST_ROW_NORM, LARGEST_ROW_NORM = 1e-15, 1e15  # squares stay within float32


@dataclass(eq=False, repr=False)
class Parameters:
    """What every certified estimator is given; `CertifiedClassifier` says what each means."""

    epsilon: float = 1.0
    delta: float = 1e-5
    strategy: str | Strategy[LinearJob] = "auto"
    observer: Literal["final", "all"] = "final"
    l2: float | Literal["public"] = 1e-3
    row_norm: float | Literal["public"] = 1.0
    reference: Literal["zero", "start", "center"] = "zero"
    released: bool = True
    random_state: int | None = None
    device: str = "cpu"
    adaptive_requests: bool = False
    capacity: float | None = None


def check_parameters(given: Mapping[str, Any]) -> None:
    """Every parameter that has a rule here, by name; `strategy` is looked at where it is chosen.

    Raises:
        ValueError: the first that makes no sense, in one line.
    """
    check_values(given, **{name: rule for name, rule in RULES.items() if name in given})


def target_epsilon(name: str, value: Any) -> float | int:
    """A rule: positive, and small enough to mean something."""
    plain = positive(name, value)
    if plain > LARGEST_MEANINGFUL_EPSILON:
        raise ValueError(f"{name}: {plain} must be in (0, 20]; above is vacuous")
    return plain


def row_bound(name: str, value: Any) -> float | int:
    """A rule: B, a positive number whose squares stay within float32."""
    plain = positive(name, value)
    if not SMALLEST_ROW_NORM <= plain <= LARGEST_ROW_NORM:
        within = f"{SMALLEST_ROW_NORM:g} to {LARGEST_ROW_NORM:g}"
        raise ValueError(f"{name}: {plain:g} must be within {within}")
    return plain


def _labels(name: str, value: Any) -> Any:
    """A list of labels, none of them missing, none twice."""
    if isinstance(value, str | bytes | Mapping) or not hasattr(value, "__len__"):
        raise ValueError(f"{name}: must be a list of labels, not {type(value).__name__}")
    try:
        labels = np.asarray(value)
    except ValueError as error:
        raise ValueError(f"{name}: must be a list of labels, not of lists") from error
    if labels.ndim != 1 or not len(labels):
        raise ValueError(f"{name}: must be a list of one or more labels")
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise ValueError(f"{name}: labels contain NaN or infinity")
    if any(label is None for label in labels.tolist()):
        raise ValueError(f"{name}: a label is None")
    if len({isinstance(label, str) for label in value}) > 1:
        raise ValueError(f"{name}: texts and numbers have no common order")
    if len(np.unique(labels)) < len(labels):
        raise ValueError(f"{name}: a label is there twice")
    return value


RULES: dict[str, Rule] = {
    "epsilon": target_epsilon,
    "delta": lambda _, value: check_delta(value),
    "observer": choice("final", "all"),
    "l2": either("public", positive),
    "row_norm": either("public", row_bound),
    "classes": optional(_labels),
    "target_norm": positive,
    "radius": positive_or_infinite,
    "loss": optional(instance(Declared, "a Declared loss")),
    "reference": choice("zero", "start", "center"),
    "released": flag,
    "random_state": optional(integer),
    "device": device,
    "adaptive_requests": flag,
    "capacity": optional(share),
    "class_weight": optional(label_weight_mapping),
}
