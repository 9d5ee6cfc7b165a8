"""Rows of a table: which are public, private or for tests, and their columns as numbers."""

from typing import NamedTuple

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from experiments.datasets.packaged import Table

__all__ = ["Sizes", "encoder", "split"]

CATEGORIES = 20  # columns of one category column at most


class Sizes(NamedTuple):
    """How many rows there are at most for training and for tests, and the share of public ones."""

    train: int
    test: int
    public_share: float


def split(
    sizes: Sizes, frame: pd.DataFrame, kind: str, shift: str, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Numbers of public, private and test rows."""
    order = np.random.default_rng(seed).permutation(len(frame))
    count = min(sizes.train, int(0.75 * len(frame)))
    train, test = order[:count], order[count : count + sizes.test]
    most = int(sizes.public_share * count)
    eligible = train
    if kind == "shifted":
        values = frame[shift].to_numpy()[train]
        eligible = train[values <= np.nanmedian(values)]
    public = eligible[:most]
    return public, np.setdiff1d(train, public), test


def encoder(table: Table) -> ColumnTransformer:
    """Numbers standardised, gaps filled, categories one-hot."""
    numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    one_hot = OneHotEncoder(
        handle_unknown="infrequent_if_exist", max_categories=CATEGORIES, sparse_output=False
    )
    return ColumnTransformer(
        [("numbers", numbers, list(table.numbers)), ("one_hot", one_hot, list(table.categories))]
    )
