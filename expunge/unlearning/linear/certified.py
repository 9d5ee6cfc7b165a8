"""What certified estimators share: rows, ids, requests, certificates.

Rows are scaled to norm at most `row_norm`, an intercept feature counted, so that every constant of
the certificate is enforced. A request changes everything or nothing.
"""

import copy
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

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
from expunge.core.checks import flag, integer, path_like
from expunge.core.part_engine import HERE, PartEngine, engine_called
from expunge.core.rows import bounded_tables, public_row_norm
from expunge.core.stored_rows import StoredRows
from expunge.losses.linear import LinearLoss
from expunge.losses.objective import Rows, Targets
from expunge.losses.solver import solve
from expunge.store import Generation
from expunge.unlearning.course import records_of_capacity
from expunge.unlearning.fitted import fresh_lineage
from expunge.unlearning.holding import Holding, was_released
from expunge.unlearning.ids import given_ids, id_rows
from expunge.unlearning.linear.arrivals import arrivals
from expunge.unlearning.linear.capacity_curve import (
    CAPACITIES,
    CapacityCurve,
    check_own_capacity,
    draw_curve,
    with_capacity,
)
from expunge.unlearning.linear.checked_rows import alike, checked_records, checked_rows
from expunge.unlearning.linear.choice import (
    CAPACITY,
    cheapest,
    prices,
)
from expunge.unlearning.linear.estimator_parameters import (
    Parameters,
    check_parameters,
    row_bound,
)
from expunge.unlearning.linear.label_weights import plain_pairs, refuse_weights
from expunge.unlearning.linear.langevin import Langevin
from expunge.unlearning.linear.linear_fitted import LinearFitted
from expunge.unlearning.linear.linear_head import LinearHead
from expunge.unlearning.linear.linear_job import LinearJob, attainable
from expunge.unlearning.linear.poor_settings import (
    warn_of_lifted_delta,
    warn_of_poor_settings,
)
from expunge.unlearning.linear.public_ridge import PublicRidge, choose_ridge
from expunge.unlearning.linear.saved_estimator import generation_of, write_fitted
from expunge.unlearning.pricing import check_observer
from expunge.unlearning.released import PICKLED, Released
from expunge.unlearning.requests import exchange, honour, honour_batch, join, refresh
from expunge.unlearning.roster import Roster
from expunge.unlearning.row_store import RowStore
from expunge.unlearning.settings import describe
from expunge.unlearning.strategy import Strategy, strategy_of

__all__ = ["Certified", "unchanged_on_failure"]

WRITTEN_ANEW = ("classes", "class_weight")  # parameters that a file holds in another form

Given = ParamSpec("Given")
Result = TypeVar("Result")


def unchanged_on_failure(
    verb: Callable[Concatenate[Any, Given], Result],
) -> Callable[Concatenate[Any, Given], Result]:
    """Make a verb leave the estimator as it was where it fails."""

    @wraps(verb)
    def whole(self: Any, *given: Given.args, **named: Given.kwargs) -> Result:
        before = dict(vars(self))
        try:
            return verb(self, *given, **named)
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise

    return whole


class Certified(Holding[LinearFitted, Released], Parameters, BaseEstimator):
    """What classifier and regressor share: rows, ids, requests, certificates."""

    _state: LinearFitted | Released | None = None
    _apart: tuple[tuple[np.ndarray, np.ndarray], ...] = ()

    def choose_on(self, parts: Sequence[tuple[np.ndarray, np.ndarray]]) -> None:
        """Have the next fit choose `l2="public"` on these parts of the public records.

        Args:
            parts: Rows and labels of each; what made the rows was fitted on the other parts, where
                labels shaped it.
        """
        self._apart = tuple(parts)

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
        self._check_parameters()
        ids = given_ids(ids, X)
        X, y = checked_records(self, X, y, y_numeric=is_regressor(self))  # noqa: N806
        rows, answers = self._public_records(public, X)
        targets, public_targets, labels = self._answers(y, answers)
        self._fit(X, targets, (rows, public_targets), ids, labels)
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

    @property
    def l2_(self) -> float:
        """The ridge of this fit; `fitted_.ridge` says what it was chosen from, if it was."""
        return self._head.loss.l2

    @property
    def row_norm_(self) -> float:
        """B of this fit: rows above it are scaled down to it."""
        return self._head.loss.row_norm

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

    def forget_batch(
        self, requests: Iterable[Any], names: Sequence[str] | None = None, *, each: bool = True
    ) -> list[Certificate]:
        """Honour several requests by one model, all or none; returns their certificates.

        Args:
            requests: The ids of each, one or several; no id is in two of them.
            names: A name of each to publish: its certificate states it.
            each: A certificate for each request, in their order; else one for all of them.

        Raises:
            ValueError, NoCertificate: as for `forget`; nothing was changed.
        """
        each = flag("each", each)
        with self.replacing() as keep:
            return honour_batch(self.fitted_, requests, names, each=each, keep=keep)[1]

    def add(
        self,
        X: Any,  # noqa: N803
        y: Any,
        ids: Any = None,
        *,
        again: bool = False,
        request: str | None = None,
    ) -> Certificate | None:
        """Take new private records into the model; they can be forgotten like all others.

        Rows, labels and targets are held to what `fit` held them to. A certificate is about the
        records forgotten so far; while there are none, there is none.

        Args:
            ids: One for each record; "index" for a DataFrame's. None goes on with row numbers,
                where those of the fit are.
            again: Ids that were forgotten may come back, as new records.
            request: A name of this request to publish: its certificate states it.

        Raises:
            ValueError: values or ids that are not taken; the first is named.
            NoCertificate: nothing was changed; the message says why.
        """
        fitted = self.fitted_
        columns, again = arrivals(self, fitted, X, y), flag("again", again)
        ids = given_ids(ids, X)
        with self.replacing() as keep:
            after, certificate = join(fitted, columns, ids, again=again, request=request, keep=keep)
        warn_of_lifted_delta(after.job)
        return certificate

    def exchange(
        self,
        gone: Any,
        X: Any,  # noqa: N803
        y: Any,
        ids: Any = None,
        *,
        request: str | None = None,
    ) -> Certificate:
        """Delete records and take others in, in one request: for records that are corrected.

        Args:
            gone: Ids of the records that leave; one id or several.
            X, y, ids: The records that join, as for `add`; ids of those that leave may be theirs.
            request: A name of this request to publish: its certificate states it.

        Raises:
            ValueError, NoCertificate: as for `forget` and `add`; nothing was changed.
        """
        fitted = self.fitted_
        ids = given_ids(ids, X)
        columns = arrivals(self, fitted, X, y)
        with self.replacing() as keep:
            after, certificate = exchange(fitted, gone, columns, ids, request=request, keep=keep)
        warn_of_lifted_delta(after.job)
        return certificate

    def refresh(self) -> None:
        """Replace the anchor that requests start from: a pass over the records that are there.

        The model and its certificate stay as they are. A request does so itself when the anchor
        has grown too old or too far away; calling this at quiet times keeps requests quick.

        Raises:
            InvalidInput: the strategy keeps no anchor.
            NoCertificate: the stored records changed.
        """
        self._state = refresh(self.fitted_)

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
        path_like("folder", folder)
        fitted, kept = self.fitted_, self._kept_parameters()
        self._state = replace(fitted, copied=True)  # even if interrupted: it may be there
        write_fitted(fitted, folder, type(self).__name__, kept)

    def generation(self, folder: str | Path) -> Generation:
        """What `save` writes into this folder, for whoever commits it together with other things.

        Raises:
            ValueError: the model has a loss of the user's.
        """
        path_like("folder", folder)
        fitted, kept = self.fitted_, self._kept_parameters()
        self._state = replace(fitted, copied=True)
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

    def capacity_curve(self, capacities: Sequence[float] = CAPACITIES) -> CapacityCurve:
        """What noisy learning for so large shares of the private records costs, on public records.

        For observer "all", and wherever a model is to be noisy from the start. Beside each score
        stands that of the public-only model, which no deletion ever touches.

        Raises:
            InvalidInput: too few public records.
        """
        job, strategy = self.fitted_.job, self.fitted_.strategy
        noisy = hasattr(strategy, "chosen_sigma")
        return draw_curve(job, strategy if noisy else Langevin(), capacities)

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
        return self._copied(dict(vars(self)))

    def __deepcopy__(self, memo: dict[int, Any]) -> "Certified":
        """A copy with records and secrets: it can forget on its own; its certificates say so."""
        return self._copied(
            {name: copy.deepcopy(value, memo) for name, value in vars(self).items()}
        )

    def _copied(self, attributes: dict[str, Any]) -> "Certified":
        other = type(self).__new__(type(self))
        vars(other).update(attributes)
        for each in (self, other):
            if isinstance(each._state, LinearFitted):
                each._state = replace(each._state, copied=True)
        return other

    def _fit(
        self,
        private: Any,
        targets: np.ndarray,
        public: tuple[Any, np.ndarray],
        ids: Any,
        labels: np.ndarray | None = None,
    ) -> None:
        """Learn; nothing of an earlier fit changes before everything has succeeded."""
        bound = self.row_bound_of(public[0])
        count = public[0].shape[0]
        known = id_rows(ids, private.shape[0], offset=count)
        columns = (
            bounded_tables([public[0], private], bound),
            torch.from_numpy(np.concatenate([public[1], targets])),
        )
        on_device = [column.to(self.device) for column in columns]
        roster = Roster.of(known, count)
        self._learn(on_device[0], on_device[1], roster, public, bound, labels)

    @unchanged_on_failure
    def fit_stored(
        self,
        rows: StoredRows,
        public: tuple[Any, np.ndarray],
        bound: float,
        labels: np.ndarray | None,
        engine: str | PartEngine = HERE,
        *,
        released_before: bool = False,
    ) -> Self:
        """Learn from rows on disk, public ones first, bounded and with their labels as numbers.

        Ids of the private ones are their numbers, from 0 on.

        Args:
            rows: Columns `features`, by `core.rows.bounded_rows`, and `targets`.
            public: The public rows once more, before they were bounded, and their targets.
            bound: What norms are bounded to; by public constants or public rows only.
            labels: All labels, sorted; None for a regression.
            engine: Computes the parts of passes, now and at requests: "local", "ray" or one of
                your own. Certificates do not depend on it.
            released_before: A model of an earlier fit of these records was handed out.
        """
        self._check_parameters()
        engine = engine_called(engine)
        features, targets = rows.column("features"), rows.column("targets")
        self.n_features_in_ = features.shape[1] - 1
        count = public[0].shape[0]
        roster = Roster(id_rows(None, len(features) - count, count), count)
        self._learn(features, targets, roster, public, bound, labels, engine, released_before)
        return self

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
        """Learn from bounded rows; only then anything of the estimator changes."""
        ridge = self._public_ridge(public, labels, len(features))
        self._apart = ()
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
            rows=RowStore((job.features, job.targets)),
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

    def _public_ridge(
        self, public: tuple[Any, np.ndarray], labels: np.ndarray | None, records: int
    ) -> PublicRidge | None:
        """The ridge chosen on public records; None where a number was given."""
        if self.l2 != "public":
            return None
        return choose_ridge(
            *public,
            lambda l2, row_norm: self._make_loss(l2, row_norm, labels),
            row_norm="public" if self.row_norm == "public" else float(self.row_norm),
            records=records,
            classes=labels is not None,
            apart=[
                (rows, y.astype(np.float64) if labels is None else np.searchsorted(labels, y))
                for rows, y in self._apart
            ],
        )

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

    def _check_parameters(self) -> None:
        check_parameters(self.get_params(deep=False))

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
