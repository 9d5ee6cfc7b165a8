"""What certified estimators share: rows, ids, requests, certificates.

Rows are scaled to norm at most `row_norm`, an intercept feature counted, so that every constant of
the certificate is enforced. A request changes everything or nothing.
"""

import copy
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from scipy import sparse
from sklearn.base import BaseEstimator, is_regressor
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from expunge.accounting.certificate import Certificate
from expunge.accounting.prices import Price
from expunge.accounting.reservations import Origin
from expunge.accounting.target import EpsilonDelta
from expunge.core.checks import integer, path_like
from expunge.core.part_engine import HERE, PartEngine
from expunge.core.rows import bounded_tables, public_row_norm
from expunge.losses.linear import LinearLoss
from expunge.losses.objective import Rows, Targets
from expunge.losses.solver import solve
from expunge.store import Generation, write
from expunge.unlearning.batch_requests import BatchRequests
from expunge.unlearning.course import records_of_capacity
from expunge.unlearning.fitted import fresh_lineage
from expunge.unlearning.holding import unchanged_on_failure, was_released
from expunge.unlearning.ids import given_ids, id_rows
from expunge.unlearning.linear.capacity_curve import (
    check_own_capacity,
    with_capacity,
)
from expunge.unlearning.linear.checked_rows import alike, checked_records, checked_rows
from expunge.unlearning.linear.choice import (
    CAPACITY,
    cheapest,
    prices,
)
from expunge.unlearning.linear.estimator_parameters import (
    check_parameters,
    row_bound,
)
from expunge.unlearning.linear.growing_rows import GrowingRows
from expunge.unlearning.linear.joining import Joining
from expunge.unlearning.linear.label_weights import plain_pairs, refuse_weights
from expunge.unlearning.linear.linear_fitted import LinearFitted
from expunge.unlearning.linear.linear_head import LinearHead
from expunge.unlearning.linear.linear_job import LinearJob, attainable
from expunge.unlearning.linear.poor_settings import warn_of_poor_settings
from expunge.unlearning.linear.public_settings import PublicSettings
from expunge.unlearning.linear.refreshing import Refreshing
from expunge.unlearning.linear.saved_estimator import generation_of
from expunge.unlearning.linear.saved_rows import follow
from expunge.unlearning.pricing import check_observer
from expunge.unlearning.released import PICKLED, Released
from expunge.unlearning.requests import honour
from expunge.unlearning.roster import Roster
from expunge.unlearning.settings import describe
from expunge.unlearning.strategy import Strategy, strategy_of

__all__ = ["Certified"]

WRITTEN_ANEW = ("classes", "class_weight")  # parameters that a file holds in another form


class Certified(
    BatchRequests[LinearFitted, Released], Joining, Refreshing, PublicSettings, BaseEstimator
):
    """What classifier and regressor share: rows, ids, requests, certificates."""

    _state: LinearFitted | Released | None = None

    def __sklearn_is_fitted__(self) -> bool:
        return self._state is not None

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @unchanged_on_failure
    def fit(
        self,
        X: Any,  # noqa: N803
        y: Any,
        public: Any = None,
        ids: Any = None,
        **others: Any,
    ) -> Self:
        """Learn from private records (X, y) and public ones (X_public, y_public).

        Args:
            X: Rows, dense or sparse (SciPy); sparse ones stay sparse.
            ids: One for each private record; row numbers by default, "index" for a DataFrame's.

        Raises:
            InvalidInput: `sample_weight`, and why not.
        """
        refuse_weights(others)
        check_parameters(self.get_params(deep=False))
        ids = given_ids(ids, X)
        X, y = checked_records(self, X, y, y_numeric=is_regressor(self))  # noqa: N806
        rows, answers = self._public_records(public, X)
        targets, public_targets, labels = self._answers(y, answers)
        bound = self.row_bound_of(rows)
        columns = (
            bounded_tables([rows, X], bound),
            torch.from_numpy(np.concatenate([public_targets, targets])),
        )
        features, values = (column.to(self.device) for column in columns)
        roster = Roster(id_rows(ids, X.shape[0], offset=rows.shape[0]), rows.shape[0])
        self._learn(features, values, roster, (rows, public_targets), bound, labels)
        return self

    @property
    def held_(self) -> LinearFitted | Released:
        """The fitted state; of an estimator that was pickled, what may be handed out."""
        check_is_fitted(self)
        assert self._state is not None
        return self._state

    @property
    def coef_(self) -> np.ndarray:
        """Weights (outputs, features), the intercept left out."""
        return self._head.theta.numpy()[:, :-1].copy()

    @property
    def intercept_(self) -> np.ndarray:
        return self._head.theta.numpy()[:, -1].copy()

    def predict(self, X: Any) -> np.ndarray:  # noqa: N803
        return self._head.predict(self._checked_rows(X))

    def forget(self, ids: Any, request: str | None = None) -> Certificate:
        """Delete these records from the model; one id or several.

        Args:
            request: A name of this request to publish: its certificate states it.

        Raises:
            ValueError: an id that is unknown, public, repeated or already forgotten, named.
            NoCertificate: nothing was changed; the message says why.
        """
        with self.replacing() as keep:
            return honour(self.fitted_, ids, request, keep=keep)[1]

    def placebo(self, ids: Any) -> LinearHead:
        """What forgetting these would give at the same cost if nothing were carried over.

        An exact deletion, from the initial point; its `predict` takes rows. A request whose model
        does no better bought nothing. Nothing is forgotten by asking.

        Raises:
            ValueError, NoCertificate: as for `forget`.
        """
        fitted = self.fitted_
        job = fitted.job.without(fitted.job.roster.rows_of(ids))
        fitted.check_unchanged()
        return replace(fitted.head, theta=fitted.strategy.placebo(job, fitted.outcome).theta)

    def release(self) -> Released:
        """A plain predictor: weights, labels, row bound and certificate; no record, no secret."""
        held = self.held_
        return held if isinstance(held, Released) else Released.of(held)

    def model_bytes(self) -> bytes:
        """The model's file, as it may be handed out; certificates name its hash."""
        return self.release().model_bytes

    def save(self, folder: str | Path) -> None:
        """Write model, certificate, records and secret state into a folder (`expunge.store`).

        Certificates issued from then on say that they rest on your word that this state is
        continued once.

        Raises:
            ValueError: the folder holds something else, a later request or another fit's, the
                model has a loss of the user's, or a parameter set since fit cannot be saved.
        """
        fitted = self.fitted_
        write(folder, self.generation(folder))
        follow(fitted, Path(folder))

    def generation(self, folder: str | Path) -> Generation:
        """What `save` writes into this folder, for whoever commits it together with other things.

        Raises:
            ValueError: the model has a loss of the user's.
        """
        path_like("folder", folder)
        fitted, kept = self.fitted_, self._kept_parameters()
        self._state = replace(fitted, copied=True)  # even if interrupted: it may be there
        return generation_of(fitted, folder, type(self).__name__, kept)

    def _kept_parameters(self) -> dict[str, Any]:
        """Parameters and names of features, as JSON brings them back.

        Raises:
            ValueError: labels or weights that were set since are none.
        """
        given = self.get_params(deep=False)
        check_parameters({name: given[name] for name in WRITTEN_ANEW if name in given})
        parameters = {n: v.item() if isinstance(v, np.generic) else v for n, v in given.items()}
        parameters.pop("loss", None)
        parameters["strategy"] = describe(parameters["strategy"], "strategy")
        if parameters.get("classes") is not None:
            parameters["classes"] = np.asarray(parameters["classes"]).tolist()
        if parameters.get("class_weight") is not None:
            parameters["class_weight"] = plain_pairs(parameters["class_weight"])
        names = getattr(self, "feature_names_in_", None)
        return {"set": parameters, "feature_names": None if names is None else names.tolist()}

    def resume(self, fitted: LinearFitted, feature_names: list[str] | None) -> None:
        """Go on from a state that was saved."""
        self.n_features_in_ = fitted.job.features.shape[1] - 1
        if feature_names is not None:
            self.feature_names_in_ = np.asarray(feature_names, dtype=object)
        if fitted.classes is not None:
            self.classes_ = fitted.classes.copy()
        self._state = fitted

    def plan(self, forget: int) -> list[Price]:
        """Every strategy, priced for forgetting so many records, those that can be taken first."""
        job = self.fitted_.job
        if not 0 < integer("forget", forget) <= job.roster.private:
            raise ValueError(f"forget: {forget} of {job.roster.private} private records")
        return prices(job, forget)

    def __getstate__(self) -> dict[str, Any]:
        """What pickle writes: parameters and, of a fitted estimator, what may be handed out."""
        state = {name: value for name, value in vars(self).items() if name != "_state"}
        if self._state is not None:
            if not isinstance(self._state, Released):
                warnings.warn(PICKLED, stacklevel=2)
            state["_state"] = self.release()
        return state

    def __copy__(self) -> "Certified":
        """A copy that shares the state; both say from now on that another one may exist."""
        return self._with({**vars(self), "_state": copy.copy(self._state)})

    def __deepcopy__(self, memo: dict[int, Any]) -> "Certified":
        """A copy with records and secrets: it can forget on its own; its certificates say so."""
        return self._with(copy.deepcopy(vars(self), memo))

    def _with(self, attributes: dict[str, Any]) -> "Certified":
        other = type(self).__new__(type(self))
        vars(other).update(attributes)
        return other

    def _learn(
        self,
        features: Rows,
        targets: Targets,
        roster: Roster,
        public: tuple[Any, np.ndarray],
        bound: float,
        labels: np.ndarray | None,
        engine: PartEngine = HERE,
        released_before: bool = False,
    ) -> None:
        """Learn from bounded rows; nothing of an earlier fit changes before it has succeeded."""
        ridge = self.choose_ridge(self._make_loss, public, labels, len(features))
        l2 = float(self.l2) if ridge is None else ridge.l2
        seed = None if self.random_state is None else int(self.random_state)
        job = self._with_reference(
            LinearJob(
                loss=self._make_loss(l2, bound, labels),
                features=features,
                targets=targets,
                roster=roster,
                target=EpsilonDelta(self.epsilon, self.delta),
                observer="all" if self.observer == "all" else "final",
                seed=seed,
                adaptive_requests=bool(self.adaptive_requests),
                intercept=True,
                engine=engine,
            )
        )
        chosen = copy.deepcopy(self._choose(job))
        warn_of_poor_settings(job, chosen, public[0])
        outcome = chosen.fit(job)
        if labels is not None:
            self.classes_ = labels.copy()
        self._state = LinearFitted(
            job=job,
            rows=GrowingRows((job.features, job.targets)),
            strategy=chosen,
            outcome=outcome.lay_out(),
            classes=labels,
            released=bool(self.released),
            released_before=released_before or was_released(self._state),
            lineage=fresh_lineage(),
            labels=None if labels is None else self._origin_of_labels(roster.public),
            ridge=ridge,
        )

    def _answers(
        self, y: np.ndarray, public: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Private and public targets as losses take them, and the labels of a classifier."""
        raise NotImplementedError

    def _make_loss(self, l2: float, row_norm: float, labels: np.ndarray | None) -> LinearLoss:
        raise NotImplementedError

    def _public_records(self, public: Any, like: Any) -> tuple[Any, np.ndarray]:
        """Public rows and labels in the private rows' form and precision; none is none."""
        if public is None:
            return like[:0], np.empty(0, dtype=object)
        if not isinstance(public, tuple | list) or len(public) != 2:
            raise ValueError("public: must be a pair (X_public, y_public)")
        features, labels = public
        rows = alike(checked_rows(self, features, like.dtype), sparse.issparse(like))
        labels = np.asarray(labels)
        if labels.ndim == 0:
            raise ValueError(f"public: labels must be a list, one for each row, not {labels!r:.40}")
        if len(labels) != rows.shape[0]:
            raise ValueError(f"public: {rows.shape[0]} rows and {len(labels)} labels")
        if labels.dtype.kind == "f" and not np.isfinite(labels).all():
            raise ValueError("public: labels contain NaN or infinity")
        return rows, labels

    def _checked_rows(self, features: Any) -> Any:
        """Rows to predict for."""
        check_is_fitted(self)
        return checked_rows(self, features)

    def row_bound_of(self, public: Any) -> float:
        """What norms of rows are bounded to: as told, or what the public rows tell.

        Raises:
            ValueError: the public rows tell nothing.
        """
        if self.row_norm != "public":
            return float(self.row_norm)
        if not public.shape[0]:
            raise ValueError("row_norm='public' needs public records; give a number instead")
        return row_bound("public", public_row_norm(public))

    def _with_reference(self, job: LinearJob) -> LinearJob:
        """The job with the public records' minimiser where `reference` wants it."""
        if self.reference == "zero":
            return job
        if not job.roster.public:
            raise ValueError(f"reference={self.reference!r} needs public records")
        alone = replace(job, roster=job.roster.public_only)
        tolerance = max(1e-8, alone.resolution.least_tolerance())
        minimiser = solve(job.public_objective, job.origin, tolerance=tolerance)
        return replace(
            job, start=minimiser, center=minimiser.clone() if self.reference == "center" else None
        )

    def _choose(self, job: LinearJob) -> Strategy[LinearJob]:
        """The named strategy, or for `auto` the cheapest that is sound for the observer."""
        if self.strategy == "auto":
            share = CAPACITY if self.capacity is None else self.capacity
            return with_capacity(
                cheapest(job, records_of_capacity(share, job.roster)), self.capacity
            )
        chosen = strategy_of("linear", self.strategy, also=["auto"])
        check_observer(chosen, job.observer)
        if isinstance(self.strategy, str):
            return with_capacity(attainable(chosen, job), self.capacity)
        check_own_capacity(chosen, self.capacity)
        return chosen

    def _origin_of_labels(self, public: int) -> Origin:
        if getattr(self, "classes", None) is not None:
            return "declared"
        return "public" if public else "private"

    @property
    def _head(self) -> LinearHead:
        return self.held_.head
