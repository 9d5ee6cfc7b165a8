"""Records join a fitted linear model, or take the place of others: all or nothing, as ever.

clf.add(X_new, y_new, ids=new_ids)
clf.exchange(ids_that_leave, X_new, y_new, ids=new_ids)
"""

import copy
from collections.abc import Callable, Sequence
from typing import Any

from sklearn.base import BaseEstimator

from expunge.accounting.certificate import Certificate
from expunge.core.checks import flag
from expunge.errors import NoCertificate
from expunge.unlearning.fitted import Fitted
from expunge.unlearning.holding import Holding
from expunge.unlearning.ids import check_request, given_ids
from expunge.unlearning.linear.arrivals import arrivals
from expunge.unlearning.linear.growing_rows import GrowingRows
from expunge.unlearning.linear.linear_fitted import LinearFitted
from expunge.unlearning.linear.poor_settings import warn_of_lifted_delta
from expunge.unlearning.outcome import Outcome
from expunge.unlearning.released import Released
from expunge.unlearning.requests import issuing, next_state
from expunge.unlearning.roster import Roster

__all__ = ["Joining", "exchange", "join"]

Look = Callable[[LinearFitted], None]


class Joining(Holding[LinearFitted, Released], BaseEstimator):
    """An estimator whose model takes further records in."""

    def add(
        self,
        X: Any,  # noqa: N803
        y: Any,
        ids: Any = None,
        *,
        again: bool = False,
        request: str | None = None,
    ) -> Certificate | None:
        """Take new private records into the model; they can be forgotten like all others.

        Rows, labels and targets are held to what `fit` held them to. A certificate is about the
        records forgotten so far; while there are none, there is none.

        Args:
            ids: One for each record; "index" for a DataFrame's. None goes on with row numbers,
                where those of the fit are.
            again: Ids that were forgotten may come back, as new records.
            request: A name of this request to publish: its certificate states it.

        Raises:
            ValueError: values or ids that are not taken; the first is named.
            NoCertificate: nothing was changed; the message says why.
        """
        fitted = self.fitted_
        columns, again = arrivals(self, fitted, X, y), flag("again", again)
        ids = given_ids(ids, X)
        with self.replacing() as keep:
            after, certificate = join(fitted, columns, ids, again=again, request=request, keep=keep)
        warn_of_lifted_delta(after.job)
        return certificate

    def exchange(
        self,
        gone: Any,
        X: Any,  # noqa: N803
        y: Any,
        ids: Any = None,
        *,
        request: str | None = None,
    ) -> Certificate:
        """Delete records and take others in, in one request: for records that are corrected.

        Args:
            gone: Ids of the records that leave; one id or several.
            X, y, ids: The records that join, as for `add`; ids of those that leave may be theirs.
            request: A name of this request to publish: its certificate states it.

        Raises:
            ValueError, NoCertificate: as for `forget` and `add`; nothing was changed.
        """
        fitted = self.fitted_
        ids = given_ids(ids, X)
        columns = arrivals(self, fitted, X, y)
        with self.replacing() as keep:
            after, certificate = exchange(fitted, gone, columns, ids, request=request, keep=keep)
        warn_of_lifted_delta(after.job)
        return certificate


def join(
    fitted: LinearFitted,
    columns: Sequence[Any],
    ids: Any,
    *,
    again: bool = False,
    request: str | None = None,
    accept: Look = lambda _: None,
    keep: Look = lambda _: None,
) -> tuple[LinearFitted, Certificate | None]:
    """Add records: the state after it, and its certificate; None while nothing was forgotten.

    The earlier state refuses from then on. Another thread waits.

    Args:
        columns: Their values, as the row store has them, checked and within their bounds.
        ids: One for each; None goes on with row numbers.
        again: Ids that were forgotten may come back, as new records.
        request, accept, keep: As for `requests.honour`.

    Raises:
        ValueError: an id that is there, has been forgotten, or is given twice, named.
        NoCertificate: nothing was changed; the message says why.
    """
    check_request(request)
    _check_room(fitted)
    with fitted.rows.busy:
        roster = fitted.job.roster.with_more(ids, len(columns[-1]), again=again)
        verb = fitted.strategy.add
        return _taken_in(fitted, [], roster, columns, verb, request, accept, keep)


def exchange(
    fitted: LinearFitted,
    gone: Any,
    columns: Sequence[Any],
    ids: Any,
    *,
    request: str | None = None,
    accept: Look = lambda _: None,
    keep: Look = lambda _: None,
) -> tuple[LinearFitted, Certificate]:
    """Delete some records and add others, in one request: the state after it, and its certificate.

    For records that are to be corrected. The earlier state refuses from then on.

    Args:
        gone: The ids of those that leave.
        columns, ids: Of those that join, as for `join`; ids of those that leave may come back.
        request, accept, keep: As for `requests.honour`.

    Raises:
        ValueError: as `honour` and `join`.
        NoCertificate: nothing was changed; the message says why.
    """
    check_request(request)
    _check_room(fitted)
    if not hasattr(fitted.strategy, "exchange"):
        raise NoCertificate(
            f"exchange: strategy {fitted.strategy.name!r} cannot, because its history tells who "
            "joined by how many records there were; forget first, then add"
        )
    with fitted.rows.busy:
        before, verb = fitted.job.roster, fitted.strategy.exchange
        rows = before.rows_of(gone)
        roster = before.with_more(ids, len(columns[-1]), again=True, leaving=rows)
        made, certificate = _taken_in(fitted, rows, roster, columns, verb, request, accept, keep)
        assert certificate is not None
        return made, certificate


def _check_room(fitted: Fitted) -> None:
    """Check that records can join this kind of model.

    Raises:
        NoCertificate: it is a network.
    """
    if not isinstance(fitted.rows, GrowingRows):
        raise NoCertificate("add: no records can join a network; fit again with all of them")


def _taken_in(
    fitted: LinearFitted,
    gone: Sequence[int],
    roster: Roster,
    columns: Sequence[Any],
    verb: Callable[[Any, Outcome], Outcome],
    request: str | None,
    accept: Look,
    keep: Look,
) -> tuple[LinearFitted, Certificate | None]:
    """The state after a request at which these rows left and others joined, and its certificate."""
    # The block of the last row goes on with the new ones.
    fitted.check_request([*gone, fitted.job.roster.records - 1])
    with fitted.rows.exchanging(gone, columns) as (longer, erase):
        job = fitted.job.with_more(roster, longer)
        after, issued = next_state(fitted, job, verb, issuing(request), accept)
        erase(after.outcome.by_record)
        made = after.with_certificates(issued, [*gone, *roster.last_joined])
        keep(made)
    return made, copy.deepcopy(made.certificate)
