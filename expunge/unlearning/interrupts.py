"""An interrupt of a request leaves the state that the rows belong to."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from expunge.unlearning.fitted import Fitted

__all__ = ["replacing"]

State = TypeVar("State", bound=Fitted)


@contextmanager
def replacing(before: State, hold: Callable[[State], None]) -> Iterator[Callable[[State], None]]:
    """What a request hands its new state to, while it can still be undone.

    After an interrupt the state that is held is the earlier one where the request was undone, and
    the new one where its rows are erased already.

    Args:
        before: The state before the request.
        hold: Takes a state, and whatever else goes with it.
    """
    kept = False

    def keep(made: State) -> None:
        nonlocal kept
        kept = True
        hold(made)

    try:
        yield keep
    except BaseException:
        if kept and before.rows.erasures == before.job.roster.request:
            hold(before)
        raise
