"""Steps fitted on public records: private rows never reach `fit`.

What a step learns from private rows, a mean or a vocabulary, outlives every deletion and is in no
certificate's account. So `fit_steps` is given public records alone; whoever calls it has nothing
else to hand over.
"""

import copy
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from expunge.errors import InvalidInput
from expunge.features.blank_rows import usable_rows
from expunge.features.frozen_steps import FrozenSteps, StepOrigin, StepRecord
from expunge.features.row_blocks import count_rows, take_rows
from expunge.features.rows_apart import PROBE, check_one_by_one

__all__ = ["PASSED_THROUGH", "check_steps", "fit_halves", "fit_steps"]

PASSED_THROUGH = "passthrough"
TELLING = ("categories", "ranges", "target_range", "vocabulary")  # parameters that describe data
SILENT = (None, "auto", "infer")  # what they are where they do not
FEWEST = 40  # public records that are enough in two halves
SEED = 0  # public: it hides nothing


def check_steps(steps: Any, taken: Sequence[str]) -> list[tuple[str, Any]]:
    """The steps as pairs of a name and a transformer, those that pass everything through left out.

    Args:
        taken: Names that no step may have.

    Raises:
        InvalidInput: something else was given, or a name cannot be used; it is named.
    """
    pairs = list(steps) if isinstance(steps, list | tuple) else []
    if not pairs or not all(isinstance(pair, list | tuple) and len(pair) == 2 for pair in pairs):
        raise InvalidInput("steps", "must be a list of pairs (name, transformer), at least one")
    names = [name for name, _ in pairs]
    for name in names:
        if not isinstance(name, str) or not name or "__" in name or name in taken:
            raise InvalidInput("steps", f"{name!r} cannot be a step's name; choose another")
        if names.count(name) > 1:
            raise InvalidInput("steps", f"two steps are called {name!r}")
    kept = [(name, step) for name, step in pairs if step is not None and step != PASSED_THROUGH]
    for name, step in kept:
        usable = hasattr(step, "fit") and hasattr(step, "transform")
        if isinstance(step, type) or not usable or not hasattr(step, "get_params"):
            raise InvalidInput(f"steps: {name!r}", f"{step!r} is no scikit-learn transformer")
    return kept


def fit_steps(
    steps: Sequence[tuple[str, Any]], public: tuple[Any, Any] | None, sample: Any
) -> FrozenSteps:
    """Fit copies of the steps on public records, each on what the ones before make of them.

    Args:
        steps: As `check_steps` returns them.
        public: Rows and labels that are never deleted; None if there are none.
        sample: Rows on which steps that need no fitting are tried where there are no public ones.

    Raises:
        InvalidInput: a step must be fitted and there are no public rows, or it mixes rows.
    """
    rows, labels = (None, None) if public is None else public
    count = 0 if rows is None else count_rows(rows)
    probe = take_rows(rows if count else sample, slice(0, PROBE))
    fitted: list[StepRecord] = []
    for name, given in steps:
        step: Any = clone(given)
        where = f"steps: {name!r}"
        origin = _origin_of(step)
        if count:
            step.fit(rows, labels)
            origin = "public" if origin == "stateless" else origin
        elif origin == "public":
            raise InvalidInput(
                where,
                f"{type(step).__name__} must be fitted, and on public records alone: pass "
                "public=(X_public, y_public), or take a step that needs none "
                "(expunge.features.DeclaredColumns, Normalizer, HashingVectorizer)",
            )
        step = copy.deepcopy(step)  # of what fit may have kept from its arguments
        fitted.append(StepRecord(name, step, origin, _declared_in(step)))
        tried = copy.deepcopy(step)  # the rows may be private ones, which a step might keep
        if not count:  # and such rows may fail, one by one
            probe = take_rows(probe, np.flatnonzero(usable_rows(tried.transform, probe)))
        if count_rows(probe):
            check_one_by_one(where, tried.transform, probe)
            probe = tried.transform(probe)
        if count:
            rows = step.transform(rows)
    return FrozenSteps(tuple(fitted), count)


def fit_halves(frozen: FrozenSteps, public: tuple[Any, Any]) -> list[tuple[Any, np.ndarray]]:
    """Both halves of the public records, as steps fitted on the other half make them, and labels.

    Where labels shaped a step, what it makes of its own records flatters them; settings are chosen
    on these rows instead. What a step chose on all public records (`settled`) stays.

    Returns:
        Nothing where no step takes labels, or where halves would be too small.
    """
    labels, steps = np.asarray(public[1]), [step.transformer for step in frozen.steps]
    shaped = any(
        get_tags(each).target_tags.required
        for step in steps
        for each in _estimators_in(step)
        if isinstance(each, BaseEstimator)
    )
    if not shaped or len(labels) < FEWEST:
        return []
    order = np.random.default_rng(SEED).permutation(len(labels))
    order = order[np.argsort(labels[order], kind="stable")]  # labels fall in halves too
    halves = np.sort(order[::2]), np.sort(order[1::2])
    parts = []
    for grown, held in (halves, halves[::-1]):
        kept = take_rows(public[0], held)
        rows, seen = kept, take_rows(public[0], grown)
        for step in steps:
            fresh: Any = step.settled() if hasattr(step, "settled") else clone(step)
            fresh.fit(seen, labels[grown])
            rows, seen = fresh.transform(rows), fresh.transform(seen)
        parts.append((rows if sparse.issparse(rows) else np.asarray(rows), labels[held]))
    return parts


def _origin_of(step: Any) -> StepOrigin:
    """Where an unfitted copy of a step gets what it knows from."""
    inside = list(_estimators_in(step))
    if any(isinstance(each, FunctionTransformer) or _knows(each) for each in inside):
        return "declared"
    return "public" if _needs_fit(step) else "stateless"


def _needs_fit(step: Any) -> bool:
    return not isinstance(step, BaseEstimator) or get_tags(step).requires_fit


def _knows(step: Any) -> bool:
    """Whether even a fresh copy is fitted: somebody else fitted it before, on whatever it was."""
    if not _needs_fit(step):
        return getattr(step, "is_declared", False)
    try:
        check_is_fitted(step)
    except (NotFittedError, TypeError):
        return False
    return True


def _estimators_in(step: Any) -> Iterator[Any]:
    """A step and every estimator among its parameters, at any depth."""
    yield step
    if hasattr(step, "get_params") and not isinstance(step, type):
        parameters = step.get_params(deep=True)
        yield from (value for value in parameters.values() if hasattr(value, "get_params"))


def _declared_in(step: Any) -> tuple[str, ...]:
    """Parameters of a step, at any depth, that say something about the data."""
    given = step.get_params(deep=True)
    return tuple(
        name
        for name, value in given.items()
        if name.rpartition("__")[2] in TELLING
        and not (isinstance(value, str | type(None)) and value in SILENT)
    )
