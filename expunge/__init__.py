"""Certified machine unlearning.

Importing `expunge` is cheap: estimators, and torch with them, load when they are asked for.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from expunge.unlearning.estimator import CertifiedClassifier, CertifiedRegressor

__version__ = "0.1.0.dev0"

__all__ = ["CertifiedClassifier", "CertifiedRegressor", "__version__"]

_ESTIMATORS = {"CertifiedClassifier", "CertifiedRegressor"}


def __getattr__(name: str) -> object:
    if name not in _ESTIMATORS:
        raise AttributeError(f"module 'expunge' has no attribute {name!r}")
    from expunge.unlearning import estimator

    return getattr(estimator, name)
