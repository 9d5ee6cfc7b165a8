"""Long work on stderr: which stage, how long so far; silent where stderr is not a terminal."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from expunge.cli.output import QUIET, tell

__all__ = ["notices", "stages"]


@contextmanager
def notices() -> Iterator[Callable[[str], None]]:
    """A callback for what the operator is told once the work is done, below the line of stages."""
    lines: list[str] = []
    yield lines.append
    for line in lines:
        tell(line)


@contextmanager
def stages(title: str) -> Iterator[Callable[[str], None]]:
    """A callback that names the stage; a line with a spinner and the time, on a terminal only."""
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    quiet = QUIET.get() or not sys.stderr.isatty()
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True, disable=quiet) as bar:
        task = bar.add_task(title, total=None)
        yield lambda stage: bar.update(task, description=f"{title}: {stage}")
