"""Boosted trees as text: grown by LightGBM, and asked only in which leaf a row ends."""

import re
from collections.abc import Mapping
from functools import lru_cache
from importlib import import_module
from typing import Any

import numpy as np
import torch  # noqa: F401, its wheel brings the OpenMP library that LightGBM's leaves to the system

from expunge.errors import InvalidInput, MissingPackage

__all__ = ["count_leaves", "find_leaves", "grow"]

ALWAYS = {"verbosity": -1, "deterministic": True, "force_row_wise": True}


def grow(rows: np.ndarray, targets: np.ndarray, rounds: int, settings: Mapping[str, Any]) -> str:
    """Grow trees, and return them in LightGBM's text format.

    Raises:
        MissingPackage: LightGBM, or a library that it needs, is not installed.
    """
    lightgbm = _lightgbm()
    data = lightgbm.Dataset(rows, label=targets, params={"feature_pre_filter": False, **ALWAYS})
    grown = lightgbm.train({**ALWAYS, **settings}, data, num_boost_round=rounds)
    return grown.model_to_string()


def count_leaves(text: str) -> list[int]:
    """How many leaves each tree has.

    Raises:
        InvalidInput: the text holds no trees.
    """
    _booster(text)
    return [int(count) for count in re.findall(r"^num_leaves=(\d+)$", text, re.MULTILINE)]


def find_leaves(text: str, rows: np.ndarray, trees: int) -> np.ndarray:
    """The leaf of each row in each tree: (rows, trees)."""
    found = _booster(text).predict(rows, pred_leaf=True)
    return np.asarray(found).reshape(len(rows), trees).astype(np.int64)


@lru_cache(maxsize=8)
def _booster(text: str) -> Any:
    """The trees of a text.

    Raises:
        InvalidInput: the text holds none.
        MissingPackage: as for `grow`.
    """
    lightgbm = _lightgbm()
    try:
        return lightgbm.Booster(model_str=text)
    except lightgbm.basic.LightGBMError as error:
        raise InvalidInput("trees", f"no trees in LightGBM's text format ({error})") from error


def _lightgbm() -> Any:
    """The package that grows trees.

    Raises:
        MissingPackage: it is not installed, or a library of the system is missing.
    """
    try:
        return import_module("lightgbm")
    except ImportError as error:
        raise MissingPackage(
            "lightgbm", "TreeLeaves needs it: pip install 'expunge[pipelines]'"
        ) from error
    except OSError as error:  # a shared library
        raise MissingPackage(
            "lightgbm",
            f"cannot be loaded ({error}); on Debian and Ubuntu: apt-get install libgomp1",
        ) from error
