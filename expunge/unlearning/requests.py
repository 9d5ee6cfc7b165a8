"""All or nothing: a request, the new state and its certificate, for every kind of model."""

import copy
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from expunge.accounting.certificate import Certificate
from expunge.errors import NoCertificate, NotConverged
from expunge.unlearning.fitted import Fitted
from expunge.unlearning.ids import check_request
from expunge.unlearning.issuing import certify
from expunge.unlearning.job import Job
from expunge.unlearning.outcome import Outcome

__all__ = ["honour", "issuing", "let_go", "next_state"]

State = TypeVar("State", bound=Fitted)


def honour(
    fitted: State,
    ids: Any,
    request: str | None = None,
    accept: Callable[[State], None] = lambda _: None,
    keep: Callable[[State], None] = lambda _: None,
) -> tuple[State, Certificate]:
    """Delete these records, one id or several: the state after it, and its certificate.

    Their values are erased from the row store once everything has succeeded; the earlier state
    refuses from then on. Another thread waits.

    Args:
        request: A name of this request to publish: its certificate states it.
        accept: Looks at the new state before anything is erased, and raises what it objects to.
        keep: Takes the new state as the request's last step (`Holding.replacing`).

    Raises:
        ValueError: an id that is unknown, public, repeated or already forgotten, named.
        NoCertificate: nothing was changed; the message says why.
    """
    check_request(request)
    with fitted.rows.busy:
        rows = fitted.job.roster.rows_of(ids)
        made, (certificate,) = let_go(fitted, rows, issuing(request), accept, keep)
        return made, certificate


def issuing(request: str | None) -> Callable[[Fitted], list[Certificate]]:
    """What issues the one certificate of a request, by the name to publish."""
    return lambda after: [certify(after, request)]


def let_go(
    fitted: State,
    rows: Sequence[int],
    issue: Callable[[State], list[Certificate]],
    accept: Callable[[State], None],
    keep: Callable[[State], None],
) -> tuple[State, list[Certificate]]:
    """The state without these rows, and its certificates; only then are the rows erased.

    Args:
        issue: The certificates of the state after the request.
        accept, keep: As for `honour`.
    """
    fitted.check_request(rows)
    job, forget = fitted.job.without(rows), fitted.strategy.forget
    after, certificates = next_state(fitted, job, forget, issue, accept)
    # Everything succeeded: only now does anything change.
    with fitted.rows.erasing(rows, after.outcome.by_record):
        made = after.with_certificates(certificates, rows)
        keep(made)
    return made, copy.deepcopy(certificates)


def next_state(
    fitted: State,
    job: Job,
    verb: Callable[[Any, Outcome], Outcome],
    issue: Callable[[State], list[Certificate]],
    accept: Callable[[State], None],
) -> tuple[State, list[Certificate]]:
    """The state after a request, which nothing is changed for, and its certificates.

    Args:
        job: After the request.
        verb: What the strategy does at such a request.
        issue, accept: As for `let_go`.

    Returns:
        No certificate where nothing has been forgotten, so that there is nothing to certify.

    Raises:
        NoCertificate: the strategy gave none, or read records that have changed.
    """
    try:
        after = fitted.after(job, verb(job, fitted.outcome))
    except Exception as error:
        fitted.check_unchanged()  # which says better what is wrong
        if isinstance(error, NotConverged):
            raise NoCertificate(str(error)) from error
        raise
    if after.outcome.read_every_row:  # else all of it has been checked
        fitted.check_unchanged()
    certificates = issue(after) if job.roster.forgotten else []
    accept(after)
    return after, certificates
