"""Transformers that break a rule which certified preprocessing rests on, and some that keep it."""

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin


class Stateless(TransformerMixin, BaseEstimator):
    """Needs no fitting, and says so."""

    def fit(self, X, y=None):  # noqa: N803
        return self

    def transform(self, X):  # noqa: N803
        return np.asarray(X, dtype=float)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        return tags


class Centring(Stateless):
    """Subtracts the batch's mean."""

    def transform(self, X):  # noqa: N803
        X = np.asarray(X, dtype=float)
        return X - X.mean(axis=0)


class FillingIn(Stateless):
    """Fills gaps with the batch's mean: rows are mixed only where one has a gap."""

    def transform(self, X):  # noqa: N803
        X = np.asarray(X, dtype=float)
        return np.where(np.isnan(X), np.nan_to_num(np.nanmean(X, axis=0)), X)


class Dropping(Stateless):
    """Keeps rows with a positive first column."""

    def transform(self, X):  # noqa: N803
        X = np.asarray(X, dtype=float)
        return X[X[:, 0] > 0]


class Counting(Stateless):
    """Adds how many batches came before."""

    def transform(self, X):  # noqa: N803
        self.batches = getattr(self, "batches", 0) + 1
        return np.asarray(X, dtype=float) + self.batches // 100


class Keeping(Stateless):
    """Keeps the last batch it was given."""

    def transform(self, X):  # noqa: N803
        self.last_ = np.array(X)
        return self.last_


class Watched(TransformerMixin, BaseEstimator):
    """Remembers for all copies what was given to `fit`."""

    seen: list = []  # noqa: RUF012

    def fit(self, X, y=None):  # noqa: N803
        self.seen.append((np.array(X), None if y is None else np.array(y)))
        self.mean_ = np.mean(X, axis=0)
        return self

    def transform(self, X):  # noqa: N803
        return np.asarray(X) - self.mean_


class Recalling(TransformerMixin, BaseEstimator):
    """A step that labels shape as much as can be: it knows its own rows' labels, and no others."""

    def fit(self, X, y):  # noqa: N803
        self.known_ = {row.tobytes(): label for row, label in zip(X, y, strict=True)}
        return self

    def transform(self, X):  # noqa: N803
        return np.array([[self.known_.get(row.tobytes(), -1)] for row in X], dtype=float)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
