"""Boosted trees as features: which leaf of each tree a row ends in, the trees grown on public rows.

    row  ->  [ e(leaf 1), ..., e(leaf T) ] / sqrt(T),   raw * z
              norm exactly 1                            norm at most raw

T trees, those over declared ranges included. A certified linear model on top learns one weight for
every leaf from all records, private ones too; where the trees cut was decided without them.
"""

from typing import Any, Literal

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from expunge.core.checks import check_values, choice, count, integer, not_negative, share
from expunge.features.boosted_trees import count_leaves, find_leaves, grow
from expunge.features.column_ranges import declared_range, range_columns
from expunge.features.random_trees import RandomTrees

__all__ = ["TreeLeaves"]

CLASSES = 20  # whole numbers with more values than these are taken for measurements
FARTHEST = 5.0  # standard deviations at which a raw feature is clipped
USUAL = 0.95  # the share of public rows whose raw part is not clipped


class TreeLeaves(TransformerMixin, BaseEstimator):
    """Leaves of boosted trees grown by LightGBM, as features for a certified linear model.

    Fit it on public rows alone; in a `CertifiedPipeline` nothing else is possible. A row becomes
    the one-hot leaves of all trees, its leaf part of norm 1, and beside them its raw columns.

    What it does not do. Its trees know the public rows only, so with 10 % of a table public it
    falls behind LightGBM on everything as the table grows: full flights .779 against .790 AUC.
    Where public rows miss a part of a column's range it can fail badly, because every row there
    ends in the same leaves: diamonds .55 against .98 R2; declare `ranges` for such columns. (Both
    figures are a prototype's, one seed.)

    Its 150 trees of 31 leaves give 4,650 weights, which leaves room for requests without a pass in
    a binary classification or a regression (`Residual(state_limit=)`). With C > 2 classes LightGBM
    grows C trees a round, so there are fewer rounds and not more trees; but a softmax has C weights
    for every leaf, and requests then take passes over the records.

    Args:
        trees, leaves: How many trees are grown, and how many leaves each has at most.
        raw: The largest norm of the raw columns beside the leaves; 0 leaves them out.
        ranges: Lowest and highest value of columns, by name or number, or for all in order. They
            are declared, and must not be read off private records.
        random_trees: How many trees cut the declared ranges at random, where there are any.
        task: "auto" takes whole numbers of many values, and others, for a regression.
        target_range: The lowest and highest target of a regression; others are clipped.
        learning_rate, min_leaf: LightGBM's, and the least number of public rows in a leaf.
        random_state: Seeds what is random; the same rows always give the same trees.
    """

    n_features_in_: int

    def __init__(
        self,
        trees: int = 150,
        leaves: int = 31,
        raw: float = 0.4,
        ranges: Any = None,
        random_trees: int = 30,
        task: Literal["auto", "classification", "regression"] = "auto",
        target_range: tuple[float, float] | None = None,
        learning_rate: float = 0.1,
        min_leaf: int = 20,
        random_state: int = 0,
    ) -> None:
        self.trees = trees
        self.leaves = leaves
        self.raw = raw
        self.ranges = ranges
        self.random_trees = random_trees
        self.task = task
        self.target_range = target_range
        self.learning_rate = learning_rate
        self.min_leaf = min_leaf
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> "TreeLeaves":  # noqa: N803
        """Grow the trees on these rows and their labels or targets.

        Raises:
            InvalidInput: a declared range makes no sense.
            MissingPackage: LightGBM is not installed.
        """
        checked = check_values(self.get_params(deep=False), **RULES)
        X, y = validate_data(  # noqa: N806
            self, X, y, dtype=[np.float64, np.float32], ensure_all_finite="allow-nan"
        )
        names = getattr(self, "feature_names_in_", None)
        low, high = range_columns(self.ranges, X.shape[1], names)
        text = self._grow(X, y, checked)
        drawn = checked["random_trees"] if np.isfinite(low).any() else 0
        random = RandomTrees.draw(low, high, drawn, checked["leaves"], checked["random_state"])
        self.cuts_ = (random.columns, random.places, random.sides)
        counts = [*(count_leaves(text) if text else []), *[checked["leaves"]] * drawn]
        self.trees_ = text
        self.leaf_counts_ = np.asarray(counts, dtype=np.int64)
        self.centre_, self.width_ = _scales(X, low, high)
        self.weight_ = float(checked["raw"])
        norms = np.linalg.norm(self._standardised(X), axis=1)
        self.usual_norm_ = float(np.quantile(norms, USUAL)) or 1.0
        return self

    def transform(self, X: Any) -> np.ndarray:  # noqa: N803
        """Leaves and raw columns of these rows: (rows, features), float32."""
        check_is_fitted(self)
        X = validate_data(  # noqa: N806
            self, X, reset=False, dtype=[np.float64, np.float32], ensure_all_finite="allow-nan"
        )
        trees, width = len(self.leaf_counts_), int(self.leaf_counts_.sum())
        raw = X.shape[1] if self.weight_ else 0
        features = np.zeros((len(X), width + raw), dtype=np.float32)
        if trees:
            random = RandomTrees(*self.cuts_)
            grown = trees - len(random.columns)
            parts = [find_leaves(self.trees_, X, grown)] if grown else []
            leaves = np.hstack([*parts, random.leaves(X)])
            first = np.cumsum(self.leaf_counts_) - self.leaf_counts_
            features[np.arange(len(X))[:, None], leaves + first] = 1 / np.sqrt(trees)
        if raw:
            features[:, width:] = self._raw(X)
        return features

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """`tree3_leaf7` for the leaves, and the columns' names."""
        check_is_fitted(self)
        names = [
            f"tree{tree}_leaf{leaf}"
            for tree, count in enumerate(self.leaf_counts_)
            for leaf in range(count)
        ]
        if self.weight_:
            known = getattr(self, "feature_names_in_", None) if input_features is None else None
            columns = known if input_features is None else input_features
            names += [
                f"x{place}" if columns is None else str(columns[place])
                for place in range(self.n_features_in_)
            ]
        return np.asarray(names, dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = []
        return tags

    def _grow(self, X: np.ndarray, y: np.ndarray, checked: dict[str, Any]) -> str:  # noqa: N803
        """The trees as text; none where there is nothing to tell apart."""
        settings = {
            "num_leaves": checked["leaves"],
            "learning_rate": checked["learning_rate"],
            "min_data_in_leaf": checked["min_leaf"],
            "seed": checked["random_state"],
        }
        targets, objective, together = self._targets(y, checked["task"])
        if not checked["trees"] or len(np.unique(targets)) < 2:
            return ""
        rounds = max(1, checked["trees"] // together)
        return grow(X, targets, rounds, settings | objective)

    def _targets(self, y: np.ndarray, task: str) -> tuple[np.ndarray, dict[str, Any], int]:
        """What the trees predict, by which objective, and how many are grown in a round."""
        if task == "classification" or (task == "auto" and _are_labels(y)):
            labels, encoded = np.unique(y, return_inverse=True)
            if len(labels) <= 2:
                return encoded, {"objective": "binary"}, 1
            return encoded, {"objective": "multiclass", "num_class": len(labels)}, len(labels)
        targets = y.astype(np.float64)
        if self.target_range is not None:
            targets = np.clip(targets, *declared_range("target_range", self.target_range))
        return targets, {"objective": "regression"}, 1

    def _standardised(self, X: np.ndarray) -> np.ndarray:  # noqa: N803
        """Columns around 0 with a deviation of about 1, clipped; missing values are 0."""
        scaled = (X.astype(np.float64) - self.centre_) / self.width_
        return np.nan_to_num(np.clip(scaled, -FARTHEST, FARTHEST), nan=0.0)

    def _raw(self, X: np.ndarray) -> np.ndarray:  # noqa: N803
        """The raw part: rows of norm at most `raw`."""
        rows = self._standardised(X) / self.usual_norm_
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        return self.weight_ * rows / np.maximum(norms, 1.0)


RULES = {
    "trees": count(0),
    "leaves": count(2),
    "raw": not_negative,
    "random_trees": count(0),
    "task": choice("auto", "classification", "regression"),
    "learning_rate": share,
    "min_leaf": count(1),
    "random_state": integer,
}


def _are_labels(y: np.ndarray) -> bool:
    """Whether these are classes: texts, or few different whole numbers."""
    if type_of_target(y) not in ("binary", "multiclass"):
        return False
    return y.dtype.kind not in "iuf" or len(np.unique(y)) <= CLASSES


def _scales(rows: np.ndarray, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Centre and deviation of each column: of its declared range, or else of the rows."""
    values = rows.astype(np.float64)
    known = np.isfinite(values)
    counts = np.maximum(known.sum(axis=0), 1)
    means = np.where(known, values, 0.0).sum(axis=0) / counts
    squares = np.where(known, (values - means) ** 2, 0.0).sum(axis=0) / counts
    declared = np.isfinite(low)
    centre = np.where(declared, (low + high) / 2, means)
    width = np.where(declared, (high - low) / np.sqrt(12), np.sqrt(squares))
    return centre, np.where(width > 0, width, 1.0)
