"""A progress bar on stderr if it is a terminal; nothing in a log, or without rich."""

from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from typing import TypeVar

__all__ = ["show_progress"]

Item = TypeVar("Item")


def show_progress(items: Sequence[Item], title: str) -> Iterable[Item]:
    """Go through the items and show a progress bar."""
    if find_spec("rich") is None:
        return items
    from rich.console import Console
    from rich.progress import track

    console = Console(stderr=True)
    return track(items, title, console=console, transient=True, disable=not console.is_terminal)
