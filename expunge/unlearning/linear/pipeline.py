"""A certified estimator behind preprocessing that no private record shaped.

    pipe = CertifiedPipeline([("scale", StandardScaler()), ("trees", TreeLeaves())], clf)
    pipe.fit(X, y, public=(X_public, y_public), ids=ids)
    certificate = pipe.forget(ids[:10])

Every step is fitted on public rows alone, by construction: `fit_steps` is given nothing else. The
certificate says so, step by step. The fitted steps lie in the estimator's frozen state, so they are
saved, released and copied with it.
"""

import copy
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from expunge.accounting.certificate import Certificate
from expunge.accounting.history import History
from expunge.accounting.prices import Price
from expunge.errors import InvalidInput
from expunge.features.frozen_steps import FrozenSteps
from expunge.features.public_fitting import check_steps, fit_halves, fit_steps
from expunge.features.public_range import describe_outside
from expunge.features.row_blocks import count_rows, take_rows
from expunge.features.rows_apart import PROBE
from expunge.unlearning.holding import unchanged_on_failure, was_released
from expunge.unlearning.ids import given_ids
from expunge.unlearning.linear.certified import Certified
from expunge.unlearning.linear.estimator import (
    ESTIMATORS,
    CertifiedClassifier,
    CertifiedRegressor,
    resume,
)
from expunge.unlearning.linear.linear_fitted import LinearFitted
from expunge.unlearning.linear.named_steps import NamedSteps
from expunge.unlearning.linear.saved_estimator import read_fitted
from expunge.unlearning.released import Released

__all__ = ["CertifiedPipeline", "load"]

OWN = ("steps", "estimator")  # parameters, so no names for steps


def _estimator_has(name: str) -> Any:
    return lambda self: hasattr(self.estimator if self._model is None else self._model, name)


class CertifiedPipeline(NamedSteps):
    """Transformers fitted on public rows alone, and a certified estimator behind them.

    Args:
        steps: Pairs (name, transformer): any of scikit-learn's, or your own with the same methods.
            "passthrough" leaves one out. Copies are fitted; yours stay as they are.
        estimator: A `CertifiedClassifier` or `CertifiedRegressor`; a copy is fitted.
    """

    estimator: Certified
    _model: Certified | None = None

    def __init__(self, steps: list[tuple[str, Any]], estimator: Certified) -> None:
        self.steps = steps
        self.estimator = estimator

    @unchanged_on_failure
    def fit(self, X: Any, y: Any, public: Any = None, ids: Any = None) -> "CertifiedPipeline":  # noqa: N803
        """Fit the steps on public rows, then the estimator on what they make of all rows.

        Args:
            X, y: Private records.
            public: (X_public, y_public), which are never deleted. Steps that must be fitted are
                fitted on them, those that need labels with theirs.
            ids: One for each private record; row numbers by default, "index" for a DataFrame's.

        Raises:
            InvalidInput: a step must be fitted and there are no public rows, or it mixes rows.
        """
        ids = given_ids(ids, X)
        if not count_rows(X):
            raise InvalidInput("X", "has no rows")
        validate_data(self, X, skip_check_array=True)
        public = self._checked_public(public)
        frozen = self._frozen(X, public)
        probe = None if public is None else take_rows(public[0], slice(0, PROBE))
        rows = frozen.transform_apart(X, probe)
        features = None if public is None else (frozen.transform(public[0]), public[1])
        model: Any = clone(self.estimator)
        if public is not None and model.l2 == "public":
            model.choose_on(fit_halves(frozen, public))
        model.fit(rows, y, public=features, ids=ids)
        self._warn_outside(X, public)
        before = self._model
        fitted = replace(
            model.fitted_,
            preprocessing=frozen,
            released_before=before is not None and was_released(before.held_),
        )
        model.resume(fitted, None)
        self._model = model
        return self

    def add(self, X: Any, y: Any, ids: Any = None, **named: Any) -> Any:  # noqa: N803
        """Take new private records into the model, through the same steps.

        Args:
            named: What else the estimator's `add` takes.
        """
        model = self._fitted_model()
        ids = given_ids(ids, X)
        self._check_columns(X)
        return model.add(self._arrivals(X), y, ids=ids, **named)

    def exchange(self, gone: Any, X: Any, y: Any, ids: Any = None, **named: Any) -> Certificate:  # noqa: N803
        """Delete records and take others in, in one request; as the estimator's `exchange`."""
        model = self._fitted_model()
        ids = given_ids(ids, X)
        self._check_columns(X)
        return model.exchange(gone, self._arrivals(X), y, ids=ids, **named)

    def forget(self, ids: Any, request: str | None = None) -> Certificate:
        """Delete these records from the model; one id or several. As the estimator's `forget`."""
        return self._fitted_model().forget(ids, request)

    def forget_batch(
        self, requests: Iterable[Any], names: Sequence[str] | None = None, *, each: bool = True
    ) -> list[Certificate]:
        """Honour several requests by one model; as the estimator's `forget_batch`."""
        return self._fitted_model().forget_batch(requests, names, each=each)

    def refresh(self) -> None:
        """Replace the anchor that requests start from; as the estimator's `refresh`."""
        self._fitted_model().refresh()

    def placebo(self, ids: Any) -> Released:
        """What forgetting these would give at the same cost if nothing were carried over.

        As the estimator's `placebo`; `predict` of what is returned takes rows as `fit` does.
        """
        head = self._fitted_model().placebo(ids)
        return Released(head, None, None, copy.deepcopy(self.fitted_.preprocessing))

    def plan(self, forget: int) -> list[Price]:
        """Every strategy, priced for forgetting so many records, those that can be taken first."""
        return self._fitted_model().plan(forget)

    def predict(self, X: Any) -> np.ndarray:  # noqa: N803
        return self._fitted_model().predict(self._features(X))

    @available_if(_estimator_has("predict_proba"))
    def predict_proba(self, X: Any) -> np.ndarray:  # noqa: N803
        return self._fitted_model().predict_proba(self._features(X))

    @available_if(_estimator_has("decision_function"))
    def decision_function(self, X: Any) -> np.ndarray:  # noqa: N803
        return self._fitted_model().decision_function(self._features(X))

    def score(self, X: Any, y: Any) -> float:  # noqa: N803
        """The estimator's score of these rows: accuracy, or R2."""
        return self._fitted_model().score(self._features(X), y)

    def release(self) -> Released:
        """A plain predictor that takes raw rows: steps, weights, labels, certificate.

        No private record and no secret is in it.
        """
        return self._fitted_model().release()

    def model_bytes(self) -> bytes:
        """The model's file, as it may be handed out; certificates name its hash."""
        return self._fitted_model().model_bytes()

    def save(self, folder: str | Path) -> None:
        """Write steps, model, certificate, records and secret state into a folder; no pickle.

        Raises:
            InvalidInput: a step holds something that no reader would accept; it is named.
            ValueError: as the estimator's `save`.
        """
        self._fitted_model().save(folder)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """The names of the features that the estimator is given.

        Raises:
            ValueError: what is given is no list of names.
        """
        if input_features is not None and np.ndim(input_features) != 1:
            raise InvalidInput("input_features", "must be a list of names, one for each column")
        return self._steps().feature_names(input_features)

    @property
    def fitted_(self) -> LinearFitted:
        """What a request reads and replaces, the fitted steps included."""
        return self._fitted_model().fitted_

    @property
    def fitted_steps_(self) -> list[tuple[str, Any]]:
        """The fitted transformers by name; copies, which change nothing here."""
        return self._steps().fitted()

    @property
    def certificate_(self) -> Certificate | None:
        """The certificate of the current model; None before the first deletion."""
        return self._fitted_model().certificate_

    @property
    def history_(self) -> History | None:
        """What the certificate is a function of; None where there is nothing to certify yet."""
        return self._fitted_model().history_

    @property
    def classes_(self) -> np.ndarray:
        """The labels of a classifier, sorted."""
        return self._fitted_model().classes_

    def resume(self, model: Certified) -> None:
        """Go on from a state that was saved."""
        self._model = model
        steps = self._steps()
        if steps.width is not None:
            self.n_features_in_ = steps.width
        if steps.columns is not None:
            self.feature_names_in_ = np.asarray(steps.columns, dtype=object)

    def __sklearn_is_fitted__(self) -> bool:
        return self._model is not None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if not isinstance(self.estimator, Certified):
            return tags  # `fit` says what is wrong
        inner = get_tags(self.estimator)
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags, tags.regressor_tags = inner.classifier_tags, inner.regressor_tags
        tags.target_tags = inner.target_tags
        try:
            each = [get_tags(step).input_tags for _, step in check_steps(self.steps, OWN)]
        except (AttributeError, InvalidInput):
            return tags
        if each:
            tags.input_tags = copy.copy(each[0])
            tags.input_tags.sparse = all(step.sparse for step in each)
        return tags

    def __getstate__(self) -> dict[str, Any]:
        """What pickle writes: parameters, and of a fitted model what may be handed out."""
        state = dict(vars(self))
        state["steps"] = clone(self.steps, safe=False)
        state["estimator"] = clone(self.estimator, safe=False)
        return state

    def __copy__(self) -> "CertifiedPipeline":
        """A copy that shares the state; both say from now on that another one may exist."""
        return self._copied({**vars(self), "_model": copy.copy(self._model)})

    def __deepcopy__(self, memo: dict[int, Any]) -> "CertifiedPipeline":
        """A copy with records and secrets: it can forget on its own; its certificates say so."""
        return self._copied(copy.deepcopy(vars(self), memo))

    def _copied(self, attributes: dict[str, Any]) -> "CertifiedPipeline":
        other = type(self).__new__(type(self))
        vars(other).update(attributes)
        return other

    def _frozen(self, X: Any, public: Any) -> FrozenSteps:  # noqa: N803
        """The steps, fitted."""
        if not isinstance(self.estimator, Certified):
            raise InvalidInput("estimator", "must be a CertifiedClassifier or a CertifiedRegressor")
        frozen = fit_steps(check_steps(self.steps, OWN), public, X)
        names = getattr(self, "feature_names_in_", None)
        return replace(
            frozen,
            width=getattr(self, "n_features_in_", None),
            columns=None if names is None else tuple(names.tolist()),
        )

    def _checked_public(self, public: Any) -> Any:
        """Public rows and labels; None if there are none."""
        if public is None:
            return None
        if not isinstance(public, tuple | list) or len(public) != 2:
            raise InvalidInput("public", "must be a pair (X_public, y_public)")
        self._check_columns(public[0])
        return public if count_rows(public[0]) else None

    def _warn_outside(self, X: Any, public: Any) -> None:  # noqa: N803
        """Tell the operator of private rows beyond the public range; nobody else is told."""
        outside = None if public is None else describe_outside(X, public[0])
        if outside is not None:
            warnings.warn(outside, stacklevel=4)

    def _check_columns(self, X: Any) -> None:  # noqa: N803
        if not count_rows(X) and not hasattr(X, "shape"):
            raise InvalidInput("X", "has no rows")
        validate_data(self, X, reset=False, skip_check_array=True)

    def _arrivals(self, X: Any) -> Any:  # noqa: N803
        """What the estimator is given for private rows that are to join."""
        return self._steps().transform_apart(X, width=self._fitted_model().n_features_in_)

    def _features(self, X: Any) -> np.ndarray:  # noqa: N803
        """What the estimator is given for these rows."""
        steps = self._steps()
        self._check_columns(X)
        return steps.transform(X)

    def _fitted_model(self) -> Any:
        """The fitted estimator, with the verbs of its kind."""
        check_is_fitted(self)
        return self._model

    def _steps(self) -> FrozenSteps:
        steps = self._fitted_model().held_.preprocessing
        assert steps is not None
        return steps


def load(folder: str | Path) -> CertifiedClassifier | CertifiedRegressor | CertifiedPipeline:
    """A fitted estimator or pipeline as `save` wrote it.

    Raises:
        ValueError: not such a folder, of an earlier version, or changed since.
    """
    return read_fitted(folder, ESTIMATORS, _resume)


def _resume(
    fitted: LinearFitted, kind: str, kept: dict[str, Any]
) -> CertifiedClassifier | CertifiedRegressor | CertifiedPipeline:
    """The estimator, behind its steps where it has any."""
    model = resume(fitted, kind, kept)
    if fitted.preprocessing is None:
        return model
    steps = [(name, clone(step)) for name, step in fitted.preprocessing.fitted()]
    fresh: Any = clone(model)
    pipeline = CertifiedPipeline(steps, fresh)
    pipeline.resume(model)
    return pipeline
