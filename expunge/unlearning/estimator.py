"""scikit-learn estimators that can forget: fit, forget(ids) -> Certificate, predict.

    clf = CertifiedClassifier(epsilon=1.0, delta=1e-5, l2=1e-2)
    clf.fit(X, y, public=(X_public, y_public), ids=ids)
    certificate = clf.forget(ids_to_delete)

Rows are scaled to norm at most `row_norm`, an intercept feature counted, so that every constant of
the certificate is enforced. Preprocessing before `fit` is the caller's: a scaler fitted on private
rows voids the certificate, and the certificate says that preprocessing is declared, not checked.
"""

import hashlib
import math
import secrets
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np
import torch
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from expunge.accounting.account import LARGEST_MEANINGFUL_EPSILON
from expunge.accounting.calibration import EpsilonDelta
from expunge.accounting.certificate import Certificate, issue
from expunge.accounting.history import History
from expunge.accounting.strategies import Strategy as Price
from expunge.core.rows import bounded_rows, public_row_norm
from expunge.losses import Declared, Logistic, Softmax, Squared
from expunge.losses.linear import LinearLoss
from expunge.sampling.batches import keys_of
from expunge.unlearning.choice import EXPOSED, Strategy, cheapest, prices
from expunge.unlearning.ids import id_rows, rows_to_forget
from expunge.unlearning.job import Job, NoCertificate, Outcome
from expunge.unlearning.langevin import Langevin, NoiseFirst
from expunge.unlearning.residual import Residual
from expunge.unlearning.retrain import Retrain
from expunge.unlearning.solver import NotConverged, solve

__all__ = ["CertifiedClassifier", "CertifiedRegressor"]

STRATEGIES: dict[str, Strategy] = {
    s.name: s for s in (Residual(), Langevin(), NoiseFirst(), Retrain())
}


class _Certified(BaseEstimator):
    """What classifier and regressor share: rows, ids, requests, certificates."""

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        strategy: str | Strategy = "auto",
        observer: Literal["final", "all"] = "final",
        l2: float = 1e-2,
        row_norm: float | Literal["public"] = 1.0,
        reference: Literal["zero", "start", "center"] = "zero",
        released: bool = True,
        random_state: int | None = None,
        device: str = "cpu",
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.strategy = strategy
        self.observer = observer
        self.l2 = l2
        self.row_norm = row_norm
        self.reference = reference
        self.released = released
        self.random_state = random_state
        self.device = device

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_outcome")

    @property
    def certificate_(self) -> Certificate | None:
        """Of the current model; None before the first deletion."""
        check_is_fitted(self)
        return self._certificate

    @property
    def history_(self) -> History | None:
        """What the certificate is a function of; None where there is nothing to certify yet."""
        check_is_fitted(self)
        return self._outcome.history

    @property
    def coef_(self) -> np.ndarray:
        """(outputs, features), the intercept left out."""
        check_is_fitted(self)
        return self._outcome.theta.numpy()[:, :-1].copy()

    @property
    def intercept_(self) -> np.ndarray:
        check_is_fitted(self)
        return self._outcome.theta.numpy()[:, -1].copy()

    def forget(self, ids: Any) -> Certificate:
        """Delete these records from the model; one id or several.

        Raises:
            ValueError: an id that is unknown, public, repeated or already forgotten, named.
            NoCertificate: nothing was changed; the message says why.
        """
        check_is_fitted(self)
        rows = rows_to_forget(ids, self._ids, self._job.keep)
        if _digest(self._job) != self._fingerprint:
            raise NoCertificate("the stored records changed since fit; fit again")
        keep = self._job.keep.clone()
        keep[rows] = False
        if not keep.any():
            raise ValueError("forget: no record would remain, so there is no comparator")
        left = self._job.left.clone()
        left[rows] = int(left.max()) + 1
        job = replace(self._job, keep=keep, left=left)
        try:
            outcome = self._chosen.forget(job, self._outcome)
        except NotConverged as error:
            raise NoCertificate(str(error)) from error
        certificate = self._issued(job, outcome)
        # Everything succeeded: only now does anything change.
        job.features[rows] = 0
        job.targets[rows] = 0
        self._install(job, self._chosen, outcome, certificate)
        return certificate

    def plan(self, forget: int) -> list[Price]:
        """Every strategy, priced for forgetting so many records, those that can be taken first."""
        check_is_fitted(self)
        if not 0 < forget <= self._job.private:
            raise ValueError(f"forget: {forget} of {self._job.private} private records")
        return prices(self._job, forget)

    def _fit(
        self,
        private: np.ndarray,
        targets: np.ndarray,
        public: tuple[np.ndarray, np.ndarray],
        ids: Any,
        labels: np.ndarray | None = None,
    ) -> None:
        """Learn; nothing of an earlier fit changes before everything has succeeded."""
        self._check_parameters()
        bound = self._row_norm(public[0])
        count = len(public[0])
        known = id_rows(ids, len(private), offset=count)
        features = np.empty((count + len(private), private.shape[1] + 1), dtype=private.dtype)
        bounded_rows(public[0], bound, out=features[:count])
        bounded_rows(private, bound, out=features[count:])
        job = self._with_reference(
            Job(
                loss=self._make_loss(bound, 0 if labels is None else len(labels)),
                features=torch.from_numpy(features).to(self.device),
                targets=torch.from_numpy(np.concatenate([public[1], targets])).to(self.device),
                keep=torch.ones(len(features), dtype=torch.bool),
                left=torch.zeros(len(features), dtype=torch.int64),
                keys=keys_of(chain((("public", i) for i in range(count)), known)),
                public=count,
                private=len(private),
                target=EpsilonDelta(self.epsilon, self.delta),
                observer="all" if self.observer == "all" else "final",
                seed=None if self.random_state is None else int(self.random_state),
            )
        )
        chosen = self._choose(job)
        outcome = chosen.fit(job)
        if labels is not None:
            self.classes_ = labels
        self._ids = known
        self._covered = self.observer == "all" or not self.released
        self._labels_declared = getattr(self, "classes", None) is not None or count > 0
        self._install(job, chosen, outcome, None)

    def _install(
        self, job: Job, chosen: Strategy, outcome: Outcome, certificate: Certificate | None
    ) -> None:
        self._job, self._chosen = job, chosen
        self._outcome, self._certificate = outcome, certificate
        self._fingerprint = _digest(job)

    def _make_loss(self, row_norm: float, classes: int) -> LinearLoss:
        raise NotImplementedError

    def _public_records(self, public: Any, like: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Public rows and labels in the private rows' precision; none is none."""
        if public is None:
            return like[:0], np.empty(0, dtype=object)
        features, labels = public
        rows = np.asarray(validate_data(self, features, reset=False, dtype=like.dtype))
        labels = np.asarray(labels)
        if len(labels) != len(rows):
            raise ValueError(f"public: {len(rows)} rows and {len(labels)} labels")
        if labels.dtype.kind == "f" and not np.isfinite(labels).all():
            raise ValueError("public: labels contain NaN or infinity")
        return rows, labels

    def _checked_rows(self, features: Any) -> np.ndarray:
        """Rows to predict for."""
        check_is_fitted(self)
        return np.asarray(
            validate_data(self, features, reset=False, dtype=[np.float64, np.float32])
        )

    def _check_parameters(self) -> None:
        if not 0 < self.epsilon <= LARGEST_MEANINGFUL_EPSILON:
            raise ValueError(f"epsilon: {self.epsilon} must be in (0, 20]; above is vacuous")
        if not self.l2 > 0:
            raise ValueError(f"l2: {self.l2} must be positive; it is the objective's convexity")
        if self.observer not in ("final", "all"):
            raise ValueError(f"observer: {self.observer!r} must be 'final' or 'all'")
        number = isinstance(self.row_norm, Real) and 0 < float(self.row_norm) < math.inf
        if not (number or self.row_norm == "public"):
            raise ValueError(f"row_norm: {self.row_norm!r} must be a positive number or 'public'")
        if torch.device(self.device).type == "cuda" and not torch.cuda.is_available():
            raise ValueError(f"device: {self.device!r} is not available; use 'cpu'")
        if not (self.random_state is None or isinstance(self.random_state, Integral)):
            raise ValueError(f"random_state: {self.random_state!r} must be an integer or None")

    def _row_norm(self, public: np.ndarray) -> float:
        if self.row_norm != "public":
            return float(self.row_norm)
        if not len(public):
            raise ValueError("row_norm='public' needs public records; give a number instead")
        return public_row_norm(public)

    def _with_reference(self, job: Job) -> Job:
        """The job with the public records' minimiser where `reference` wants it."""
        if self.reference == "zero":
            return job
        if self.reference not in ("start", "center"):
            raise ValueError(f"reference: {self.reference!r} must be 'zero', 'start' or 'center'")
        if not job.public:
            raise ValueError(f"reference={self.reference!r} needs public records")
        found = solve(job.public_objective, job.origin, tolerance=1e-8)
        return replace(
            job, start=found, center=found.clone() if self.reference == "center" else None
        )

    def _choose(self, job: Job) -> Strategy:
        """The named strategy, or for `auto` the cheapest that is sound for the observer."""
        chosen = self.strategy
        if chosen == "auto":
            return cheapest(job, max(1, job.private // 10))
        if isinstance(chosen, str):
            if chosen not in STRATEGIES:
                names = ", ".join(["auto", *STRATEGIES])
                raise ValueError(f"strategy: {chosen!r} is not one of {names}")
            chosen = STRATEGIES[chosen]
        if not isinstance(chosen, Strategy):
            raise ValueError(f"strategy: {chosen!r} is neither a name nor a strategy's record")
        if self.observer == "all" and not isinstance(chosen, Langevin):
            raise ValueError(f"strategy: {chosen.name} is for observer 'final': {EXPOSED}")
        return chosen

    def _issued(self, job: Job, outcome: Outcome) -> Certificate:
        assert outcome.assumptions is not None
        assert outcome.history is not None
        content = np.ascontiguousarray(outcome.theta.numpy()).tobytes()
        # The plain hash of a model without noise would tell who is in it.
        salted = hashlib.sha256(secrets.token_bytes(32) + content).hexdigest()
        return issue(
            outcome.assumptions,
            outcome.history,
            delta=job.target.delta,
            strategy=self._chosen.name,
            forgotten=job.forgotten,
            uncovered_releases=not self._covered,
            comparator=outcome.comparator,
            model_sha256=None if outcome.noise_free else hashlib.sha256(content).hexdigest(),
            commitments={"model": salted} if outcome.noise_free else {},
            declared=(*outcome.declared, *self._declared_by_caller()),
        )

    def _declared_by_caller(self) -> Sequence[str]:
        return ("preprocessing before fit, and the choice of all parameters, are the caller's",)

    def _scores(self, features: np.ndarray) -> torch.Tensor:
        rows = torch.from_numpy(bounded_rows(features, self._job.loss.row_norm)).double()
        return rows @ self._outcome.theta.T


def _digest(job: Job) -> bytes:
    """Of the stored rows, to notice changes; never published."""
    digest = hashlib.sha256()
    for tensor in (job.features, job.targets, job.keep):
        digest.update(tensor.cpu().numpy().data)
    return digest.digest()


class CertifiedClassifier(ClassifierMixin, _Certified):
    """Logistic or softmax regression whose records can be deleted with a certificate.

    Args:
        epsilon, delta: Of every certificate.
        strategy: A name, a record with its own settings (`Residual(tolerance=...)`), or "auto".
        observer: "final" sees only the model after deletion; "all" also holds earlier ones.
        l2: The ridge, on every coordinate, intercept included. Must not depend on the data.
        row_norm: B; rows above it are scaled down to it. "public" takes it from public rows.
        classes: All labels that may occur. None takes the public labels, or else those of y,
            and the certificate then says that it is conditional on the label set.
        reference: What the public records' own minimiser is used for: nothing ("zero"), where
            training starts ("start"), or also what the ridge pulls towards ("center"). Public
            records never leave, so all three are certified alike.
        released: Whether fitted models leave the house; if so a certificate for observer
            "final" says that they are not covered.
        random_state: None draws from the operating system; an integer makes runs repeatable
            and every certificate EXPERIMENT ONLY.
        device: Where the records lie and gradients are computed: "cpu" or "cuda".
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        strategy: str | Strategy = "auto",
        observer: Literal["final", "all"] = "final",
        l2: float = 1e-2,
        row_norm: float | Literal["public"] = 1.0,
        classes: Sequence[Any] | None = None,
        reference: Literal["zero", "start", "center"] = "zero",
        released: bool = True,
        random_state: int | None = None,
        device: str = "cpu",
    ) -> None:
        super().__init__(
            epsilon,
            delta,
            strategy,
            observer,
            l2,
            row_norm,
            reference,
            released,
            random_state,
            device,
        )
        self.classes = classes

    def fit(self, X: Any, y: Any, public: Any = None, ids: Any = None) -> "CertifiedClassifier":  # noqa: N803
        """Learn from private records (X, y) and public ones (X_public, y_public)."""
        X, y = validate_data(self, X, y, dtype=[np.float64, np.float32])  # noqa: N806
        check_classification_targets(y)
        rows, public_labels = self._public_records(public, X)
        labels = self._label_set(y, public_labels)
        encoded = [np.searchsorted(labels, each) for each in (public_labels, y)]
        self._fit(X, encoded[1], (rows, encoded[0]), ids, labels)
        return self

    def predict(self, X: Any) -> np.ndarray:  # noqa: N803
        chosen = self.predict_proba(X).argmax(1)
        return self.classes_[chosen]

    def predict_proba(self, X: Any) -> np.ndarray:  # noqa: N803
        rows = self._checked_rows(X)
        if len(self.classes_) == 1:
            return np.ones((len(rows), 1))
        loss = self._job.loss
        assert isinstance(loss, Logistic | Softmax)
        return loss.probabilities(self._scores(rows)).numpy()

    def decision_function(self, X: Any) -> np.ndarray:  # noqa: N803
        scores = self._scores(self._checked_rows(X)).numpy()
        return scores[:, 0] if len(self.classes_) <= 2 else scores

    def _make_loss(self, row_norm: float, classes: int) -> LinearLoss:
        if classes <= 2:
            return Logistic(self.l2, row_norm)
        return Softmax(classes, self.l2, row_norm)

    def _label_set(self, y: np.ndarray, y_public: np.ndarray) -> np.ndarray:
        if self.classes is not None:
            known = np.unique(np.asarray(self.classes))
        elif len(y_public):
            known = np.unique(y_public)
        else:
            return np.unique(y)
        for labels, where in ((y, "y"), (y_public, "public")):
            strange = np.setdiff1d(labels, known) if len(labels) else labels
            if len(strange):
                raise ValueError(f"{where}: label {strange[0]!r} is not in the public label set")
        return known

    def _declared_by_caller(self) -> Sequence[str]:
        lines = super()._declared_by_caller()
        if not self._labels_declared:
            return (*lines, "conditional on the label set, which was taken from private records")
        return lines


class CertifiedRegressor(RegressorMixin, _Certified):
    """Ridge regression on bounded targets whose records can be deleted with a certificate.

    Args: as for `CertifiedClassifier`, and
        target_norm: Y; targets beyond +-Y are clipped to it.
        radius: R of the ball that noisy steps project onto; only `residual` goes without.
        loss: A `Declared` convex loss instead of squares; its l2 and row_norm are this one's.
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        strategy: str | Strategy = "auto",
        observer: Literal["final", "all"] = "final",
        l2: float = 1e-2,
        row_norm: float | Literal["public"] = 1.0,
        target_norm: float = 1.0,
        radius: float = np.inf,
        loss: Declared | None = None,
        reference: Literal["zero", "start", "center"] = "zero",
        released: bool = True,
        random_state: int | None = None,
        device: str = "cpu",
    ) -> None:
        super().__init__(
            epsilon,
            delta,
            strategy,
            observer,
            l2,
            row_norm,
            reference,
            released,
            random_state,
            device,
        )
        self.target_norm = target_norm
        self.radius = radius
        self.loss = loss

    def fit(self, X: Any, y: Any, public: Any = None, ids: Any = None) -> "CertifiedRegressor":  # noqa: N803
        """Learn from private records (X, y) and public ones (X_public, y_public)."""
        X, y = validate_data(self, X, y, dtype=[np.float64, np.float32], y_numeric=True)  # noqa: N806
        rows, targets = self._public_records(public, X)
        self._fit(X, y.astype(np.float64), (rows, targets.astype(np.float64)), ids)
        return self

    def predict(self, X: Any) -> np.ndarray:  # noqa: N803
        return self._scores(self._checked_rows(X)).numpy()[:, 0]

    def _make_loss(self, row_norm: float, classes: int) -> LinearLoss:
        if self.loss is not None:
            return replace(self.loss, l2=self.l2, row_norm=row_norm)
        return Squared(self.l2, row_norm, self.target_norm, self.radius)
