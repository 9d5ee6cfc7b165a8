"""scikit-learn estimators that can forget: fit, forget(ids) -> Certificate, predict.

    clf = CertifiedClassifier(epsilon=1.0, delta=1e-5, l2=1e-2)
    clf.fit(X, y, public=(X_public, y_public), ids=ids)
    certificate = clf.forget(ids_to_delete)
    certificate = clf.add(X_new, y_new, ids=new_ids)

Preprocessing before `fit` is the caller's: a scaler fitted on private rows voids the certificate,
and the certificate says that preprocessing is unknown and not checked. A `CertifiedPipeline` fits
it on public rows alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets

from expunge.core.part_engine import HERE, PartEngine, engine_called
from expunge.errors import InvalidInput
from expunge.losses import Declared, Logistic, Softmax, Squared
from expunge.losses.linear import LinearLoss
from expunge.unlearning.linear.label_weights import label_weights, weighted
from expunge.unlearning.linear.linear_fitted import LinearFitted
from expunge.unlearning.linear.saved_estimator import read_fitted
from expunge.unlearning.linear.stored_fit import FitsStored
from expunge.unlearning.settings import rebuild

__all__ = ["ESTIMATORS", "CertifiedClassifier", "CertifiedRegressor", "load", "resume"]


@dataclass(eq=False, repr=False)
class CertifiedClassifier(ClassifierMixin, FitsStored):
    """Logistic or softmax regression whose records can be deleted with a certificate.

    Args:
        epsilon, delta: Of every certificate.
        strategy: A name, a record with its own settings (`Residual(tolerance=...)`), or "auto".
        observer: "final" sees only the model after deletion; "all" also holds earlier ones.
        l2: The ridge, on every coordinate, intercept included. Must not depend on private records.
            "public" chooses it on public records, by cross-validation (`public_ridge`).
        row_norm: B; rows above it are scaled down to it. "public" takes it from public rows.
        classes: All labels that may occur. None takes the public labels, or else those of y,
            and the certificate then says that it is conditional on the label set.
        reference: What the public records' own minimiser is used for: nothing ("zero"), where
            training starts ("start"), or also what the ridge pulls towards ("center"). Public
            records never leave, so all three are certified alike.
        released: Whether fitted models are handed out; if so a certificate for observer
            "final" says that they are not covered.
        random_state: None draws from the operating system; an integer makes runs repeatable
            and every certificate EXPERIMENT ONLY.
        device: Where the records lie and gradients are computed: "cpu" or "cuda".
        adaptive_requests: Whether those who ask for deletions may have looked at a model that was
            handed out. False: strategies that this affects say REQUESTS MUST NOT DEPEND ON RELEASED
            MODELS. True: they count every such model within a capacity fixed at fit, and refuse
            beyond it. `residual` and `retrain` are not affected.
        capacity: Share of the private records that may be forgotten in all under a strategy that is
            only named and whose noise is fixed at fit, `langevin`; None is for a tenth. Less of it
            costs less accuracy (`capacity_curve`). Other strategies do not use it; a strategy's
            record has its own.
        class_weight: A number for each label that is not to weigh 1, fixed in advance: "balanced",
            which counts records, is refused. Requests then take passes.
    """

    classes: Sequence[Any] | None = None
    class_weight: Mapping[Any, float] | None = None

    def _answers(
        self, y: np.ndarray, public: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        check_classification_targets(y)
        labels = self.label_set(y, public)
        return np.searchsorted(labels, y), np.searchsorted(labels, public), labels

    def predict_proba(self, X: Any) -> np.ndarray:  # noqa: N803
        return self._head.probabilities(self._checked_rows(X))

    def decision_function(self, X: Any) -> np.ndarray:  # noqa: N803
        scores = self._head.scores(self._checked_rows(X)).numpy()
        return scores[:, 0] if len(self.classes_) <= 2 else scores

    def _make_loss(self, l2: float, row_norm: float, labels: np.ndarray | None) -> LinearLoss:
        assert labels is not None
        weights, count = label_weights(self.class_weight, labels), len(labels)
        plain = Logistic(l2, row_norm) if count <= 2 else Softmax(count, l2, row_norm)
        return weighted(plain, weights)

    def label_set(self, y: np.ndarray, y_public: np.ndarray) -> np.ndarray:
        """All labels, sorted: those named, or else the public ones, or else those of y.

        Raises:
            ValueError: a label is not among them, or they have no order.
        """
        if self.classes is not None:
            known = _sorted_labels("classes", np.asarray(self.classes))
        elif len(y_public):
            known = _sorted_labels("public", y_public)
        else:
            return _sorted_labels("y", y)
        for labels, where in ((y, "y"), (y_public, "public")):
            strange = np.setdiff1d(labels, known) if len(labels) else labels
            if len(strange):
                raise ValueError(
                    f"{where}: label {str(strange[0])!r} is not in the public label set"
                )
        return known


def _sorted_labels(name: str, labels: np.ndarray) -> np.ndarray:
    """Each label once, in order.

    Raises:
        ValueError: labels that have no order, such as None, or that no file brings back, as dates.
    """
    problem = f"{name}: labels must be all texts or all numbers"
    try:
        known = np.unique(labels)
    except TypeError as error:
        raise ValueError(problem) from error
    plain = all(isinstance(label, str | int | float) for label in known.tolist())
    if known.dtype.kind not in "biufUO" or not plain:
        raise ValueError(f"{problem}, not {labels.dtype}; write them as text")
    return known


@dataclass(eq=False, repr=False)
class CertifiedRegressor(RegressorMixin, FitsStored):
    """Ridge regression on bounded targets whose records can be deleted with a certificate.

    What it shares with `CertifiedClassifier` is explained there.

    Args:
        target_norm: Y; targets beyond +-Y are clipped to it.
        radius: R of the ball that noisy steps project onto; only `residual` goes without.
        loss: A `Declared` convex loss instead of squares; its l2 and row_norm are this one's.
    """

    target_norm: float = 1.0
    radius: float = np.inf
    loss: Declared | None = None

    def _answers(
        self, y: np.ndarray, public: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        for name, values in (("y", y), ("public", public)):
            if len(values) and values.dtype.kind not in "biuf":
                raise ValueError(f"{name}: targets must be numbers, not {values.dtype}")
        return y.astype(np.float64), public.astype(np.float64), None

    def _make_loss(self, l2: float, row_norm: float, labels: np.ndarray | None) -> LinearLoss:
        if self.loss is not None:
            return replace(self.loss, l2=l2, row_norm=row_norm)
        return Squared(l2, row_norm, self.target_norm, self.radius)


def load(
    folder: str | Path,
    *,
    on_disk: bool = False,
    engine: str | PartEngine = HERE,
    seal: str | None = None,
) -> CertifiedClassifier | CertifiedRegressor:
    """A fitted estimator as `save` wrote it.

    Args:
        on_disk: Leave the rows in the folder, and read those that are asked for, a chunk at a
            time: loading and forgetting take as long for any number of records. Rows are checked
            when they are read, and the folder must stay as it is until the estimator is saved
            there or no longer used.
        engine: Computes the parts of passes over rows on disk: "local", "ray", or one of your own
            (`core.part_engine`). Certificates do not depend on it.
        seal: Of the saved state to read, where a ledger decides which is current.

    Raises:
        ValueError: not such a folder, of an earlier version, or changed since; or a pipeline's,
            which `expunge.unlearning.load` reads.
    """
    parts = engine_called(engine)
    if parts != HERE and not on_disk:
        raise InvalidInput("engine", "computes on rows that lie on disk; add on_disk=True")
    return read_fitted(folder, ESTIMATORS, _resume_alone, seal=seal, on_disk=on_disk, engine=parts)


def _resume_alone(
    fitted: LinearFitted, kind: str, kept: dict[str, Any]
) -> CertifiedClassifier | CertifiedRegressor:
    if fitted.preprocessing is not None:
        raise ValueError("a CertifiedPipeline, which expunge.unlearning.load reads")
    return resume(fitted, kind, kept)


def resume(
    fitted: LinearFitted, kind: str, kept: dict[str, Any]
) -> CertifiedClassifier | CertifiedRegressor:
    """The estimator of this kind, with the parameters and the state that were saved."""
    parameters = kept["set"] | {"strategy": rebuild(kept["set"]["strategy"])}
    if parameters.get("class_weight") is not None:
        parameters["class_weight"] = dict(parameters["class_weight"])
    estimator = ESTIMATORS[kind](**parameters)
    estimator.resume(fitted, kept["feature_names"])
    return estimator


ESTIMATORS: dict[str, Any] = {
    kind.__name__: kind for kind in (CertifiedClassifier, CertifiedRegressor)
}
