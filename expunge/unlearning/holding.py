"""What estimators and unlearners have in common: one fitted state, which requests replace.

After pickling only what may be handed out of it is left, which predicts and cannot forget.
"""

import copy
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import wraps
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

from expunge.accounting.certificate import Certificate
from expunge.accounting.history import History
from expunge.errors import NoCertificate
from expunge.unlearning.fitted import Fitted
from expunge.unlearning.interrupts import replacing
from expunge.unlearning.released import RELEASED_ONLY

__all__ = ["Holding", "unchanged_on_failure", "was_released"]

State = TypeVar("State", bound=Fitted)
Handed = TypeVar("Handed")
Given = ParamSpec("Given")
Result = TypeVar("Result")


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

    def replacing(self) -> AbstractContextManager[Callable[[State], None]]:
        """What a request hands its new state to, while it can still be undone."""
        return replacing(self.fitted_, self._hold)

    def accept(self, state: State) -> None:
        """Look at the state that a request leads to, before anything is erased.

        Raises:
            NoCertificate: it cannot be held.
        """

    def _hold(self, state: State) -> None:
        """Take a state, and whatever else goes with it."""
        self._state = state

    @property
    def certificate_(self) -> Certificate | None:
        """The certificate of the current model; None before the first deletion."""
        held: Any = self.held_
        return copy.deepcopy(held.certificate)

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


def unchanged_on_failure(
    verb: Callable[Concatenate[Any, Given], Result],
) -> Callable[Concatenate[Any, Given], Result]:
    """Make a verb leave the estimator as it was where it fails."""

    @wraps(verb)
    def whole(self: Any, *given: Given.args, **named: Given.kwargs) -> Result:
        before = dict(vars(self))
        try:
            return verb(self, *given, **named)
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise

    return whole
