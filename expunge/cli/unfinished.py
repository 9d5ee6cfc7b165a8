"""What is recorded and not finished: shown as it stands, with exit status 1."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from expunge.cli.output import one_line, print_json
from expunge.cli.status import show

__all__ = ["may_stay_unfinished"]


@contextmanager
def may_stay_unfinished(*, json: bool) -> Iterator[None]:
    """Show the status of what stays unfinished, and end 1: it is not the same as bad input."""
    from expunge.workspace.at_work import Pending

    try:
        yield
    except Pending as error:
        print_json(error.document) if json else show(error.document)
        print(f"expunge: {one_line(str(error))}", file=sys.stderr)
        raise typer.Exit(1) from error
