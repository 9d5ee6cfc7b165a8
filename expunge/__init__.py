"""Certified machine unlearning.

Importing `expunge` is cheap: `expunge.accounting` never imports torch.
"""

__version__ = "0.1.0.dev0"

_LAZY = {"CertifiedClassifier": "estimator", "CertifiedRegressor": "estimator"}

__all__ = ["CertifiedClassifier", "CertifiedRegressor", "__version__"]


def __getattr__(name: str) -> object:
    if name not in _LAZY:
        raise AttributeError(f"module 'expunge' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"expunge.unlearning.{_LAZY[name]}"), name)
