"""Boosted trees as features: which leaf of each tree a row ends in, the trees grown on public rows.

    row  ->  ([ e(leaf 1), ..., e(leaf T) ] / sqrt(T),   raw * z) / sqrt(1 + raw^2)
               norm exactly 1                            norm at most raw

T trees, those over declared ranges included. A certified linear model on top learns one weight for
every leaf from all records, private ones too; where the trees cut was decided without them, and so
was how much the raw columns count (`raw_weight`).
"""

from typing import Any, Literal

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from expunge.core.checks import (
    check_values,
    choice,
    count,
    either,
    integer,
    not_negative,
    optional,
    share,
)
from expunge.features.boosted_trees import count_leaves, find_leaves, grow
from expunge.features.column_ranges import declared_range, range_columns
from expunge.features.random_trees import RandomTrees
from expunge.features.raw_columns import RawColumns
from expunge.features.raw_weight import (
    FEWEST,
    RARE,
    UNCHOSEN,
    Part,
    choose_raw_weight,
    halves,
    worth,
)

__all__ = ["TreeLeaves"]

CLASSES = 20  # whole numbers with more values than these are taken for measurements


class TreeLeaves(TransformerMixin, BaseEstimator):
    """Leaves of boosted trees grown by LightGBM, as features for a certified linear model.

    Fit it on public rows alone; in a `CertifiedPipeline` nothing else is possible. A row becomes
    the one-hot leaves of all trees, its leaf part of one norm for all, and beside them its raw
    columns; no row is longer than 1.

    What it does not do. Its trees know the public rows only, so with 10 % of a table public it
    falls behind LightGBM on everything as the table grows: full flights .779 against .790 AUC.
    Where public rows miss a part of a column's range every row there ends in the same leaves:
    diamonds .55 R2 with the cheaper half public, .98 with random rows (a prototype's figures, one
    seed; docs/pipelines.md has those of today). Declare `ranges` for such columns.

    Its 150 trees of 31 leaves give 4,650 weights, which leaves room for requests without a pass in
    a binary classification or a regression (`Residual(state_limit=)`). With C > 2 classes LightGBM
    grows C trees a round, so there are fewer rounds and not more trees; but a softmax has C weights
    for every leaf, and requests then take passes over the records.

    Args:
        trees, leaves: How many trees are grown, and how many leaves each has at most.
        raw: The largest norm of the raw columns, in units of the leaves'. "public" chooses it on
            the public rows; 0 leaves the columns out, infinity the leaves, and then the model is
            the linear one of the columns.
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
        raw: float | Literal["public"] = "public",
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
        drawn = checked["random_trees"] if np.isfinite(low).any() else 0
        random = RandomTrees.draw(low, high, drawn, checked["leaves"], checked["random_state"])
        scales = RawColumns.of(X)
        self.raw_ = checked["raw"]
        if self.raw_ == "public":
            self.raw_ = self._choose_raw(X, y, checked, random, scales)
        text = ""
        if np.isinf(self.raw_):
            random = RandomTrees.draw(low, high, 0, checked["leaves"], 0)
        else:
            text = self._grow(X, y, checked)
        self.trees_, self.leaf_counts_ = text, _count_leaves(text, random)
        self.cuts_ = (random.columns, random.places, random.sides)
        self.scales_ = (scales.centre, scales.width, scales.norm)
        return self

    def transform(self, X: Any) -> sparse.csr_array:  # noqa: N803
        """Leaves and raw columns of these rows: (rows, features), CSR of float32."""
        check_is_fitted(self)
        X = validate_data(  # noqa: N806
            self, X, reset=False, dtype=[np.float64, np.float32], ensure_all_finite="allow-nan"
        )
        leaves = _leaves(self.trees_, RandomTrees(*self.cuts_), self.leaf_counts_, X)
        if not self.raw_:
            return leaves
        share = 1 / np.hypot(1, self.raw_)  # of the leaves; 0 where they are left out
        rest = 1.0 if np.isinf(self.raw_) else self.raw_ * share
        raw = (rest * RawColumns(*self.scales_).rows(X)).astype(np.float32)
        leaves.data *= np.float32(share)
        return sparse.csr_array(sparse.hstack([leaves, sparse.csr_array(raw)], format="csr"))

    def settled(self) -> "TreeLeaves":
        """An unfitted copy in which what was chosen on public rows is given."""
        check_is_fitted(self)
        fresh: Any = clone(self)
        return fresh.set_params(raw=self.raw_)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """`tree3_leaf7` for the leaves, and the columns' names."""
        check_is_fitted(self)
        names = [
            f"tree{tree}_leaf{leaf}"
            for tree, count in enumerate(self.leaf_counts_)
            for leaf in range(count)
        ]
        if self.raw_:
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
        targets, objective, together = self._targets(y, checked)
        if not checked["trees"] or len(np.unique(targets)) < 2:
            return ""
        rounds = max(1, checked["trees"] // together)
        return grow(X, targets, rounds, settings | objective)

    def _targets(
        self, y: np.ndarray, checked: dict[str, Any]
    ) -> tuple[np.ndarray, dict[str, Any], int]:
        """What the trees predict, by which objective, and how many are grown in a round."""
        task, clipped_to = checked["task"], checked["target_range"]
        if task == "classification" or (task == "auto" and _are_labels(y)):
            labels, encoded = np.unique(y, return_inverse=True)
            if len(labels) <= 2:
                return encoded, {"objective": "binary"}, 1
            return encoded, {"objective": "multiclass", "num_class": len(labels)}, len(labels)
        targets = y.astype(np.float64)
        if clipped_to is not None:
            targets = np.clip(targets, *clipped_to)
        return targets, {"objective": "regression"}, 1

    def _choose_raw(
        self,
        X: np.ndarray,  # noqa: N803
        y: np.ndarray,
        checked: dict[str, Any],
        random: RandomTrees,
        scales: RawColumns,
    ) -> float:
        """The weight of raw columns under which trees of half the rows tell the other half best."""
        targets, objective, _ = self._targets(y, checked)
        classes = objective["objective"] != "regression"
        if len(X) < FEWEST or len(np.unique(targets)) < 2:
            return UNCHOSEN
        if classes and worth(targets) < FEWEST:
            return RARE
        told = np.eye(int(targets.max()) + 1)[targets] if classes else targets[:, None]
        raw, parts = scales.rows(X), []
        for grown, held in halves(targets, classes=classes):
            text = self._grow(X[grown], y[grown], checked)
            leaves = _leaves(text, random, _count_leaves(text, random), X[held])
            parts.append(Part(held, leaves, raw[held], told[held]))
        return choose_raw_weight(parts)


def _weight(name: str, value: Any) -> float | int:
    """A rule: a number from 0 on, or infinity."""
    return value if value == np.inf else not_negative(name, value)


RULES = {
    "trees": count(0),
    "leaves": count(2),
    "raw": either("public", _weight),
    "random_trees": count(0),
    "task": choice("auto", "classification", "regression"),
    "target_range": optional(declared_range),
    "learning_rate": share,
    "min_leaf": count(1),
    "random_state": integer,
}


def _are_labels(y: np.ndarray) -> bool:
    """Whether these are classes: texts, or few different whole numbers."""
    if type_of_target(y) not in ("binary", "multiclass"):
        return False
    return y.dtype.kind not in "iuf" or len(np.unique(y)) <= CLASSES


def _count_leaves(text: str, random: RandomTrees) -> np.ndarray:
    """How many leaves each tree has, random ones last."""
    drawn, cuts = random.columns.shape
    return np.asarray([*(count_leaves(text) if text else []), *[cuts + 1] * drawn], dtype=np.int64)


def _leaves(
    text: str, random: RandomTrees, counts: np.ndarray, rows: np.ndarray
) -> sparse.csr_array:
    """The one-hot leaves of all trees, of norm 1: (rows, leaves)."""
    trees, grown = len(counts), len(counts) - len(random.columns)
    parts = [find_leaves(text, rows, grown)] if grown else []
    places = np.hstack([*parts, random.leaves(rows)]) + np.cumsum(counts) - counts
    values = np.full(places.size, 1 / np.sqrt(max(1, trees)), dtype=np.float32)
    starts = np.arange(len(rows) + 1) * trees
    shape = len(rows), int(counts.sum())
    return sparse.csr_array((values, places.ravel(), starts), shape=shape)
