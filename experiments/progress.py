"""A progress bar on stderr, where somebody looks; nothing in a log."""

from collections.abc import Iterable, Sequence
from typing import TypeVar

from rich.console import Console
from rich.progress import track

__all__ = ["shown"]

Item = TypeVar("Item")


def shown(items: Sequence[Item], title: str) -> Iterable[Item]:
    console = Console(stderr=True)
    return track(items, title, console=console, transient=True, disable=not console.is_terminal)
