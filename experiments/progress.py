"""A progress bar on stderr, where somebody looks; nothing in a log, or where rich is missing."""

from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from typing import TypeVar

__all__ = ["shown"]

Item = TypeVar("Item")


def shown(items: Sequence[Item], title: str) -> Iterable[Item]:
    if find_spec("rich") is None:
        return items
    from rich.console import Console
    from rich.progress import track

    console = Console(stderr=True)
    return track(items, title, console=console, transient=True, disable=not console.is_terminal)
