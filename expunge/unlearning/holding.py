"""What estimators and unlearners have in common: one fitted state, which requests replace.

After pickling only what may be handed out of it is left, which predicts and cannot forget.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

from expunge.accounting.certificate import Certificate
from expunge.accounting.history import History
from expunge.errors import NoCertificate
from expunge.unlearning.fitted import Fitted
from expunge.unlearning.released import RELEASED_ONLY

__all__ = ["Holding", "was_released"]

State = TypeVar("State", bound=Fitted)
Handed = TypeVar("Handed")


class Holding(Generic[State, Handed]):
    """Whoever holds a fitted state, or what of it may be handed out."""

    _state: State | Handed | None = None

    @property
    def held_(self) -> State | Handed:
        """The fitted state; after pickling, what may be handed out."""
        raise NotImplementedError

    @property
    def fitted_(self) -> State:
        """What a request reads and replaces; fixed at fit, whatever parameters do later.

        Raises:
            NoCertificate: only what may be handed out is here (`release`, pickle).
        """
        held: Any = self.held_
        if not isinstance(held, Fitted):
            raise NoCertificate(RELEASED_ONLY)
        return held  # pyright: ignore[reportReturnType]

    @contextmanager
    def replacing(self) -> Iterator[Callable[[State], None]]:
        """What a request hands its new state to, while it can still be undone.

        After an interrupt the state here is the one that the rows belong to: the earlier one where
        the request was undone, the new one where its rows are erased already.
        """
        before, kept = self.fitted_, False

        def keep(made: State) -> None:
            nonlocal kept
            kept = True
            self._hold(made)

        try:
            yield keep
        except BaseException:
            if kept and before.rows.erasures == before.job.roster.request:
                self._hold(before)
            raise

    def _hold(self, state: State) -> None:
        """Take a state, and whatever else goes with it."""
        self._state = state

    @property
    def certificate_(self) -> Certificate | None:
        """The certificate of the current model; None before the first deletion."""
        held: Any = self.held_
        return None if held.certificate is None else held.certificate.model_copy(deep=True)

    @property
    def history_(self) -> History | None:
        """What the certificate is a function of; None where there is nothing to certify yet."""
        return self.fitted_.outcome.history


def was_released(before: Any) -> bool:
    """Whether a model of an earlier fit was handed out; what was pickled or released was.

    Models after a request are made to be handed out, so a certificate says that one was.

    Args:
        before: The earlier fit's state, or what of it may be handed out; None for no fit.
    """
    if isinstance(before, Fitted):
        return before.released or before.released_before or before.certificate is not None
    return before is not None
