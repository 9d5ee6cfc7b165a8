"""Warnings of the library as lines for the operator."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from expunge.errors import SettingsWarning

__all__ = ["telling"]


@contextmanager
def telling(notice: Callable[[str], None]) -> Iterator[None]:
    """Tell the operator of poor settings in lines of their own; other warnings stay as they are."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", SettingsWarning)
        yield
    for each in caught:
        if issubclass(each.category, SettingsWarning):
            notice(str(each.message))
        else:
            warnings.warn_explicit(each.message, each.category, each.filename, each.lineno)
