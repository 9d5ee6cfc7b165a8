"""A progress bar on stderr, with models a second and the time left, where rich is installed."""

import contextlib
import importlib.util
from collections.abc import Callable, Iterator

__all__ = ["bar"]


@contextlib.contextmanager
def bar(models: int, done: int, shown: bool) -> Iterator[Callable[[int], None]]:
    """Show a progress bar; gives a function to call with the number of models just finished.

    Args:
        models: How many there are in all.
        done: How many an earlier run finished, when this one continues it.
    """
    if not shown or importlib.util.find_spec("rich") is None:
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, ProgressColumn, Task, TimeRemainingColumn
    from rich.text import Text

    class Rate(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(f"{task.completed:,.0f} of {models:,} models, {task.speed or 0:,.0f}/s")

    console = Console(stderr=True)
    with Progress(Rate(), BarColumn(), TimeRemainingColumn(), console=console) as shell:
        task = shell.add_task("", total=models, completed=done)
        yield lambda finished: shell.advance(task, finished)
