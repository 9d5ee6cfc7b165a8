"""A new anchor for requests that go without a pass: the model and its certificate stay."""

from dataclasses import replace
from typing import TypeVar

from expunge.errors import InvalidInput, NoCertificate, NotConverged
from expunge.unlearning.fitted import Fitted
from expunge.unlearning.holding import Holding
from expunge.unlearning.linear.linear_fitted import LinearFitted
from expunge.unlearning.released import Released

__all__ = ["Refreshing", "refresh"]

State = TypeVar("State", bound=Fitted)


class Refreshing(Holding[LinearFitted, Released]):
    """An estimator whose anchor can be replaced."""

    def refresh(self) -> None:
        """Replace the anchor that requests start from: a pass over the records that are there.

        The model and its certificate stay as they are. A request does so itself when the anchor
        has grown too old or too far away; calling this at quiet times keeps requests quick.

        Raises:
            InvalidInput: the strategy keeps no anchor.
            NoCertificate: the stored records changed.
        """
        self._state = refresh(self.fitted_)


def refresh(fitted: State) -> State:
    """The same model, its secret state made anew from the records that are there.

    What records forgotten since helped to make is not in it any more. Another thread waits.

    Raises:
        InvalidInput: the strategy keeps no such state.
        NoCertificate: nothing was changed; the message says why.
    """
    strategy = fitted.strategy
    if not hasattr(strategy, "refresh"):
        raise InvalidInput("refresh", f"strategy {strategy.name!r} keeps no anchor to replace")
    with fitted.rows.busy:
        fitted.check_unchanged()
        try:
            outcome = strategy.refresh(fitted.job, fitted.outcome)
        except NotConverged as error:
            raise NoCertificate(str(error)) from error
        return replace(fitted, outcome=outcome.lay_out(), fingerprint=None)
