"""Maps from records to rows that no private record shaped. Knows no loss and no certificate."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from expunge.features.declared_columns import DeclaredColumns
    from expunge.features.tree_leaves import TreeLeaves

__all__ = ["DeclaredColumns", "TreeLeaves"]

_HOMES = {"DeclaredColumns": "declared_columns", "TreeLeaves": "tree_leaves"}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'expunge.features' has no attribute {name!r}")
    return getattr(import_module(f"expunge.features.{_HOMES[name]}"), name)
