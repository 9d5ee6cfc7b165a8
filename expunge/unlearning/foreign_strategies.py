"""Strategies that other packages register, by entry points of the group `expunge.strategies`.

    "linear.public_only" = "expunge_example.public_only:PublicOnly"

They are listed beside ours and taken by name alone. What is wrong with one is said to whoever
names it, in one line.
"""

import functools
from collections.abc import Mapping
from importlib import metadata
from types import MappingProxyType
from typing import Any

from expunge.errors import InvalidInput

__all__ = ["GROUP", "check_foreign", "foreign_entries", "load_foreign"]

GROUP = "expunge.strategies"


@functools.cache
def foreign_entries(models: str) -> Mapping[str, metadata.EntryPoint]:
    """What is registered for this kind of model, by name; looked up once in a process."""
    offered = metadata.entry_points(group=GROUP)
    return MappingProxyType(
        {
            entry.name.removeprefix(f"{models}."): entry
            for entry in sorted(offered, key=lambda entry: entry.value, reverse=True)
            if entry.name.startswith(f"{models}.")
        }
    )


def load_foreign(models: str, name: str) -> Any:
    """The record that is registered under this name, with its default settings.

    Raises:
        InvalidInput: it does not load, or has another name.
    """
    entry = foreign_entries(models)[name]
    try:
        loaded = entry.load()
        record = loaded() if isinstance(loaded, type) else loaded
    except (Exception, SystemExit) as error:
        raise InvalidInput("strategy", f"{name}: {entry.value} does not load: {error}") from error
    called = getattr(record, "name", name)  # whoever checks its verbs says that it has none
    if called != name:
        raise InvalidInput("strategy", f"{name}: {entry.value} calls itself {called!r}")
    return record


def check_foreign(record: Any) -> None:
    """Check that a record says what its models are hard to tell from, by a name of its own.

    Raises:
        InvalidInput: it does not, or takes the name of one of ours.
    """
    from expunge.accounting.kinds import KINDS

    comparator = getattr(record, "comparator", None)
    if not (isinstance(comparator, str) and comparator.strip()):
        raise InvalidInput("strategy", f"{record!r} lacks comparator, which certificates name")
    if record.name in KINDS:
        taken = f"{record.name!r} is a strategy of expunge: certificates would mean that one"
        raise InvalidInput("strategy", f"{type(record).__qualname__}: {taken}")
