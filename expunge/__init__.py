"""Certified machine unlearning.

Importing `expunge` is cheap: estimators, and torch with them, load when they are asked for.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from expunge.unlearning import (
        CertifiedClassifier,
        CertifiedPipeline,
        CertifiedRegressor,
        Langevin,
        NoiseFirst,
        Residual,
        Retrain,
        TorchUnlearner,
    )

__version__ = "0.1.0.dev0"

__all__ = [
    "CertifiedClassifier",
    "CertifiedPipeline",
    "CertifiedRegressor",
    "Langevin",
    "NoiseFirst",
    "Residual",
    "Retrain",
    "TorchUnlearner",
    "__version__",
]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'expunge' has no attribute {name!r}")
    from expunge import unlearning

    return getattr(unlearning, name)
